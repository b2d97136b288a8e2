package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// Conn is a connection to a supervisor. It starts one process. Its methods are safe for concurrent use.
type Conn struct {
	link  *link
	hello chan struct{} // closed once health is set
	// health is the supervisor's first report.
	health Health
	peer   Peer

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan *frame
	process *Process
}

// Peer is the process that listens on a socket, as the host sees it.
type Peer struct {
	Pid int // the process id; 0 if it is not known, which is so on other operating systems and for the stream of an exec
	UID int
}

// Dial connects to the supervisor that listens on a socket. The last component of the path must be a socket, not a
// link. It returns after the supervisor's hello; a hello of another version is [ErrProtocol].
func Dial(ctx context.Context, path string) (*Conn, error) {
	rw, err := dial(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("connect to the workspace's supervisor: %w", err)
	}
	c, err := NewConn(ctx, rw)
	if err != nil {
		return nil, err
	}
	c.peer = peerOf(rw)
	return c, nil
}

// NewConn connects to a supervisor over a stream, such as that of an exec of `holdfast supervise
// attach`. The connection closes rw, even if NewConn fails. NewConn fails if the supervisor sends
// no hello within two minutes.
func NewConn(ctx context.Context, rw io.ReadWriteCloser) (*Conn, error) {
	c := &Conn{link: newLink(rw, maxAnswer), hello: make(chan struct{}), waiting: map[int64]chan *frame{}}
	c.link.run(c.handle)
	c.link.gone.Go(c.onDisconnect)
	late := time.AfterFunc(startTime, func() {
		c.link.end(fmt.Errorf("%w: no hello within %v", ErrLost, startTime))
	})
	defer late.Stop()
	var err error
	select {
	case <-c.hello:
		return c, nil
	case <-c.link.dead:
		if err = c.link.cause(); !errors.Is(err, ErrRefused) {
			err = fmt.Errorf("no hello from the workspace's supervisor: %w", err)
		}
	case <-ctx.Done():
		err = fmt.Errorf("wait for the workspace's supervisor: %w", context.Cause(ctx))
	}
	c.link.close()
	return nil, err
}

// handle handles one frame, on the link's goroutine.
func (c *Conn) handle(f *frame) error {
	select {
	case <-c.hello:
	default:
		return c.greet(f)
	}
	switch f.Type {
	case typePong, typeListed, typeStarted, typeRefused:
		c.answer(f)
		return nil
	}
	c.mu.Lock()
	p := c.process
	c.mu.Unlock()
	if p == nil {
		return nil // a heartbeat, or from a later version
	}
	return p.handle(f)
}

func (c *Conn) greet(f *frame) error {
	switch {
	case f.Type == typeRefused && f.Code == codePeer:
		return ErrRefused
	case f.Type != typeHello || f.Health == nil:
		return fmt.Errorf("%w: its first frame is %q", ErrProtocol, f.Type)
	case f.Health.Protocol != Protocol:
		return fmt.Errorf("%w: it speaks version %d of the protocol, version %d is required", ErrProtocol, f.Health.Protocol, Protocol)
	}
	c.health = *f.Health
	c.health.Version, c.health.Unconfined = truncate.String(c.health.Version, maxText), truncate.String(c.health.Unconfined, maxText)
	close(c.hello)
	return nil
}

func (c *Conn) answer(f *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to := c.waiting[f.N]; to != nil {
		delete(c.waiting, f.N)
		to <- f
	}
}

// ask sends a frame and waits for its answer.
func (c *Conn) ask(ctx context.Context, f *frame) (*frame, error) {
	to := make(chan *frame, 1)
	c.mu.Lock()
	c.last++
	f.N = c.last
	c.waiting[f.N] = to
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, f.N)
		c.mu.Unlock()
	}()
	if err := c.link.post(*f); err != nil {
		return nil, err
	}
	select {
	case got := <-to:
		return got, nil
	case <-c.link.dead:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case got := <-to: // the answer arrived before the connection ended
		return got, nil
	default:
		return nil, c.link.cause()
	}
}

// Health returns the supervisor's report from the beginning of the connection.
func (c *Conn) Health() Health { return c.health }

// Peer returns the listening process. Processes in the container can write to the socket's folder.
// If [Health] says that they are not confined, one of them could have created its own socket there;
// the host can detect this from the process.
func (c *Conn) Peer() Peer { return c.peer }

// Ping requests the supervisor's current health.
func (c *Conn) Ping(ctx context.Context) (Health, error) {
	f, err := c.ask(ctx, &frame{Type: typePing})
	if err != nil {
		return Health{}, err
	}
	if f.Health == nil {
		return Health{}, ErrProtocol
	}
	f.Health.Version, f.Health.Unconfined = truncate.String(f.Health.Version, maxText), truncate.String(f.Health.Unconfined, maxText)
	return *f.Health, nil
}

// Processes lists at most 1000 processes in the container, from all connections, sorted by start
// time.
func (c *Conn) Processes(ctx context.Context) ([]Running, error) {
	f, err := c.ask(ctx, &frame{Type: typeList})
	if err != nil {
		return nil, err
	}
	return f.Processes, nil
}

// startTime is how long a supervisor may take to send its first frame (hello), and to start a process.
const startTime = 2 * time.Minute

// Start starts the connection's process. The context applies only to the start: the process ends by itself, by
// [Process.Kill] or with the connection. If the context ends, or two minutes pass, before the supervisor answers,
// the connection ends, so that no process keeps running.
//
// Errors: [ErrSpec] and *[EnvError] for a spec that can never start, [ErrRunning], [ErrNotStarted], [ErrIDUsed],
// [ErrLost].
func (c *Conn) Start(ctx context.Context, s Spec) (*Process, error) {
	o, err := s.order()
	if err != nil {
		return nil, err
	}
	p, err := c.reserve(s)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("%w: it did not answer within %v", ErrLost, startTime))
	defer cancel()
	f, err := c.ask(limited, &frame{Type: typeStart, Start: o})
	if err == nil && f.Type == typeStarted {
		p.pid = f.Pid
		return p, nil
	}
	if err != nil {
		c.link.end(ErrLost)
		return nil, fmt.Errorf("start %s: %w", s.ID, err)
	}
	c.mu.Lock()
	c.process = nil // if the start fails, the connection can be used again
	c.mu.Unlock()
	p.lost(ErrNotStarted)
	return nil, startError(s.ID, f)
}

// reserve creates the connection's one process.
func (c *Conn) reserve(s Spec) (*Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.link.dead:
		return nil, c.link.cause()
	default:
	}
	if c.process != nil {
		return nil, ErrIDUsed
	}
	c.process = newProcess(c, s)
	return c.process, nil
}

// Close ends the connection. If its process is running, the process ends too. Close waits until
// nothing of the connection is left on this side, including a write to [Spec.Stderr].
func (c *Conn) Close() error {
	c.link.close()
	return nil
}

// onDisconnect wakes all waiting calls when the connection has ended.
func (c *Conn) onDisconnect() {
	<-c.link.dead
	c.mu.Lock()
	p := c.process
	c.mu.Unlock()
	if p != nil {
		p.lost(c.link.cause())
	}
}

// The codes of start errors.
const (
	codePeer    = "peer"
	codeSpec    = "spec"
	codeEnv     = "env"
	codeRunning = "running"
	codeStart   = "not_started"
	codeUsed    = "used"
)

// startError converts the supervisor's start error.
func startError(id string, f *frame) error {
	var kind error
	switch f.Code {
	case codeSpec, codeEnv:
		kind = ErrSpec
	case codeRunning:
		return fmt.Errorf("start %s: %w", id, ErrRunning)
	case codeUsed:
		return ErrIDUsed
	default:
		kind = ErrNotStarted
	}
	return fmt.Errorf("start %s: %w: %s", id, kind, truncate.String(f.Error, maxText))
}

// maxText is the maximum length of a text from the container, in bytes.
const maxText = 500

// peerOf returns the process that listens on the socket.
func peerOf(rw io.ReadWriteCloser) Peer {
	if u, ok := rw.(*net.UnixConn); ok {
		if pid, uid, err := credentials(u); err == nil {
			return Peer{Pid: pid, UID: uid}
		}
	}
	return Peer{}
}
