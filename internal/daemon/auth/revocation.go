package auth

import (
	"sync"
	"time"
)

// credential identifies the credential of a connection.
type credential struct{ via, id string }

// watchEvery is the longest time until a connection ends after another program revoked its token,
// or after the token expired.
const watchEvery = 500 * time.Millisecond

// credentialWatch closes a channel for each credential that is no longer valid. One goroutine
// checks them while there are open channels.
type credentialWatch struct {
	valid func(credential) bool

	mu     sync.Mutex
	open   map[credential]chan struct{}
	stop   chan struct{} // nil means that no goroutine is running
	done   chan struct{}
	closed bool
}

func (w *credentialWatch) revoked(c credential) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ch, ok := w.open[c]; ok {
		return ch
	}
	ch := make(chan struct{})
	if !w.valid(c) {
		close(ch)
		return ch
	}
	if w.open == nil {
		w.open = map[credential]chan struct{}{}
	}
	w.open[c] = ch
	if w.stop == nil && !w.closed {
		w.stop, w.done = make(chan struct{}), make(chan struct{})
		go w.run(w.stop, w.done)
	}
	return ch
}

func (w *credentialWatch) run(stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if w.check(); w.idle() {
				return
			}
		}
	}
}

// idle reports whether no channel is open. If so, the next call of revoked starts another goroutine.
func (w *credentialWatch) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) > 0 || w.closed {
		return false
	}
	w.stop = nil
	return true
}

// check closes the channels of invalid credentials.
func (w *credentialWatch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c, ch := range w.open {
		if !w.valid(c) {
			close(ch)
			delete(w.open, c)
		}
	}
}

func (w *credentialWatch) close() {
	w.mu.Lock()
	stop, done := w.stop, w.done
	w.stop, w.closed = nil, true
	w.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
	}
}
