package egress

import (
	"io"
	"net"
	"sync"
	"time"
)

// Between local sockets, a few large reads and writes are faster than letting the kernel move pages
// (splice): each wakes the other side only once for much data, and the client copies from whole
// blocks. The send buffer is limited so that the data in transit stays in the processor's cache.
const (
	blockSize  = 1 << 20
	sendBuffer = 512 << 10
)

// limitSending limits the data in transit to a client.
func limitSending(c net.Conn) {
	if s, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = s.SetWriteBuffer(sendBuffer) // an error is ignored, because this only makes copying faster
	}
}

// bufferPool holds the buffers of busy connections. Other connections use a small buffer, so that many
// idle ones need little memory.
type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) take() *[blockSize]byte {
	if block, ok := b.pool.Get().(*[blockSize]byte); ok {
		return block
	}
	return new([blockSize]byte)
}

// stream copies until src ends, and calls passed after each write. It returns nil when src ends.
func (b *bufferPool) stream(dst io.Writer, src io.Reader, passed func()) error {
	small := make([]byte, bufferSize)
	buf := small
	var block *[blockSize]byte
	release := func() {
		if block != nil {
			b.pool.Put(block)
			block, buf = nil, small
		}
	}
	defer release()
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return err
			}
			passed()
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case n < bufferSize:
			release()
		case block == nil:
			block = b.take()
			buf = block[:]
		}
	}
}

// join copies in both directions until both end, or no data passes for a long time. When one
// direction ends, the receiver is notified, and the other direction can continue.
func (c *client) join(up *bufferedConn) {
	idle := c.closeWhenIdle(up)
	defer idle.Stop()
	passed := func() { idle.Reset(c.p.o.Limits.TunnelTime) }
	var work sync.WaitGroup
	work.Go(func() { c.copyAll(up.Conn, c.bufferedConn, passed) })
	c.copyAll(c.Conn, up, passed)
	work.Wait()
}

// closeWhenIdle returns a timer that closes both ends of a tunnel after TunnelTime, unless it is
// reset.
func (c *client) closeWhenIdle(up *bufferedConn) *time.Timer {
	return time.AfterFunc(c.p.o.Limits.TunnelTime, func() {
		up.Close()
		c.Close()
	})
}

// copyAll copies the bytes already read, then the rest. After an error both ends are closed.
func (c *client) copyAll(dst net.Conn, src *bufferedConn, passed func()) {
	_, err := src.copyBuffered(dst, src.r.Buffered())
	if err == nil {
		err = c.p.blocks.stream(dst, src.Conn, passed)
	}
	if err == nil {
		err = closeWrite(dst)
	}
	if err != nil {
		dst.Close()
		src.Close()
	}
}

// copyN copies n bytes: those already read, then the rest.
func (c *client) copyN(dst net.Conn, src *bufferedConn, n int64) error {
	k, err := src.copyBuffered(dst, int(min(n, int64(src.r.Buffered()))))
	if err != nil {
		return err
	}
	rest := &io.LimitedReader{R: src.Conn, N: n - int64(k)}
	if rest.N == 0 {
		return nil
	}
	if err = c.p.blocks.stream(dst, rest, func() {}); err == nil && rest.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// copyBuffered copies n bytes that were already read.
func (e *bufferedConn) copyBuffered(dst io.Writer, n int) (int, error) {
	b, _ := e.r.Peek(n)
	_, err := dst.Write(b)
	_, _ = e.r.Discard(len(b))
	return len(b), err
}

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
