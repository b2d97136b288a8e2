// Package mirror keeps a second copy of every session, behind the first.
//
//	append ──► primary ──► acknowledged
//	              │
//	              └─ what is new ─► one goroutine ─ Sessions.Ship ─► secondary
//	                                 ▲ again, later, when that failed
//
// The shortest use:
//
//	store, err := mirror.New(primary, secondary, nil)
//	sessions := session.New(store, nil)
//	…
//	err = store.Close() // ships what is left, for a while, and closes both
//
// The primary alone decides: an append is acknowledged when it is durable there, at the
// primary's speed, whether or not the secondary can be reached. The secondary catches
// up from the seq that it has, and nothing is ever dropped: at the start and in
// intervals the heads of all sessions are compared, so that what another program
// appended, or a crash left over, is shipped too. What was erased is erased there.
//
// A session is deleted in the secondary when it is deleted through the mirror. One that
// only the secondary has is left alone and counted, since a primary that lost sessions
// looks the same as one from which they were deleted.
//
// The secondary is a store like any other: open it, read it, and when the primary is
// lost go on with it, or copy it back (Sessions.CopyTo). It is not read through the
// mirror.
package mirror
