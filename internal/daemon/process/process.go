// Package process runs the daemon as a program. It opens a runtime, serves its runs on sockets
// through package daemon, and shuts everything down in order.
//
//	Config ─► runtime ─► runs ─► daemon.Server ◄─ auth
//	            │                     ▲
//	            └─ containers,        └─ sockets: unix, TCP, those of systemd
//	               old sessions
//
// `holdfast daemon` builds the Config from flags, variables and settings and calls [Run].
package process

import (
	"cmp"
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
	Env   *env.Env // the environment of the daemon; agents get its variables
	Home  string   // of Env
	Store string   // the URL of the store; "" means the store that Env names
	Lock  *listen.Lock
	Log   *slog.Logger

	Listen         []string            // TCP addresses, in addition to the unix socket
	Certificate    *listen.Certificate // the certificate for TCP; nil disables TLS
	AllowedHosts   []string            // host names that TCP clients may use, in addition to the addresses
	AllowedOrigins []string            // additional origins whose web pages may call the daemon

	Drain          time.Duration // how long runs may take to end
	StoreWait      time.Duration // how long runs wait for an unavailable store; 0: they do not wait
	Resume         bool          // resume interrupted runs at the start
	StopWorkspaces bool          // the daemon stops the containers when it ends
	ExitIdle       time.Duration // end when nothing has used the daemon for this time; 0: never

	// Private is a folder for the only socket of a server that belongs to another program. Such a
	// server has no lock, and it leaves signals and daily tasks to the program and to the daemon.
	Private string
	// Ready is called when the sockets are open, with the path of the unix socket. It may be nil.
	Ready func(socket string)
}

// parts are the parts of a running daemon.
type parts struct {
	c             *Config
	rt            *runtime.Runtime
	runs          *runs.Runs
	auth          *auth.Auth
	server        *daemon.Server
	endStoreWaits func() // ends every wait for the store

	closers []func()
}

// Run serves until ctx ends. It returns when all runs have ended or reached a state in which they
// can be continued.
func Run(ctx context.Context, c *Config) error {
	d := &parts{c: c, endStoreWaits: func() {}}
	defer d.close()
	if err := d.assemble(ctx); err != nil {
		return err
	}
	return d.serve(ctx)
}

// assemble creates the parts. The caller closes d, also after an error.
func (d *parts) assemble(ctx context.Context) (err error) {
	c := d.c
	d.rt, err = runtime.Open(ctx, &runtime.Config{Env: c.Env, Store: c.Store, Wait: d.retryOptions(), Metrics: true, Log: c.Log})
	if err != nil {
		return err
	}
	d.onClose(func() {
		if err := d.rt.Close(); err != nil {
			c.Log.Warn("end", "error", err)
		}
	})
	if patient, ok := session.As[*retry.Store](d.rt.Sessions().Store()); ok {
		d.endStoreWaits = patient.GiveUp
	}
	if c.Private == "" {
		d.reconcileContainers(ctx)
	}
	d.runs, err = runs.New(&runs.Options{
		Sessions: d.rt.Sessions(), Hub: d.rt.Hub, Make: d.rt.Make, Mask: d.rt.Mask, Tools: tools.KnownTools(), Resume: c.Resume, Clock: c.Env.Clock, Log: c.Log,
	})
	if err != nil {
		return err
	}
	d.onClose(func() { _ = d.runs.Close() })
	interrupted, err := d.runs.Recover(ctx)
	if err != nil {
		return err
	}
	if len(interrupted) > 0 {
		c.Log.Info("found interrupted runs", "runs", interrupted, "resume", c.Resume)
	}
	if c.Private == "" {
		d.inBackground(ctx, (&cleaner{env: c.Env, sessions: d.rt.Sessions(), log: c.Log}).run)
	}
	return d.frontend()
}

// retryOptions returns how the daemon waits while the store is unavailable or full.
func (d *parts) retryOptions() *retry.Options {
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

// frontend creates the handlers and servers for the clients.
func (d *parts) frontend() (err error) {
	c := d.c
	log := stores.NewAccessLog(c.Env)
	d.auth, err = auth.New(&auth.Options{
		Dir: cmp.Or(c.Private, listen.Dir(c.Home)), Hosts: c.AllowedHosts, Origins: c.AllowedOrigins, Clock: c.Env.Clock, Refuse: daemon.Refuse, Failed: auth.LogRefused(c.Log),
		HasSandboxProxies: true, Record: log.Add,
	})
	if err != nil {
		return err
	}
	d.onClose(func() {
		if err := errors.Join(d.auth.Close(), log.Close()); err != nil {
			c.Log.Warn("cannot close the access log", "error", err)
		}
	})
	d.server, err = daemon.New(&daemon.Options{
		Sessions: d.rt.Sessions(), Hub: d.rt.Hub, Runs: d.runs, Auth: d.auth, Console: console.Files(), Version: version.Current().Version,
		Env: c.Env, Store: d.rt.Store.Ref, Metrics: d.rt.Telemetry.Handler(), Clock: c.Env.Clock, Log: c.Log, Workspaces: d.rt.Workspaces,
	})
	return err
}

// inBackground runs the function do in a goroutine, until the daemon ends.
func (d *parts) inBackground(ctx context.Context, do func(context.Context)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { do(ctx) })
	d.onClose(func() { stop(); done.Wait() })
}

// onClose registers a function to call when the daemon ends, in reverse order of registration.
func (d *parts) onClose(do func()) { d.closers = append(d.closers, do) }

// close calls the registered functions in reverse order.
func (d *parts) close() {
	for _, end := range slices.Backward(d.closers) {
		end()
	}
	d.closers = nil
}
