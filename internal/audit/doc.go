// Package audit turns session logs into audit entries: who allowed what, on whose behalf, and with
// what outcome. It also verifies that nothing was changed since.
//
//	session.Log ── Append ──► Trail.Appended ─► leaf: session, seq, digest   (before the effect)
//	      │                        └─► Merkle tree over all sessions ─► signed checkpoint
//	      └── records ─► Read ─► Entry … ─► Export: jsonl, csv, ocsf, cloudevents, html
//	                        Verify: log against chain, chain against leaves, leaves against checkpoint
//
// A log's records are chained by digests, so the log alone shows that a record was changed. The trail
// shows that a log was truncated or rewritten. A holder of the signing key can forge a trail: to
// protect it from the account that runs agents, store checkpoints elsewhere.
//
//	trail, err := audit.OpenTrail(dir, nil)
//	sessions := session.New(store, &session.Options{AppendObserver: trail})
//	report, err := audit.Verify(ctx, sessions, trail.Dir(), nil)
//
// docs/formats/audit-trail.md describes the files and how to check them without Holdfast.
package audit
