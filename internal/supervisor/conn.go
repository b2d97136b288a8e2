package supervisor

import (
	"context"
	"io"
	"syscall"
)

// Conn is a connection to a supervisor. It starts one process. Its methods may be called
// side by side.
type Conn struct{}

// Dial connects to the supervisor that listens on a socket. The last part of the path is
// not followed when it is a link, and has to be a socket. It returns when the supervisor
// has said hello; [ErrProtocol] when that is of another version.
func Dial(ctx context.Context, path string) (*Conn, error) { return nil, ErrUnsupported }

// NewConn speaks to a supervisor over a stream that leads to it, as that of an exec of
// `holdfast supervise attach`. The connection closes rw, also when it fails.
func NewConn(ctx context.Context, rw io.ReadWriteCloser) (*Conn, error) { return nil, ErrUnsupported }

// Ping asks the supervisor how it is.
func (c *Conn) Ping(ctx context.Context) (Health, error) { return Health{}, ErrUnsupported }

// Processes lists what runs in the container, of all connections, by the time of start.
func (c *Conn) Processes(ctx context.Context) ([]Running, error) { return nil, ErrUnsupported }

// Start starts the connection's process. The context is for the start alone: what runs
// ends by itself, by [Process.Kill] or with the connection.
func (c *Conn) Start(ctx context.Context, s Spec) (*Process, error) { return nil, ErrUnsupported }

// Close ends the connection, and with it the process that still runs.
func (c *Conn) Close() error { return nil }

// Process is a process in the container.
type Process struct{}

// Pid is its number in the container.
func (p *Process) Pid() int { return 0 }

// Stdin is its standard input. A write returns when the supervisor has room for it; once
// the process has closed its end, writes fail with [io.ErrClosedPipe].
func (p *Process) Stdin() io.WriteCloser { return nil }

// Stdout is its standard output, of lines of any length. Not reading it stops the
// process, and only it.
func (p *Process) Stdout() io.Reader { return nil }

// Stderr is the end of what it wrote to standard error: at most [TailSize] bytes.
func (p *Process) Stderr() string { return "" }

// Channel is the other end of its descriptor 3; nil when [Spec.Channel] was not set.
// Close ends both directions.
func (p *Process) Channel() io.ReadWriteCloser { return nil }

// Wait waits until the process and all that it started have ended. [ErrLost] says that the
// connection ended before. Output may still be there to be read.
func (p *Process) Wait(ctx context.Context) (Exit, error) { return Exit{}, ErrUnsupported }

// Kill ends the process and everything that it started: SIGTERM to its process group,
// SIGKILL to all of the tree after the [Spec]'s grace. It returns when nothing is left;
// when the context ends before, killing goes on.
func (p *Process) Kill(ctx context.Context) error { return ErrUnsupported }

// Signal sends a signal to the process's group.
func (p *Process) Signal(ctx context.Context, sig syscall.Signal) error { return ErrUnsupported }

// Resize gives its terminal another size.
func (p *Process) Resize(ctx context.Context, s Size) error { return ErrUnsupported }

// Close ends the connection: a process that still runs is killed.
func (p *Process) Close() error { return nil }

// ServeOptions says what a supervisor does inside a container.
type ServeOptions struct {
	Socket string // where to listen; "" is the package's Socket
	Egress string // the host's proxy; "" is the package's Egress
	Proxy  string // where to listen for the proxy; "" is the package's Proxy
}

// Serve listens and serves until the context ends; then all processes are killed and it
// returns nil.
func Serve(ctx context.Context, o ServeOptions) error { return ErrUnsupported }
