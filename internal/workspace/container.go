package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// The paths in a container.
const (
	WorkFolder = "/work"       // the project
	homeFolder = "/home/agent" // the agent's home
	// Program is the path of the holdfast program in an image; containers start it.
	Program = "/usr/local/bin/holdfast"
	// DefaultImage is the image of workspaces whose settings name none.
	DefaultImage = "holdfast/workspace:latest"
)

// Errors of containers.
var (
	ErrForeign   = errors.New("the container was not created by holdfast") // it has a workspace's name without Holdfast's labels
	ErrNoImage   = engine.ErrNoImage
	ErrNoAnswer  = errors.New("the container's supervisor does not answer")
	ErrWrongUser = errors.New("the agent has no access to the folder") // the folder has another owner
	ErrNoProgram = errors.New("the image lacks a program")             // the image does not contain the program to start
	ErrStopped   = errors.New("the container was stopped")             // during a turn
	// ErrOutOfMemory means that the container ran out of memory and the kernel killed a process.
	// Other processes in the container continue.
	ErrOutOfMemory = errors.New("out of memory")
)

// Container is the container of a workspace. When it was returned, it was running and its
// supervisor had answered. It is not recreated before Close, so changed settings do not apply until
// then. The caller must call Close after the turn.
type Container struct {
	ID, Name string
	Slug     string
	// Outdated is the reason why the container should be recreated, which happens when no process
	// uses it. It is "" if the container matches the settings.
	Outdated string
	// Health is the supervisor's report from the time the container was returned.
	Health supervisor.Health
	// Settings are the settings that the container was compared with.
	Settings Settings

	w      *Workspaces
	engine *engine.Engine
	run    string   // the host folder of the sockets
	first  int      // the id of the container's first process on the host
	use    *os.File // all processes that work in the container share its lock
	// release gives up the container's network access.
	release func()
	end     func(context.Context) error // for an ephemeral container; Close calls it instead of release and use.Close
	once    sync.Once
	closed  error
}

// Close ends the use of the container. The container of a workspace and its connections stay. A
// container from [Workspaces.EnsureEphemeral] is removed.
func (c *Container) Close() error {
	c.once.Do(func() {
		if c.end == nil {
			c.release()
			c.closed = c.use.Close()
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c.closed = c.end(ctx)
	})
	return c.closed
}

// Dial connects to the supervisor. A connection starts one process and ends with it. The caller
// closes the connection.
func (c *Container) Dial(ctx context.Context) (*supervisor.Conn, error) {
	conn, err := c.dial(ctx, c.w.bridged())
	if err != nil {
		return nil, &Error{Op: "connect to the container of", Slug: c.Slug, Err: err}
	}
	return conn, nil
}

// dial connects through the socket. If the engine runs in a virtual machine, it connects through a
// second process in the container.
func (c *Container) dial(ctx context.Context, bridged bool) (*supervisor.Conn, error) {
	if !bridged {
		conn, err := supervisor.Dial(ctx, filepath.Join(c.run, supervisor.SocketName))
		if err == nil && isImpostor(conn.Peer().Pid, c.first) {
			err = &Error{Op: "connect to the container of", Slug: c.Slug, Err: ErrNoAnswer, Detail: "another process listens on its socket", Advice: "holdfast workspace stop " + c.Slug}
			return nil, errors.Join(err, conn.Close())
		}
		return conn, err
	}
	uid, gid := agentUser()
	st, err := c.engine.Exec(ctx, c.ID, engine.ExecSpec{Command: []string{Program, "supervise", "attach"}, User: fmt.Sprintf("%d:%d", uid, gid), Dir: "/"})
	if err != nil {
		return nil, err
	}
	conn, err := supervisor.NewConn(ctx, st)
	if err != nil {
		if stderr := strings.TrimSpace(st.Stderr()); stderr != "" {
			err = fmt.Errorf("%w: %s", err, stderr)
		}
		return nil, err
	}
	return conn, nil
}

// ask connects, requests the supervisor's health and disconnects.
func (c *Container) ask(ctx context.Context, bridged bool) (supervisor.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := c.dial(ctx, bridged)
	if err != nil {
		return supervisor.Health{}, err
	}
	return conn.Health(), conn.Close()
}

// OOMKills returns how many processes of the container the kernel has killed for lack of memory
// since the container was started.
func (c *Container) OOMKills(ctx context.Context) (int64, error) {
	h, err := c.ask(ctx, c.w.bridged())
	if err != nil {
		return 0, &Error{Op: "query the container of", Slug: c.Slug, Err: err}
	}
	if h.OOMKills < 0 {
		return 0, &Error{Op: "query the container of", Slug: c.Slug, Err: errors.ErrUnsupported, Detail: "its memory counter is not readable"}
	}
	return h.OOMKills, nil
}

// ExitError says how a process in a container failed. Its text is meant for users.
type ExitError struct{ supervisor.Exit }

func (e *ExitError) Error() string {
	if e.OOM {
		return "Container ran out of memory. It will be recreated on next use."
	}
	text := strings.TrimSpace(e.Stderr)
	if text == "" && e.Signal != "" {
		text = "ended by " + e.Signal
	}
	if text == "" {
		return fmt.Sprintf("Sandbox error (exit %d)", e.Code)
	}
	return fmt.Sprintf("Sandbox error (exit %d): %s", e.Code, text)
}

// Is reports whether target is [ErrOutOfMemory] and the container ran out of memory.
func (e *ExitError) Is(target error) bool { return e.OOM && target == ErrOutOfMemory }

// Hint returns how to avoid the failure, or "".
func (e *ExitError) Hint() string {
	if e.OOM {
		return "give the workspace more: holdfast workspace set NAME --memory 4g"
	}
	return ""
}

// Failure returns the error that describes how a process ended. It returns nil after success, and
// an [*ExitError] otherwise.
func Failure(e supervisor.Exit) error {
	if e.Code == 0 && e.Signal == "" && !e.OOM {
		return nil
	}
	return &ExitError{e}
}

// Exec runs a command in the container of a workspace, with the agents' user and environment, and
// returns how it ended. Stdin may be nil. When ctx ends, the command is killed.
func (w *Workspaces) Exec(ctx context.Context, slug string, o ExecOptions) (exit supervisor.Exit, err error) {
	c, err := w.Ensure(ctx, slug)
	if err != nil {
		return exit, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	conn, err := c.Dial(ctx)
	if err != nil {
		return exit, err
	}
	defer conn.Close()
	return o.run(ctx, conn)
}

// ExecOptions configures [Workspaces.Exec].
type ExecOptions struct {
	Args           []string
	Env            []string // variables as "NAME=value", in addition to the fixed ones
	Dir            string   // default [WorkFolder]
	Stdin          io.Reader
	Stdout, Stderr io.Writer              // nil: discarded
	Terminal       *supervisor.Size       // runs the command in a terminal; Stderr then gets nothing
	Resize         <-chan supervisor.Size // receives each new size of the terminal from the caller
}
