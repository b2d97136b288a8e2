// Package object stores sessions in a bucket of Amazon S3, or of any server with its API
// and conditional writes.
//
//	store, err := object.Open(ctx, "s3://bucket/prefix?region=eu-central-1", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	sessions := session.New(store, nil)
//
// A batch is one object, and an append is one PutObject with a key that must not exist:
//
//	sessions/NAME  root: slots up to 2 are in     log/LOG/000000000003  append, seq 4–5
//	               these segments ───────┐        log/LOG/000000000004  lease, epoch 7
//	                                     ▼        log/LOG/000000000005  append, seq 6
//	seg/LOG/…      records 1–3                    log/LOG/000000000006  ◄── the first to create it wins
//
// Every change of a session is a slot (an object) of its log: a batch, a change of the lease, or
// the deletion. A client that knows the state after slot n decides on a change and creates slot
// n+1. If another client has created slot n+1 before, this fails, and the client decides again with
// the new state. So all changes have one order, and a writer whose lease was taken over fails at
// its next append, whatever its clock says. Each slot has the whole state after it; roots, segments
// and cached metadata only save requests.
//
// The keys, the proof that slots can be removed later, the requirements for servers and the
// cost of each call are in docs/formats/object.md. The package sets no lifecycle rules,
// creates no buckets and is not a cache.
package object
