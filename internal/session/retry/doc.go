// Package retry keeps a session store usable while it is away for a while: its server is
// restarted or fails over, the network is cut, the disk is full.
//
//	store, err := postgres.Open(ctx, url, &postgres.Options{Patience: time.Second})
//	patient := retry.New(store, nil)
//	sessions := session.New(patient, nil)
//
// A call that fails since the store is away is made again, with growing pauses, until it
// succeeds or its time is over; then it returns the store's error, which wraps
// [session.ErrUnavailable] in most cases. How long that is, the options say for all calls,
// and [Within] for those of one context: somebody who waits for an answer over HTTP wants
// an error soon, a run that works can wait.
//
//	call ─► store ──► answer
//	  ▲       └─ away ─► pause ─┐   until the time is over, the context ends, or GiveUp
//	  └─────────────────────────┘
//
// Making a call again is safe: an append of records that are there already, digest for
// digest, succeeds by the store's contract.
package retry
