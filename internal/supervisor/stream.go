package supervisor

import (
	"io"
	"sync"
)

// outbox is the sending end of a stream. It blocks while the window is full.
type outbox struct {
	link *link
	s    int

	writing sync.Mutex // one write at a time
	mu      sync.Mutex
	moved   *sync.Cond
	credit  int
	err     error
}

func newOutbox(l *link, s int) *outbox {
	o := &outbox{link: l, s: s, credit: window}
	o.moved = sync.NewCond(&o.mu)
	return o
}

// Write sends p in pieces, and returns when the other side has room for all of it.
func (o *outbox) Write(p []byte) (n int, err error) {
	o.writing.Lock()
	defer o.writing.Unlock()
	for len(p) > 0 {
		m, err := o.reserve(min(len(p), maxData))
		if err == nil {
			err = o.link.send(&frame{Type: typeData, S: o.s}, p[:m])
		}
		if err != nil {
			return n, err
		}
		n, p = n+m, p[m:]
	}
	return n, nil
}

func (o *outbox) reserve(most int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.credit <= 0 && o.err == nil {
		o.moved.Wait()
	}
	m := min(most, o.credit)
	if o.err != nil {
		return 0, o.err
	}
	o.credit -= m
	return m, nil
}

// Close ends the stream. Later writes fail.
func (o *outbox) Close() error {
	if !o.fail(io.ErrClosedPipe) {
		return nil
	}
	o.writing.Lock()
	defer o.writing.Unlock()
	return o.link.send(&frame{Type: typeEnd, S: o.s}, nil)
}

// fail makes writes fail from now on, and reports whether they did not fail before.
func (o *outbox) fail(err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.err == nil
	if first {
		o.err = err
	}
	o.moved.Broadcast()
	return first
}

// grant adds n bytes that the other side has taken.
func (o *outbox) grant(n int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.credit += n; o.credit > window {
		return errFrame
	}
	o.moved.Broadcast()
	return nil
}

// inbox is the receiving end of a stream. It buffers unread data, at most one window.
type inbox struct {
	link *link
	s    int

	mu    sync.Mutex
	moved *sync.Cond
	held  []byte
	taken int   // number of bytes read and not yet acknowledged
	err   error // the error that readers get after the buffered data: io.EOF, or the reason why the stream ended
	shut  bool  // no longer read
}

func newInbox(l *link, s int) *inbox {
	b := &inbox{link: l, s: s}
	b.moved = sync.NewCond(&b.mu)
	return b
}

// put adds received data. It does not block.
func (b *inbox) put(data []byte) error {
	b.mu.Lock()
	switch {
	case b.shut: // the data was in transit when the stream was closed
		b.mu.Unlock()
		b.link.ack(b.s, len(data))
		return nil
	case b.err != nil || len(b.held)+b.taken+len(data) > window:
		b.mu.Unlock()
		return errFrame
	}
	b.held = append(b.held, data...)
	b.moved.Broadcast()
	b.mu.Unlock()
	return nil
}

// Read returns received data, and waits for it.
func (b *inbox) Read(p []byte) (int, error) {
	b.mu.Lock()
	for len(b.held) == 0 && b.err == nil {
		b.moved.Wait()
	}
	if len(b.held) == 0 {
		defer b.mu.Unlock()
		return 0, b.err
	}
	n := copy(p, b.held)
	if b.held = b.held[n:]; len(b.held) == 0 {
		b.held = nil
	}
	acked := 0
	if b.taken += n; b.taken >= window/4 {
		acked, b.taken = b.taken, 0
	}
	b.mu.Unlock()
	b.link.ack(b.s, acked)
	return n, nil
}

// finish marks the end of the stream, after the buffered data.
func (b *inbox) finish(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.moved.Broadcast()
}

// drop discards buffered and future data; it is no longer read.
func (b *inbox) drop() {
	b.mu.Lock()
	first := !b.shut
	acked := len(b.held) + b.taken
	b.shut, b.held, b.taken = true, nil, 0
	if b.err == nil {
		b.moved.Broadcast()
	}
	b.mu.Unlock()
	if first {
		_ = b.link.post(frame{Type: typeShut, S: b.s})
		b.link.ack(b.s, acked)
	}
}

// tail keeps the last bytes of a stream.
type tail struct {
	mu   sync.Mutex
	held []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = append(t.held, p[max(0, len(p)-TailSize):]...)
	if len(t.held) > 4*TailSize {
		t.held = append([]byte(nil), t.held[len(t.held)-TailSize:]...)
	}
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.held[max(0, len(t.held)-TailSize):]...)
}

func (t *tail) set(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = append([]byte(nil), b...)
}
