// Package process is the daemon as a program: it opens a runtime, has its runs served by package
// daemon on sockets, and ends all of it in order.
//
//	Config ─► runtime ─► runs ─► daemon.Server ◄─ auth
//	            │                     ▲
//	            └─ containers,        └─ sockets: unix, TCP, those of systemd
//	               old sessions
//
// `holdfast daemon` makes the config of flags, variables and settings, and calls [Run].
package process

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/console"
	"github.com/holdfast-dev/holdfast/internal/daemon"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/runtime"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/session"
)

// Config is the setup of a daemon.
type Config struct {
	Env   *env.Env // whose daemon it is; agents get its variables
	Home  string   // of Env
	Store string   // URL of the store; "" is the one of Env
	Lock  *listen.Lock
	Log   *slog.Logger

	Listen         []string            // TCP addresses, beside the unix socket
	Certificate    *listen.Certificate // of TCP; nil: it is not encrypted
	AllowedHosts   []string            // names under which TCP clients call, beside the addresses
	AllowedOrigins []string            // other origins whose pages may call

	Drain          time.Duration // how long what runs may take to end
	StoreWait      time.Duration // how long runs wait for a store that is away; 0: they do not
	Resume         bool          // runs that were left in the middle go on by themselves
	StopWorkspaces bool          // containers stop when the daemon ends
}

// parts are a daemon that runs.
type parts struct {
	c        *Config
	rt       *runtime.Runtime
	runs     *runs.Runs
	auth     *auth.Auth
	server   *daemon.Server
	deadline func() // nobody waits for the store any more

	closers []func()
}

// Run serves until ctx ends, and returns when what runs has ended or stands where it
// can be continued.
func Run(ctx context.Context, c *Config) error {
	d := &parts{c: c, deadline: func() {}}
	defer d.close()
	if err := d.assemble(ctx); err != nil {
		return err
	}
	return d.serve(ctx)
}

// assemble makes the parts; d is closed by the caller, also after an error.
func (d *parts) assemble(ctx context.Context) (err error) {
	c := d.c
	d.rt, err = runtime.Open(ctx, &runtime.Config{Env: c.Env, Store: c.Store, Wait: d.wait(), Metrics: true, Log: c.Log})
	if err != nil {
		return err
	}
	d.onClose(func() {
		if err := d.rt.Close(); err != nil {
			c.Log.Warn("end", "error", err)
		}
	})
	if patient, ok := session.As[*retry.Store](d.rt.Sessions().Store()); ok {
		d.deadline = patient.GiveUp
	}
	d.reconcileContainers(ctx)
	d.runs, err = runs.New(&runs.Options{
		Sessions: d.rt.Sessions(), Hub: d.rt.Hub, Make: d.rt.Make, Mask: d.rt.Mask, Tools: tools.KnownTools(), Resume: c.Resume, Clock: c.Env.Clock, Log: c.Log,
	})
	if err != nil {
		return err
	}
	d.onClose(func() { _ = d.runs.Close() })
	left, err := d.runs.Recover(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		c.Log.Info("found interrupted runs", "runs", left, "resume", c.Resume)
	}
	d.inBackground(ctx, (&cleaner{env: c.Env, sessions: d.rt.Sessions(), log: c.Log}).run)
	return d.frontend()
}

// wait is how what the daemon does waits for a store that is away, or full.
func (d *parts) wait() *retry.Options {
	log, most := d.c.Log, d.c.StoreWait
	o := &retry.Options{Timeout: most, RetryFull: true, Changed: func(err error, after time.Duration) {
		if err != nil {
			log.Warn("the store is unreachable; runs wait for it", "for", max(most, 0).String(), "error", err)
		} else {
			log.Info("the store is reachable again", "after", after.Round(time.Millisecond).String())
		}
	}}
	if o.Timeout == 0 {
		o.Timeout = -1
	}
	return o
}

// frontend makes what clients see.
func (d *parts) frontend() (err error) {
	c := d.c
	log := stores.NewAccessLog(c.Env)
	d.auth, err = auth.New(&auth.Options{
		Dir: listen.Dir(c.Home), Hosts: c.AllowedHosts, Origins: c.AllowedOrigins, Clock: c.Env.Clock, Refuse: daemon.Refuse, Failed: auth.LogRefused(c.Log),
		Inside: true, Record: log.Add,
	})
	if err != nil {
		return err
	}
	d.onClose(func() {
		if err := errors.Join(d.auth.Close(), log.Close()); err != nil {
			c.Log.Warn("the audit log of logins", "error", err)
		}
	})
	d.server, err = daemon.New(&daemon.Options{
		Sessions: d.rt.Sessions(), Hub: d.rt.Hub, Runs: d.runs, Auth: d.auth, Console: console.Files(), Version: version.Current().Version,
		Env: c.Env, Store: d.rt.Store.Ref, Metrics: d.rt.Telemetry.Handler(), Clock: c.Env.Clock, Log: c.Log, Workspaces: d.rt.Workspaces,
	})
	return err
}

// inBackground runs do until the daemon ends.
func (d *parts) inBackground(ctx context.Context, do func(context.Context)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { do(ctx) })
	d.onClose(func() { stop(); done.Wait() })
}

// onClose has do called when the daemon ends, before what was put off earlier.
func (d *parts) onClose(do func()) { d.closers = append(d.closers, do) }

// close ends what was made, in reverse order.
func (d *parts) close() {
	for _, end := range slices.Backward(d.closers) {
		end()
	}
	d.closers = nil
}
