package cli

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	page "github.com/holdfast-dev/holdfast/console"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/daemon"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/otel"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

func newDaemonCmd(p *command.Program) *command.Command {
	cmd := p.Command(&daemonRunCmd{}, "daemon", "Serve runs, questions and sessions to many clients, and a console.") // daemon alone is daemon run
	command.AddCommands(cmd,
		p.Command(&daemonRunCmd{}, "run", "Serve runs, questions, sessions and the console; what daemon alone does."),
		p.Command(&daemonStatusCmd{}, "status", "Say whether a daemon runs, and where."),
		p.Command(&daemonStopCmd{}, "stop", "Let the daemon end: what runs may finish, questions stay open."),
		p.Command(&daemonOpenCmd{}, "open", "Print a link that logs a browser in once."),
		newDaemonTokenCmd(p),
		p.Command(&daemonUnitCmd{}, "unit", "Print units for systemd with this program's path."),
	)
	return cmd
}

// daemonRunCmd is `holdfast daemon run`, and `holdfast daemon`.
type daemonRunCmd struct {
	listenFlags
	Resume         bool
	StopWorkspaces bool
	command.StoreFlags
}

func (c *daemonRunCmd) Declare(b *command.Builder) {
	b.Include(&c.listenFlags)
	b.Flag(&c.Resume, "resume", "", "", "Go on by itself with runs that an earlier daemon left in the middle.")
	b.Flag(&c.StopWorkspaces, "stop-workspaces", "", "", "Stop the containers of workspaces when the daemon ends; otherwise they run on.")
	b.Include(&c.StoreFlags)
}

// daemonParts are the daemon, but for its listeners.
//
//	store ◄─ sessions ─ witness ─► hub ─┐
//	            │                       ├─► daemon.Server ◄─ auth
//	          runs ─ maker ─► agents ───┘
type daemonParts struct {
	home     string
	store    stores.Ref
	log      *slog.Logger
	sessions *session.Sessions
	hub      *feed.Hub
	runs     *runs.Runs
	spaces   *workspace.Workspaces
	auth     *auth.Auth
	server   *daemon.Server
	giveUp   func() // nobody waits for the store any more

	closers []func()
}

func (c *daemonRunCmd) Run(ctx context.Context, p *command.Program) error {
	home, err := p.Home()
	if err != nil {
		return err
	}
	release, err := c.lock(p, home)
	if err != nil {
		return err
	}
	defer release()
	d := &daemonParts{home: home, log: c.logger(p), giveUp: func() {}}
	defer d.close()
	if err := c.assemble(ctx, p, d); err != nil {
		return err
	}
	return c.serve(ctx, p, d)
}

// assemble makes the parts; d is closed by the caller, also after an error.
func (c *daemonRunCmd) assemble(ctx context.Context, p *command.Program, d *daemonParts) error {
	var err error
	if d.store, err = stores.Parse(p.Environment(), c.Store); err != nil {
		return err
	}
	d.hub = feed.New(&feed.Options{Clock: p.Now})
	store, err := stores.Open(ctx, p.Environment(), d.store.Again(), &stores.Options{Witness: d.hub.Witness, Mirror: true, Wait: c.wait(d.log)})
	if err != nil {
		return err
	}
	sessions := store.Sessions
	d.sessions = sessions
	d.later(store.Close)
	if patient, ok := session.As[*retry.Store](sessions.Store()); ok {
		d.giveUp = patient.GiveUp
	}
	d.hub.Serve(sessions)
	d.later(func() { _ = d.hub.Close() })
	told, err := otel.New(ctx, &otel.Options{Env: p.Getenv, Version: version.Release, Clock: p.Now})
	if err != nil {
		return err
	}
	d.later(func() {
		if err := told.Shutdown(context.WithoutCancel(ctx)); err != nil {
			d.log.Warn("telemetry", "error", err)
		}
	})
	if d.spaces, err = d.openSpaces(ctx, p, c.StopWorkspaces); err != nil {
		return err
	}
	agents := &maker{p: p, home: d.home, log: d.log, telemeter: told, spaces: d.spaces, store: store}
	d.runs, err = runs.New(&runs.Options{
		Sessions: sessions, Hub: d.hub, Make: agents.make, Mask: agents.mask, Tools: tools.Known(), Resume: c.Resume, Clock: p.Now, Log: d.log,
	})
	if err != nil {
		return err
	}
	d.later(func() { _ = d.runs.Close() })
	left, err := d.runs.Recover(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		d.log.Info("runs were left in the middle", "runs", left, "resume", c.Resume)
	}
	cleaning, stop := context.WithCancel(context.WithoutCancel(ctx))
	var cleaned sync.WaitGroup
	cleaned.Go(func() { (&cleaner{p: p, sessions: sessions, log: d.log}).run(cleaning) })
	d.later(func() { stop(); cleaned.Wait() })
	return c.front(p, d, told)
}

// wait is how what the daemon does waits for a store that is away, or full.
func (c *daemonRunCmd) wait(log *slog.Logger) *retry.Options {
	o := &retry.Options{For: *c.StoreWait, Full: true, Changed: func(err error, after time.Duration) {
		if err != nil {
			log.Warn("the store is away: what runs waits for it", "for", max(*c.StoreWait, 0).String(), "error", err)
		} else {
			log.Info("the store is back", "after", after.Round(time.Millisecond).String())
		}
	}}
	if o.For == 0 {
		o.For = -1
	}
	return o
}

// front makes what clients see.
func (c *daemonRunCmd) front(p *command.Program, d *daemonParts, told *otel.Telemetry) error {
	log := stores.NewAccessLog(p.Environment())
	ao := auth.Options{Dir: filepath.Join(d.home, "run"), Clock: p.Now, Refuse: daemon.Refuse, Inside: true, Record: log.Add}
	if err := c.authOptions(p, &ao, d.log); err != nil {
		return err
	}
	var err error
	if d.auth, err = auth.New(&ao); err != nil {
		return err
	}
	d.later(func() {
		if err := errors.Join(d.auth.Close(), log.Close()); err != nil {
			d.log.Warn("the audit log of logins", "error", err)
		}
	})
	d.server, err = daemon.New(&daemon.Options{
		Sessions: d.sessions, Hub: d.hub, Runs: d.runs, Auth: d.auth, Console: page.Files(), Version: version.Of().Version,
		Env: p.Environment(), Store: d.store, Metrics: told.Handler(), Clock: p.Now, Log: d.log, Workspaces: d.spaces,
	})
	return err
}

// later has do called when the daemon ends, before what was put off earlier.
func (d *daemonParts) later(do func()) { d.closers = append(d.closers, do) }

// close ends what was made, in reverse order.
func (d *daemonParts) close() {
	for _, end := range slices.Backward(d.closers) {
		end()
	}
	d.closers = nil
}
