// Package object keeps sessions in a bucket: of Amazon S3, or of any server with its API
// and conditional writes.
//
//	store, err := object.Open(ctx, "s3://bucket/prefix?region=eu-central-1", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	sessions := session.New(store, nil)
//
// A batch is one object, and an append is one PutObject of a key that must not exist:
//
//	sessions/NAME  root: slots up to 2 are in     log/LOG/000000000003  append, seq 4–5
//	               these segments ───────┐        log/LOG/000000000004  lease, epoch 7
//	                                     ▼        log/LOG/000000000005  append, seq 6
//	seg/LOG/…      records 1–3                    log/LOG/000000000006  ◄── who creates it, wins
//
// All that happens to a session is a slot of its log: batches, changes of the lease, the
// deletion. Whoever knows the state after slot n decides what comes next and creates slot
// n+1; when somebody else was first, that fails, and it is decided again with what they
// wrote. So there is one order of everything, and a writer whose lease was taken over
// fails at its next append, whatever its clock says. Each slot tells the whole state after
// it; roots, segments and metas in memory only save reading.
//
// The keys, the proof that slots can be removed one day, what servers must do and what
// each call costs are in docs/formats/object.md. The package runs no lifecycle rules,
// makes no buckets and is no cache.
package object
