// Package redacting keeps sessions without their secrets.
//
//	a record ─► Mask finds nothing ─► kept as it is
//	        └─► Mask finds a secret ─► kept: its digests, and what is read instead
//	                                   or, with Refuse, not taken at all
//
// The shortest use is a copy for who may not see the secrets:
//
//	clean, err := redacting.New(secondary, masker, nil)
//	report, err := session.New(primary, nil).CopyTo(ctx, clean, nil)
//
// The records keep their seqs, ids, times and digests, so the copy is the same log: it
// can be compared with the original and goes on from any seq, and its chain verifies.
// What was masked says so ([session.Record.Masked]): the digest of the payload is that
// of what was there, and nothing proves what is read instead. What the original has
// never leaves the process that masks.
//
// The same way it is a net below an agent's own masking (decision 10): a store that
// takes no secret, whoever appends. Who opens such a store without this package is told
// so by [session.ErrSealed], for the masked records only.
//
// Digests tell whether a guess is right: a secret that can be guessed can be
// confirmed with the digest of a record whose other content is known.
package redacting
