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

// The places inside a container.
const (
	WorkFolder = "/work"       // the project
	homeFolder = "/home/agent" // the agent's home
	// Program is where an image has our program, which is what a container starts.
	Program = "/usr/local/bin/holdfast"
	// DefaultImage is the image of workspaces that name none.
	DefaultImage = "holdfast/workspace:latest"
)

// The contracts of containers.
var (
	ErrForeign   = errors.New("the container is somebody else's") // it has our name and not our labels
	ErrNoImage   = engine.ErrNoImage
	ErrNoAnswer  = errors.New("the container's supervisor does not answer")
	ErrWrongUser = errors.New("the agent may not use the folder") // which has another owner
	ErrNoProgram = errors.New("the image lacks a program")        // that was to be started
	ErrStopped   = errors.New("the container was stopped")        // in the middle of a turn
	// ErrOutOfMemory: the container had no memory left, and the kernel ended a process.
	// The others in the container go on.
	ErrOutOfMemory = errors.New("out of memory")
)

// Container is the container of a workspace, running and answering when it was handed
// out. Whoever has one keeps it from being made anew until Close, which must be called
// after the turn: settings that have changed apply only then.
type Container struct {
	ID, Name string
	Slug     string
	// Outdated says why the container should be made anew: that will happen when
	// nobody works in it. "" where it is as the settings want it.
	Outdated string
	// Health is what the supervisor said when the container was handed out.
	Health supervisor.Health
	// Settings are those that the container was looked at for.
	Settings Settings

	w      *Workspaces
	engine *engine.Engine
	run    string   // the folder of the sockets, on the host
	first  int      // the container's first process, as the engine counts
	use    *os.File // its lock is shared by those who work in the container
	// release says that the way to the network is not needed any more.
	release func()
	end     func(context.Context) error // in place of both, of an ephemeral one
	once    sync.Once
	closed  error
}

// Close says that the work is done. The container of a workspace runs on, one from
// [Workspaces.EnsureEphemeral] is removed. Connections stay open in the former.
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

// Dial connects to the supervisor. A connection starts one process and ends with it;
// who dialed closes it.
func (c *Container) Dial(ctx context.Context) (*supervisor.Conn, error) {
	conn, err := c.dial(ctx, c.w.bridged())
	if err != nil {
		return nil, &Error{Op: "connect to the container of", Slug: c.Slug, Err: err}
	}
	return conn, nil
}

// dial goes by the socket, or, where the engine is in a machine of its own, by a
// process beside the supervisor.
func (c *Container) dial(ctx context.Context, bridged bool) (*supervisor.Conn, error) {
	if !bridged {
		conn, err := supervisor.Dial(ctx, filepath.Join(c.run, supervisor.SocketName))
		if err == nil && isImpostor(conn.Peer().Pid, c.first) {
			err = &Error{Op: "connect to the container of", Slug: c.Slug, Err: ErrNoAnswer, Detail: "another process listens in its place", Advice: "holdfast workspace stop " + c.Slug}
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
		if said := strings.TrimSpace(st.Stderr()); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, err
	}
	return conn, nil
}

// ask connects, asks for the supervisor's health and hangs up.
func (c *Container) ask(ctx context.Context, bridged bool) (supervisor.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := c.dial(ctx, bridged)
	if err != nil {
		return supervisor.Health{}, err
	}
	return conn.Health(), conn.Close()
}

// OOMKills is how often the kernel has ended a process of the container because the
// container had no memory left, since it was started.
func (c *Container) OOMKills(ctx context.Context) (int64, error) {
	h, err := c.ask(ctx, c.w.bridged())
	if err != nil {
		return 0, &Error{Op: "ask the container of", Slug: c.Slug, Err: err}
	}
	if h.OOMKills < 0 {
		return 0, &Error{Op: "ask the container of", Slug: c.Slug, Err: errors.ErrUnsupported, Detail: "its counter cannot be read"}
	}
	return h.OOMKills, nil
}

// ExitError is a process in a container that did not end well. Its text is for people.
type ExitError struct{ supervisor.Exit }

func (e *ExitError) Error() string {
	if e.OOM {
		return "Container ran out of memory. It will be recreated on next use."
	}
	said := strings.TrimSpace(e.Stderr)
	if said == "" && e.Signal != "" {
		said = "ended by " + e.Signal
	}
	if said == "" {
		return fmt.Sprintf("Sandbox error (exit %d)", e.Code)
	}
	return fmt.Sprintf("Sandbox error (exit %d): %s", e.Code, said)
}

// Is says that it is [ErrOutOfMemory].
func (e *ExitError) Is(target error) bool { return e.OOM && target == ErrOutOfMemory }

// Hint is what to do about it, or "".
func (e *ExitError) Hint() string {
	if e.OOM {
		return "give the workspace more: holdfast workspace set NAME --memory 4g"
	}
	return ""
}

// Failure is the error of a process that ended so: nil when it ended well, an
// [*ExitError] otherwise.
func Failure(e supervisor.Exit) error {
	if e.Code == 0 && e.Signal == "" && !e.OOM {
		return nil
	}
	return &ExitError{e}
}

// Exec runs a command in the container of a workspace, beside the agents and as they
// are run, and returns how it ended. Stdin may be nil. The end of ctx kills it.
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

// ExecOptions say what [Workspaces.Exec] runs.
type ExecOptions struct {
	Args           []string
	Env            []string // "NAME=value", besides the fixed ones
	Dir            string   // default [WorkFolder]
	Stdin          io.Reader
	Stdout, Stderr io.Writer              // nil: thrown away
	Terminal       *supervisor.Size       // a terminal for it; Stderr stays empty then
	Resize         <-chan supervisor.Size // the terminal's further sizes
}
