// Package runtime opens the resources that runs share and creates their agents: the session store
// with its hub, the workspaces, and telemetry.
//
//	Config ─┬─ New, which opens the store last ─┬─► Runtime ─┬─ Agent: an agent with its session
//	        └─ Open ────────────────────────────┘            └─ Make, Mask: the parts of an agent, for the daemon's runs
//
// Package holdfast and the daemon open one Runtime for all runs; `holdfast run` creates one for its
// agent:
//
//	rt, err := runtime.Open(ctx, &runtime.Config{Env: e})
//	defer rt.Close()
//
// Package compose assembles the parts of an agent.
package runtime

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/otel"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

// Config configures a [Runtime]. Env is required.
type Config struct {
	Env          *env.Env       // the environment; the caller must not change it afterwards
	Store        string         // URL of the store; "" means the store that Env names, or the default store
	SessionStore session.Store  // a store that the program opens and closes; Store is then only the name of that store
	Wait         *retry.Options // how runs wait for an unavailable store; if nil, the setting from the environment applies
	Metrics      bool           // collect telemetry even if it is not exported
	Log          *slog.Logger   // log of runs and workspaces; nil logs nothing
}

// Runtime holds the resources of runs. It is safe for concurrent use.
type Runtime struct {
	Env        *env.Env
	Store      *stores.Store // nil until the store is opened
	Hub        *feed.Hub
	Workspaces *workspace.Workspaces // set only by Open
	Telemetry  *otel.Telemetry       // set only by Open; nil if telemetry is off

	config Config
	home   string
	log    *slog.Logger

	mu         sync.Mutex // held while the store is being opened
	prefetched chan error // receives the result of prefetchStore; nil if prefetchStore was not started
}

// New makes the runtime of one agent. It opens nothing: [Runtime.Agent] opens the store, usually
// after it has created the other parts of the agent. The caller closes the runtime.
func New(c *Config) *Runtime {
	rt := &Runtime{Env: c.Env, Hub: feed.New(&feed.Options{Clock: c.Env.Clock}), config: *c, log: c.Log}
	if rt.log == nil {
		rt.log = slog.New(slog.DiscardHandler)
	}
	return rt
}

// Open opens a runtime. The caller closes it.
func Open(ctx context.Context, c *Config) (*Runtime, error) {
	rt := New(c)
	if err := rt.open(ctx); err != nil {
		return nil, errors.Join(err, rt.Close())
	}
	return rt, nil
}

func (rt *Runtime) open(ctx context.Context) (err error) {
	if _, err = rt.openStore(ctx); err != nil {
		return err
	}
	e := rt.Env
	if rt.config.Metrics || otel.Enabled(e.Lookup) {
		if rt.Telemetry, err = compose.OpenTelemetry(ctx, e); err != nil {
			return err
		}
	}
	if rt.home, err = e.Home(); err != nil {
		return err
	}
	rt.Workspaces, err = workspace.New(rt.home, &workspace.Options{Sessions: rt.Store.Sessions, Clock: e.Clock, Log: rt.log})
	return err
}

// openStore returns the store, and opens it if needed.
func (rt *Runtime) openStore(ctx context.Context) (*stores.Store, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.prefetched != nil {
		err := <-rt.prefetched
		rt.prefetched = nil
		return rt.Store, err
	}
	if rt.Store != nil {
		return rt.Store, nil
	}
	err := rt.openNow(ctx)
	return rt.Store, err
}

// prefetchStore starts to open a store while the parts of the agent are created. It does so only
// for a store that is an existing single file. Any other store is opened after them, so that an
// invalid spec creates no store.
func (rt *Runtime) prefetchStore(ctx context.Context) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.Store != nil || rt.prefetched != nil || rt.config.SessionStore != nil {
		return
	}
	ref, err := stores.Parse(rt.Env, rt.config.Store)
	if err != nil || ref.Database() == "" {
		return
	}
	if _, err := os.Stat(ref.Database()); err != nil {
		return
	}
	done := make(chan error, 1)
	go func() { done <- rt.openNow(ctx) }()
	rt.prefetched = done
}

func (rt *Runtime) openNow(ctx context.Context) (err error) {
	c := &rt.config
	opts := &stores.Options{Mirror: true, Wait: c.Wait, WrapObserver: rt.Hub.WrapObserver}
	if opts.Wait == nil {
		if opts.Wait, err = stores.WaitOptions(rt.Env); err != nil {
			return err
		}
	}
	if c.SessionStore != nil {
		rt.Store, err = stores.Use(ctx, rt.Env, c.Store, c.SessionStore, opts)
	} else {
		rt.Store, err = stores.Open(ctx, rt.Env, c.Store, opts)
	}
	if err != nil {
		return err
	}
	rt.Hub.Serve(rt.Store.Sessions)
	return nil
}

// Sessions returns the sessions of the store.
func (rt *Runtime) Sessions() *session.Sessions { return rt.Store.Sessions }

// Close closes the open resources. Close the agents first.
func (rt *Runtime) Close() error {
	var err error
	if rt.Workspaces != nil {
		err = rt.Workspaces.Close()
	}
	if rt.Telemetry != nil {
		if late := rt.Telemetry.Shutdown(context.Background()); late != nil {
			rt.Env.SendNotice(env.Notice{Text: late.Error(), Hint: outcome.Hint(late)})
		}
	}
	rt.mu.Lock()
	if rt.prefetched != nil {
		<-rt.prefetched
		rt.prefetched = nil
	}
	rt.mu.Unlock()
	err = errors.Join(err, rt.Hub.Close())
	rt.Store.Close()
	return err
}

// Agent creates an agent with its session. The agent works in the workspace in, which the caller
// has opened. If in is nil, it works in the workspace that its spec names, or on this machine.
// askers receive its approval requests and questions. The caller closes the agent.
func (rt *Runtime) Agent(ctx context.Context, r *compose.Request, in *compose.Workspace, askers compose.Askers) (*compose.Agent, error) {
	r.Telemetry = rt.Telemetry
	rt.prefetchStore(ctx)
	if in == nil && r.Spec.Workspace != "" {
		var err error
		if in, err = compose.OpenWorkspace(ctx, rt.Workspaces, r.Spec.Workspace, r.Spec.Container.Agent); err != nil {
			return nil, err
		}
	}
	return compose.New(ctx, r, in, rt.openStore, askers)
}
