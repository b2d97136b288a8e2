package workspace

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/workspace/acp"
	"github.com/holdfast-dev/holdfast/internal/workspace/claude"
	"github.com/holdfast-dev/holdfast/internal/workspace/codex"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendoragent"
)

// maxTranscript is the maximum size, in bytes, of an agent's session file that can be resumed.
const maxTranscript = 1 << 30

// driver returns the driver for an agent kind.
func driver(a AgentSpec) (vendor.Driver, error) {
	switch a.Kind {
	case KindClaude:
		return claude.Driver{Start: a.Command}, nil
	case KindCodex:
		return codex.Driver{Start: a.Command}, nil
	case KindACP:
		return acp.Driver{Start: a.Command}, nil
	}
	return nil, errors.ErrUnsupported
}

// newVendorAgent returns a vendor agent, adapted to Holdfast's loop.
func (w *Workspaces) newVendorAgent(s *Settings, r *runner, o AgentOptions) (*Agent, error) {
	d, err := driver(s.Agent)
	if err != nil {
		return nil, &Error{Op: "run an agent in", Slug: s.Slug, Err: ErrInvalid, Detail: "unknown agent kind " + s.Agent.Kind}
	}
	models, err := modelAddresses(s, r.env)
	if err == nil {
		err = checkModelAddresses(s, models)
	}
	if err != nil {
		return nil, err
	}
	reached := false
	places := w.hostMap(s, o.Ephemeral)
	name := o.ModelName
	if name == "" {
		name = s.Model
	}
	g, err := vendoragent.New(vendoragent.Options{
		Vendor: d, PathMap: places, Sessions: o.Options.Sessions, Workspace: s.Slug, WorkspaceID: s.ID,
		Model: name, Env: r.env, Ephemeral: o.Ephemeral, History: o.History,
		Ready: func(file string) (int64, error) { return resumable(w.dirs(s).Home, file) },
		Start: func(ctx context.Context, spec vendoragent.Spec) (vendoragent.Process, error) {
			if !reached { // only once, because later a failing turn reports the reason
				if err := w.checkModelsReachable(ctx, s.Slug, models); err != nil {
					return nil, err
				}
				reached = true
			}
			p, err := r.start(ctx, supervisor.Spec{ID: r.name(), Args: spec.Args, Env: spec.Env, Dir: spec.Dir})
			if err != nil {
				return nil, err
			}
			return vendorProcess{p}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	opt := o.Options
	if opt.Permissions.Guards == nil && len(opt.Permissions.Config.Folders) == 0 {
		opt.Permissions.Config.Folders = []string{w.dirs(s).Project}
	}
	if opt.Permissions.Guards == nil && !o.Ephemeral {
		opt.Permissions.Config.Home = w.dirs(s).Home
	}
	opt.Permissions.Sandbox, opt.Permissions.Profile = "container of workspace "+s.Slug, ""
	opt.Model.MaxTokens, opt.Model.Effort = 0, ""
	opt = g.Agent(opt)
	a, err := agent.New(g, &opt)
	if err != nil {
		return nil, err
	}
	g.Attach(a)
	r.session = a.SessionID
	return &Agent{turner: a, Kind: s.Agent.Kind, ends: g.Close}, nil
}

// hostMap maps the agent's paths to the host's.
func (w *Workspaces) hostMap(s *Settings, ephemeral bool) vendoragent.PathMap {
	d := w.dirs(s)
	p := vendoragent.PathMap{Work: WorkFolder, Home: homeFolder, All: []vendoragent.PathMapping{{Host: d.Project, Inside: WorkFolder}}}
	if !ephemeral {
		p.All = append(p.All, vendoragent.PathMapping{Host: d.Home, Inside: homeFolder})
	}
	for _, m := range s.Mounts {
		p.All = append(p.All, vendoragent.PathMapping{Host: m.Host, Inside: m.Target})
	}
	return p
}

// resumable checks whether an agent's session file can be resumed, and returns its size in bytes. The file was
// written by the agent or another process in the container.
func resumable(home, file string) (size int64, err error) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	files, err := findBelow(root, file)
	if err != nil {
		return 0, err
	}
	for _, name := range files {
		f, err := OpenRegular(root, name, maxTranscript)
		if err != nil {
			return 0, err
		}
		size += f.Size
		if err := f.Close(); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// vendorProcess adapts a supervisor's process to a vendor agent.
type vendorProcess struct{ *process }

func (p vendorProcess) Wait(ctx context.Context) (vendoragent.Exit, error) {
	e, err := p.process.Wait(ctx)
	out := vendoragent.Exit{Code: e.Code, Signal: e.Signal, OOM: e.OOM}
	if errors.Is(err, ErrQuota) {
		out.Detail, out.Err = err.Error(), err
		return out, nil
	}
	if failure := Failure(e); err == nil && failure != nil {
		out.Detail, out.Err = failure.Error(), failure
	}
	return out, err
}

// runner starts the processes of one agent, one at a time, and holds the container while one runs.
type runner struct {
	w         *Workspaces
	slug      string
	ephemeral bool
	env       []string
	session   func() string
	next      *Container // the container that was prepared for the next process
}

// name returns the name of the session's process in its container. A session has only one.
func (r *runner) name() string { return processID(r.session()) }

// ensure returns the container, if the disk limit allows it.
func (r *runner) ensure(ctx context.Context) (*Container, error) {
	if err := r.w.CheckDisk(ctx, r.slug); err != nil {
		return nil, err
	}
	if r.ephemeral {
		return r.w.EnsureEphemeral(ctx, r.slug)
	}
	return r.w.Ensure(ctx, r.slug)
}

// ready prepares the container for the next process.
func (r *runner) ready(ctx context.Context) (release func(), err error) {
	c, err := r.ensure(ctx)
	if err != nil {
		return nil, err
	}
	r.next = c
	return func() {
		r.next = nil
		_ = c.Close() // this has no effect after the process has ended
	}, nil
}

// leftoverWait is the time that a process may take to end if its host has crashed.
const leftoverWait = 15 * time.Second

// start starts a process. If a process of the same session still runs, its host has ended, and the
// supervisor ends the process.
func (r *runner) start(ctx context.Context, s supervisor.Spec) (*process, error) {
	c, err := r.next, error(nil)
	if r.next = nil; c == nil {
		c, err = r.ensure(ctx)
	}
	if err != nil {
		return nil, err
	}
	patience := time.NewTimer(leftoverWait)
	defer patience.Stop()
	for {
		p, err := startIn(ctx, c, s)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, supervisor.ErrRunning) {
			return nil, errors.Join(err, c.Close())
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-patience.C:
			return nil, errors.Join(err, c.Close())
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), c.Close())
		}
	}
}

func startIn(ctx context.Context, c *Container, s supervisor.Spec) (*process, error) {
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	p, err := conn.Start(ctx, s)
	if errors.Is(err, supervisor.ErrNotStarted) && ctx.Err() == nil {
		err = missingAgentError(c.Slug, s.Args[0], err)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	out := &process{Process: p, conn: conn, c: c}
	out.unwatch = c.w.watchDisk(c.Slug, out.endForDisk)
	return out, nil
}

// missingAgentError returns the error for an image without the agent, with a hint how to add it.
func missingAgentError(slug, program string, err error) error {
	e := &Error{Op: "start the agent in", Slug: slug, Err: ErrNoProgram, Detail: err.Error()}
	switch program {
	case KindClaude, KindCodex:
		e.Advice = "holdfast workspace image build --variant debian --with " + program
	default:
		e.Advice = "use an image that has it: holdfast workspace set " + slug + " --image NAME; or another --command"
	}
	return e
}

// process is a process with the resources that are held until it ends.
type process struct {
	*supervisor.Process
	conn    *supervisor.Conn
	c       *Container
	unwatch func()
	full    atomic.Pointer[error] // the reason, if the process was ended because of its disk use
}

// endForDisk ends a process that has filled the disk.
func (p *process) endForDisk(why error) {
	p.full.Store(&why)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // Kill must not wait for the end of the process
	_ = p.Kill(ctx)
}

// Wait is [supervisor.Process.Wait]. It returns [ErrQuota] if the process was ended because it filled the disk.
func (p *process) Wait(ctx context.Context) (supervisor.Exit, error) {
	e, err := p.Process.Wait(ctx)
	if full := p.full.Load(); full != nil && err == nil {
		err = *full
	}
	return e, err
}

// Close ends the process and releases the resources that were held for it.
func (p *process) Close() error {
	p.unwatch()
	return errors.Join(p.Process.Close(), p.conn.Close(), p.c.Close())
}
