package supervisor

import (
	"context"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

// Process is a process in the container. Its methods are safe for concurrent use; each stream is for one reader
// and one writer.
type Process struct {
	conn    *Conn
	pid     int
	grace   time.Duration
	in      *outbox
	out     *inbox
	errs    *inbox // nil if only the last part of standard error is kept
	tail    tail
	channel *channel

	once sync.Once
	over chan struct{} // closed once exit or err is set
	exit Exit
	err  error
}

func newProcess(c *Conn, s Spec) *Process {
	p := &Process{conn: c, grace: s.grace(), in: newOutbox(c.link, streamIn), out: newInbox(c.link, streamOut), over: make(chan struct{})}
	if s.Channel {
		p.channel = &channel{in: newInbox(c.link, streamChannel), out: newOutbox(c.link, streamChannel)}
	}
	if s.Stderr != nil {
		p.errs = newInbox(c.link, streamErr)
		c.link.gone.Go(func() {
			if _, err := io.Copy(s.Stderr, p.errs); err != nil {
				p.errs.drop()
			}
		})
	}
	return p
}

// handle handles a frame for the process.
func (p *Process) handle(f *frame) error {
	switch f.Type {
	case typeData:
		return p.data(f)
	case typeEnd:
		if b := p.inbox(f.S); b != nil {
			b.finish(io.EOF)
		}
	case typeShut:
		if o := p.outbox(f.S); o != nil {
			o.fail(io.ErrClosedPipe)
		}
	case typeAck:
		if o := p.outbox(f.S); o != nil {
			return o.grant(f.Size)
		}
		return errFrame
	case typeExit:
		if f.Exit == nil {
			return errFrame
		}
		p.ended(Exit{Code: f.Exit.Code, Signal: f.Exit.Signal, OOM: f.Exit.OOM}, f.Exit.Tail, nil)
	}
	return nil
}

func (p *Process) data(f *frame) error {
	if f.S == streamErr {
		_, _ = p.tail.Write(f.data)
		if p.errs == nil {
			p.conn.link.ack(streamErr, len(f.data))
			return nil
		}
	}
	if b := p.inbox(f.S); b != nil {
		return b.put(f.data)
	}
	return errFrame
}

func (p *Process) inbox(s int) *inbox {
	switch {
	case s == streamOut:
		return p.out
	case s == streamErr:
		return p.errs
	case s == streamChannel && p.channel != nil:
		return p.channel.in
	}
	return nil
}

func (p *Process) outbox(s int) *outbox {
	switch {
	case s == streamIn:
		return p.in
	case s == streamChannel && p.channel != nil:
		return p.channel.out
	}
	return nil
}

// ended records once how the process ended.
func (p *Process) ended(e Exit, end []byte, err error) {
	p.once.Do(func() {
		if err == nil {
			p.tail.set(end)
		}
		e.Stderr = p.Stderr()
		p.exit, p.err = e, err
		p.in.fail(io.ErrClosedPipe)
		close(p.over)
	})
}

// lost handles the end of the connection. The link's goroutine may still be handling the last
// frame.
func (p *Process) lost(err error) {
	for _, b := range []*inbox{p.inbox(streamOut), p.inbox(streamErr), p.inbox(streamChannel)} {
		if b != nil {
			b.finish(err)
		}
	}
	for _, o := range []*outbox{p.outbox(streamIn), p.outbox(streamChannel)} {
		if o != nil {
			o.fail(err)
		}
	}
	p.ended(Exit{}, nil, err)
}

// Pid returns its process id in the container.
func (p *Process) Pid() int { return p.pid }

// Stdin returns its standard input. A write returns when the supervisor has room for it; after the process has
// closed its end, writes fail with [io.ErrClosedPipe].
func (p *Process) Stdin() io.WriteCloser { return p.in }

// Stdout returns its standard output, with lines of any length. If it is not read, only this
// process is blocked.
func (p *Process) Stdout() io.Reader { return p.out }

// Stderr returns the last part of its standard error: at most [TailSize] bytes, starting at a character boundary.
func (p *Process) Stderr() string {
	b := p.tail.bytes()
	if len(b) == TailSize {
		for i := range utf8.UTFMax - 1 {
			if utf8.RuneStart(b[i]) {
				return string(b[i:])
			}
		}
	}
	return string(b)
}

// Channel returns the other end of its descriptor 3; nil if [Spec.Channel] was not set. Close ends both
// directions.
func (p *Process) Channel() io.ReadWriteCloser {
	if p.channel == nil {
		return nil
	}
	return p.channel
}

// Wait waits until the process and everything it started have ended. [ErrLost] means that the
// connection ended before the process did. Unread output may remain.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.over:
		return p.exit, p.err
	case <-ctx.Done():
		return Exit{}, context.Cause(ctx)
	}
}

// killTime is how long a killed process may still exist after its grace time has passed.
const killTime = 20 * time.Second

// Kill ends the process and everything it started: SIGTERM to its process group, SIGKILL to the
// whole tree after the [Spec]'s grace time. It returns when no process is left. If the context ends
// before that, killing continues. If the supervisor does not confirm the end in time, the
// connection is closed with [ErrLost].
func (p *Process) Kill(ctx context.Context) error {
	select {
	case <-p.over:
		return p.err
	default:
	}
	if err := p.conn.link.post(frame{Type: typeKill}); err != nil {
		return err
	}
	late := time.AfterFunc(p.grace+killTime, func() {
		p.conn.link.end(fmt.Errorf("%w: it did not confirm the end of the process", ErrLost))
	})
	_, err := p.Wait(ctx)
	select {
	case <-p.over:
		late.Stop()
	default: // watching continues
	}
	return err
}

// Signal sends a signal to the process's group: SIGHUP, SIGINT, SIGQUIT, SIGTERM or SIGKILL. Others return
// [ErrSpec].
func (p *Process) Signal(ctx context.Context, sig syscall.Signal) error {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGKILL:
	default:
		return fmt.Errorf("%w: unsupported signal %d", ErrSpec, int(sig))
	}
	return p.send(ctx, &frame{Type: typeSignal, Signal: int(sig)})
}

// Resize changes the size of its terminal.
func (p *Process) Resize(ctx context.Context, s Size) error {
	return p.send(ctx, &frame{Type: typeResize, Window: &s})
}

func (p *Process) send(ctx context.Context, f *frame) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return p.conn.link.post(*f)
}

// Close ends the connection: a process that still runs is killed.
func (p *Process) Close() error { return p.conn.Close() }

// channel is the host's end of a process's descriptor 3.
type channel struct {
	in  *inbox
	out *outbox
}

func (c *channel) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c *channel) Write(p []byte) (int, error) { return c.out.Write(p) }

// Close ends both directions.
func (c *channel) Close() error {
	c.in.finish(io.ErrClosedPipe)
	c.in.drop()
	return c.out.Close()
}
