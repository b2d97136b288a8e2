// Package redacting wraps a store and masks secrets in every record.
//
//	a record ─► Mask finds nothing ─► stored unchanged
//	        └─► Mask finds a secret ─► stored: its digests and the masked payload
//	                                   or, with Refuse, rejected
//
// The shortest use is a copy for readers who must not see the secrets:
//
//	clean, err := redacting.New(secondary, masker, nil)
//	report, err := session.New(primary, nil).ReplicateAll(ctx, clean, nil)
//
// The records keep their seqs, ids, times and digests, so the copy is the same log: it can be
// compared with the original, it can be continued from any seq, and its chain verifies. Masked
// records are marked ([session.Record.Masked]): their digest is that of the original payload, and
// the masked text itself is not proven. The original never leaves the process that masks it.
//
// In the same way it is a second line of defense behind an agent's own masking (decision 10): a
// store that accepts no secret from any writer. A program that opens such a store without this
// package gets [session.ErrSealed] for the masked records.
//
// A digest can confirm a guess: a reader who knows the rest of a record's content can guess the
// secret and check the guess with the digest.
package redacting
