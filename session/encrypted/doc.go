// Package encrypted wraps a store and encrypts its records with age, so that only
// holders of the key can read them. It works with every store.
//
//	Sessions ─ records ─► encrypted ─ sealed records ─► sqlite · file · postgres · s3 · …
//	                         │  ▲
//	       data key, wrapped │  │ an age identity, a passphrase, the keychain
//	       for the recipients▼  │
//	            in the first record of each session
//
// The shortest use:
//
//	key, err := encrypted.IdentityFile("/home/ada/.config/holdfast/store.key")
//	store, err := encrypted.New(ctx, inner, key, nil)
//	sessions := session.New(store, nil)
//
// Payloads, and the texts of a list (titles, prompts, folders, tags, models, branches),
// are encrypted. Ids, times, kinds, sizes, counts, digests, the parents of forks and the status of
// runs are not encrypted; docs/formats/encrypted.md describes what they reveal. The digests are
// those of the plain records. So an audit trail, a mirror and a copy see the same log with and
// without the wrapper, and every store accepts it.
//
// Every record is bound to its session, seq, kind and digest. A record that was changed, moved or
// swapped gives [session.ErrCorrupt]. The same record is always encrypted to the same bytes, so the
// inner store recognizes a retried append.
//
// It does not protect against a program that can read this program's memory, and it does not
// hide the size and time of writes.
package encrypted
