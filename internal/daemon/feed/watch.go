package feed

import (
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// notifiedPollFactor is the factor by which a feed is polled less often if its store sends
// notifications about appends.
const notifiedPollFactor = 8

// observerDelay is how long a feed waits after a notification of an append. In this time the
// observer may deliver the records, so that the feed need not read them.
const observerDelay = 2 * time.Millisecond

// watch subscribes to the store's notifications about appends of other programs, if the store
// supports that and the session exists. The caller holds f.mu.
func (f *feed) watch() {
	if f.watched || f.head == unknown || f.head == 0 && f.known == 0 || f.deleted != nil || f.ctx.Err() != nil {
		return
	}
	w, ok := session.As[session.Watcher](f.sessions.Store())
	if !ok {
		return
	}
	f.hub.mu.RLock() // either Close waits for the goroutine, or the goroutine does not start
	defer f.hub.mu.RUnlock()
	if f.hub.closed {
		return
	}
	f.watched = true
	after := f.known
	f.hub.work.Go(func() { f.follow(w, after) })
}

// follow watches the store for appends to the session until the feed ends. If the watch ends
// earlier, polling finds the cause and starts the watch again.
func (f *feed) follow(w session.Watcher, after int64) {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watched = false
	}()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for head, err := range w.Watch(f.ctx, f.id, after) {
		if errors.Is(err, session.ErrNotFound) {
			_ = f.check(f.ctx) // polling detects this case as well
		}
		if err != nil {
			return
		}
		timer.Reset(observerDelay)
		select {
		case <-timer.C:
			f.grow(head)
		case <-f.ctx.Done():
		}
	}
}

// grow loads the records up to a head that a notification of the store has named.
func (f *feed) grow(head int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if head > f.known {
		f.known = head
		f.load()
	}
}

// due reports whether a feed is polled in this round.
func (f *feed) due(round int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return round%notifiedPollFactor == 0 || !f.watched || f.failures > 0
}
