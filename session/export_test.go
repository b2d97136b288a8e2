package session

import "context"

// ThisProcess is for the tests of what tells whether a process lives.
var ThisProcess = thisProcess

// KindTexts is for the test that every kind is in the register.
var KindTexts = kindTexts

// Replay is for the tests of what a state is folded from.
var Replay = replayAll

// Shipped is for the tests of what is shipped.
type Shipped = replicated

// Ship is [Sessions.Replicate] with all that it did.
func Ship(ctx context.Context, from, to Store, id string) (Shipped, error) {
	return New(from, nil).replicate(ctx, to, id)
}
