package redis

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// bufferSize is the size of the read and the write buffer.
const bufferSize = 16 << 10

// Conn is a connection to one server. Only one caller may use it at a time.
type Conn struct {
	net     net.Conn
	r       *bufio.Reader
	w       *bufio.Writer
	timeout time.Duration
	used    time.Time // time when it was returned to the pool
	broken  bool

	mu          sync.Mutex
	interrupted bool
}

// connect dials a server. The caller then calls greet.
func (o *Options) connect(ctx context.Context, network, addr string) (*Conn, error) {
	plain := &net.Dialer{Timeout: o.Dial, KeepAlive: 30 * time.Second}
	var c net.Conn
	var err error
	if o.TLS == nil {
		c, err = plain.DialContext(ctx, network, addr)
	} else {
		c, err = (&tls.Dialer{NetDialer: plain, Config: o.TLS}).DialContext(ctx, network, addr)
	}
	if err != nil {
		return nil, err
	}
	return newConn(c, o.Timeout), nil
}

func newConn(c net.Conn, timeout time.Duration) *Conn {
	return &Conn{net: c, r: bufio.NewReaderSize(c, bufferSize), w: bufio.NewWriterSize(c, bufferSize), timeout: timeout}
}

// greet authenticates and selects the database. Servers before Redis 6 do not know HELLO, but may
// know AUTH.
func (c *Conn) greet(ctx context.Context, o *Options) error {
	hello := Command{"HELLO", 2}
	if o.Password != "" {
		user := o.User
		if user == "" {
			user = "default"
		}
		hello = append(hello, "AUTH", user, o.Password)
	}
	_, err := c.Do(ctx, hello...)
	if _, answered := errors.AsType[Error](err); err != nil && !answered {
		return err
	}
	if err != nil && o.Password != "" {
		auth := Command{"AUTH", o.Password}
		if o.User != "" {
			auth = Command{"AUTH", o.User, o.Password}
		}
		if _, err := c.Do(ctx, auth...); err != nil {
			return fmt.Errorf("log in: %w", err)
		}
	}
	if o.Database > 0 {
		if _, err := c.Do(ctx, "SELECT", o.Database); err != nil {
			return fmt.Errorf("select database %d: %w", o.Database, err)
		}
	}
	return nil
}

// Do sends a command and returns its reply: a string, an int64, a list ([]any), or nil. The error is an [Error] if
// the server returned it.
func (c *Conn) Do(ctx context.Context, args ...any) (any, error) {
	replies, err := c.exchange(ctx, []Command{args})
	if err != nil {
		return nil, err
	}
	if e, ok := replies[0].(Error); ok {
		return nil, e
	}
	return replies[0], nil
}

// exchange sends commands together and reads one reply for each. After an error the connection is
// broken.
func (c *Conn) exchange(ctx context.Context, commands []Command) (replies []any, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer func() {
		c.broken = c.broken || err != nil || c.r.Buffered() > 0
	}()
	if err := c.net.SetWriteDeadline(c.deadline(ctx)); err != nil {
		return nil, err
	}
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, c.interrupt)
		defer func() {
			if !stop() {
				c.broken = true
			}
		}()
	}
	for _, command := range commands {
		if err := command.write(c.w); err != nil {
			return nil, err
		}
	}
	if err := c.w.Flush(); err != nil {
		return nil, err
	}
	if err := c.waitUntil(c.deadline(ctx)); err != nil {
		return nil, err
	}
	replies = make([]any, len(commands))
	for i := range replies {
		if replies[i], err = readReply(c.r, maxReply); err != nil {
			return nil, err
		}
		if e, ok := replies[i].(Error); ok && e.is("READONLY") {
			c.broken = true // the name may now resolve to another server
		}
	}
	return replies, nil
}

func (c *Conn) deadline(ctx context.Context) time.Time {
	var at time.Time
	if c.timeout > 0 {
		at = time.Now().Add(c.timeout)
	}
	if d, ok := ctx.Deadline(); ok && (at.IsZero() || d.Before(at)) {
		at = d
	}
	return at
}

// interrupt makes all reads and writes of the connection fail, including those that are running.
func (c *Conn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupted = true
	_ = c.net.SetDeadline(time.Unix(1, 0))
}

// waitUntil sets the deadline for replies, unless the caller has stopped waiting.
func (c *Conn) waitUntil(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.interrupted {
		return nil
	}
	return c.net.SetReadDeadline(at)
}

func (c *Conn) close() { _ = c.net.Close() }
