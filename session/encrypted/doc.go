// Package encrypted keeps sessions so that only who has the key can read them,
// whatever store they lie in.
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
// are encrypted. Ids, times, kinds, sizes, counts, digests, who forked whom and the
// status of runs stay as they are: docs/formats/encrypted.md says what that reveals. The digests are those
// of the plain records, so a witness, an audit trail, a mirror and a copy see the same
// log with and without the wrapper, and any store can hold it.
//
// Every record is bound to its place: session, seq, kind and digest. One that was
// changed, moved or swapped is [session.ErrCorrupt]. The same record is always sealed
// to the same bytes, so a retried append is the same append.
//
// It is no protection against who can read the memory of the program, and it does not
// hide how much was written and when.
package encrypted
