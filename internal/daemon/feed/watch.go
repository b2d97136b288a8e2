package feed

import (
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// notifiedPollFactor is how many times less often a feed is looked at whose store tells what is
// appended.
const notifiedPollFactor = 8

// observerDelay is how long the witness has to bring the records of an append itself,
// before they are read.
const observerDelay = 2 * time.Millisecond

// watch asks the store to tell what other programs append, if it can and the session is
// there. f.mu is held.
func (f *feed) watch() {
	if f.watched || f.head == unknown || f.head == 0 && f.known == 0 || f.deleted != nil || f.ctx.Err() != nil {
		return
	}
	w, ok := session.As[session.Watcher](f.sessions.Store())
	if !ok {
		return
	}
	f.hub.mu.RLock() // so that Close waits for it, or it does not begin
	defer f.hub.mu.RUnlock()
	if f.hub.closed {
		return
	}
	f.watched = true
	after := f.known
	f.hub.work.Go(func() { f.follow(w, after) })
}

// follow ends with the feed. When it ends before, polling sees why, and begins again.
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
			_ = f.check(f.ctx) // polling sees it as well
		}
		if err != nil {
			return
		}
		timer.Reset(observerDelay)
		select {
		case <-timer.C:
			f.hasGrown(head)
		case <-f.ctx.Done():
		}
	}
}

// hasGrown is told where the log ends now.
func (f *feed) hasGrown(head int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if head > f.known {
		f.known = head
		f.load()
	}
}

// due reports whether a feed is to be looked at in a round of polling.
func (f *feed) due(round int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return round%notifiedPollFactor == 0 || !f.watched || f.failures > 0
}
