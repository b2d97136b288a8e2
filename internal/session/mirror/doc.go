// Package mirror asynchronously replicates every session to a second store.
//
//	append ──► primary ──► acknowledged
//	              │
//	              └─ new records ─► one goroutine ─ Sessions.Replicate ─► secondary
//	                                 ▲ retried after a failure
//
// The shortest use:
//
//	store, err := mirror.New(primary, secondary, nil)
//	sessions := session.New(store, nil)
//	…
//	err = store.Close() // replicates the rest, with a timeout, and closes both
//
// Only the primary decides: an append is acknowledged when it is durable there, at the
// primary's speed, whether or not the secondary is reachable. The secondary catches
// up from its last seq, and no record is dropped. The mirror compares the heads of all sessions at
// the start and in intervals, and so also copies the records that another program appended, or that
// were not replicated before a crash. If a payload is erased in the primary, it is erased in the
// secondary too.
//
// A session is deleted in the secondary when it is deleted through the mirror. A session that only
// the secondary has stays there and is counted, because a primary that lost sessions looks the same
// as a primary in which they were deleted.
//
// The secondary is a normal store: open it, read it, and if the primary is
// lost, use it instead or copy it back (Sessions.ReplicateAll). The mirror does not read
// from it.
package mirror
