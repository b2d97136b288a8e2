// Package audit reads session logs as evidence: who let what happen, on whose
// behalf, and what came of it; and it proves that nothing was changed since.
//
//	session.Log ── Append ──► Trail.Appended ─► leaf: session, seq, digest   (before the effect)
//	      │                        └─► Merkle tree over all sessions ─► signed checkpoint
//	      └── records ─► Read ─► Entry … ─► Export: jsonl, csv, ocsf, cloudevents, html
//	                        Verify: log against chain, chain against leaves, leaves against checkpoint
//
// A log's records are chained by digests, so a changed record is found by the log
// alone; that its end was cut, or that it was written anew, is found by the trail.
// Whoever holds the signing key can forge a trail: who wants to be safe from the
// account that runs agents keeps checkpoints elsewhere.
//
//	trail, err := audit.OpenTrail(dir, nil)
//	sessions := session.New(store, &session.Options{Witness: trail})
//	report, err := audit.Verify(ctx, sessions, trail.Dir(), nil)
//
// docs/formats/audit-trail.md describes the files and how to check them without this program.
package audit
