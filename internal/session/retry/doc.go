// Package retry wraps a store and retries calls while it is unavailable: its server restarts or
// fails over, the network is down, the disk is full.
//
//	store, err := postgres.Open(ctx, url, &postgres.Options{Patience: time.Second})
//	patient := retry.New(store, nil)
//	sessions := session.New(patient, nil)
//
// A call that fails because the store is unavailable is repeated with growing pauses, until it
// succeeds or its time is over. It then returns the store's error, which usually wraps
// [session.ErrUnavailable]. The options set the time for all calls, and [Within] sets it for those
// of one context: an HTTP request needs an error soon, but a run can wait.
//
//	call ─► store ──► answer
//	  ▲       └─ unavailable ─► pause ─┐   until the time is over, the context ends, or GiveUp
//	  └────────────────────────────────┘
//
// Repeating a call is safe: by the store's contract, an append of records that are already stored,
// digest for digest, succeeds.
package retry
