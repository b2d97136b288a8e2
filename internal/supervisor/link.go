package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Each side sends something at least once per heartbeat. It considers the other side gone if it
// receives no byte for the time silence while it reads. The stream of an exec does not end when the
// engine dies.
const (
	heartbeat = 10 * time.Second
	silence   = 30 * time.Second
)

// link is one side of a connection. Sending never waits for the other side to process data, because
// a stream sends no more bytes than the other side has granted.
type link struct {
	rw   io.ReadWriteCloser
	raw  idleReader // reads rw
	in   *bufio.Reader
	most int // maximum length of an incoming line in bytes

	sending chan struct{} // the sender holds it
	out     []byte

	mu    sync.Mutex
	queue []frame       // frames queued by the reader
	acks  [streams]int  // the number of bytes taken from each stream that are to be acknowledged
	more  chan struct{} // signals that there is something to send
	err   error         // the reason for the end of the link
	dead  chan struct{} // closed when the link ends

	gone sync.WaitGroup // the goroutines of the link
}

func newLink(rw io.ReadWriteCloser, most int) *link {
	l := &link{
		rw: rw, raw: idleReader{r: rw}, most: most,
		sending: make(chan struct{}, 1), more: make(chan struct{}, 1), dead: make(chan struct{}),
	}
	l.in = bufio.NewReaderSize(&l.raw, maxData)
	return l
}

// run starts to read and to send heartbeats. It passes each frame to the function take, in order,
// on one goroutine; an error of take ends the link. The frame's data is valid until take returns.
func (l *link) run(take func(*frame) error) {
	l.gone.Go(func() {
		data := make([]byte, maxData)
		for {
			f, err := readFrame(l.in, data, l.most)
			if err == nil {
				err = take(f)
			}
			if err != nil {
				l.end(err)
				return
			}
		}
	})
	l.gone.Go(l.sendPosted)
	l.gone.Go(func() {
		for l.pause(heartbeat) {
			_ = l.send(&frame{Type: typePing}, nil)
		}
	})
	l.gone.Go(l.watch) // a goroutine of its own, because the sender may block
}

// watch ends the link if nothing is received for too long.
func (l *link) watch() {
	for wait := silence; ; {
		began := time.Now()
		if !l.pause(wait) {
			return
		}
		if wait = silence - l.raw.idle(time.Since(began)-wait); wait <= 0 {
			l.end(fmt.Errorf("received nothing for %v", silence))
			return
		}
	}
}

// pause waits, and reports whether the link is still open.
func (l *link) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.dead:
		return false
	}
}

// end ends the link once, with a reason.
func (l *link) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	close(l.dead)
	_ = l.rw.Close()
}

// cause returns the reason why the link ended. It wraps [ErrLost], unless it already is one of this
// package's errors.
func (l *link) cause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err == nil, errors.Is(l.err, io.EOF):
		return ErrLost
	case errors.Is(l.err, errFrame):
		return fmt.Errorf("%w: %w", ErrProtocol, l.err)
	case errors.Is(l.err, ErrProtocol), errors.Is(l.err, ErrRefused), errors.Is(l.err, ErrLost):
		return l.err
	}
	return fmt.Errorf("%w: %w", ErrLost, l.err)
}

// send sends a frame after the frames posted before. An error ends the link, unless the frame is
// too large. The frame is encoded without holding the lock, because encoding a large frame takes
// long on a slow machine and must not delay a heartbeat.
func (l *link) send(f *frame, data []byte) error {
	line, err := encode(f, data)
	if err != nil {
		return err
	}
	return l.write(line, data)
}

// write writes the posted frames, and then an encoded frame.
func (l *link) write(line, data []byte) error {
	select {
	case l.sending <- struct{}{}:
	case <-l.dead:
		return l.cause()
	}
	defer func() { <-l.sending }()
	b := append(append(l.appendPosted(l.out[:0]), line...), data...)
	if l.out = b; cap(b) > 4*maxData {
		l.out = nil
	}
	if len(b) == 0 {
		return nil
	}
	if _, err := l.rw.Write(b); err != nil {
		l.end(err)
		return l.cause()
	}
	return nil
}

// appendPosted appends the posted frames to b and clears the queue.
func (l *link) appendPosted(b []byte) []byte {
	l.mu.Lock()
	queue, acks := l.queue, l.acks
	l.queue, l.acks = nil, [streams]int{}
	l.mu.Unlock()
	for s, n := range acks {
		if n > 0 {
			queue = append(queue, frame{Type: typeAck, S: s, Size: n})
		}
	}
	for i := range queue {
		if line, err := encode(&queue[i], nil); err == nil { // a frame that is too large is not sent
			b = append(b, line...)
		}
	}
	return b
}

// post queues a frame without waiting, before all frames that are sent or posted later. The reading
// goroutine uses post, because there would be a deadlock if the readers of both sides waited for
// each other to read. Callers with a context use it too.
func (l *link) post(f frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	const most = 1 << 10 // no caller has that many requests
	if len(l.queue) >= most {
		return fmt.Errorf("%w: too many", errFrame)
	}
	l.queue = append(l.queue, f)
	l.wake()
	return nil
}

// ack reports n taken bytes of a stream, without waiting.
func (l *link) ack(s, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks[s] += n
	l.wake()
}

func (l *link) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *link) sendPosted() {
	for {
		select {
		case <-l.more:
		case <-l.dead:
			return
		}
		_ = l.write(nil, nil) // a failure has already ended the link
	}
}

// close ends the link and waits for its goroutines.
func (l *link) close() {
	l.end(ErrLost)
	l.gone.Wait()
}
