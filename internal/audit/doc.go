// Package audit turns session logs into audit entries. They show who allowed what, on whose behalf,
// and with what outcome. The package also verifies that nothing was changed since.
//
//	session.Log ── Append ──► Trail.Appended ─► leaf: session, seq, digest   (before the effect)
//	      │                        └─► Merkle tree over all sessions ─► signed checkpoint
//	      └── records ─► Read ─► Entry … ─► Export: jsonl, csv, ocsf, cloudevents, html
//	                        Verify: log against chain, chain against leaves, leaves against checkpoint
//
// The records of a log are chained by digests, so the log alone shows if a record was changed. The
// trail shows if a log was truncated or rewritten. A holder of the signing key can forge a trail:
// to protect it from the account that runs agents, store checkpoints elsewhere.
//
//	trail, err := audit.OpenTrail(dir, nil)
//	sessions := session.New(store, &session.Options{AppendObserver: trail})
//	report, err := audit.Verify(ctx, sessions, trail.Dir(), nil)
//
// docs/formats/audit-trail.md describes the files and how to check the files without Holdfast.
package audit
