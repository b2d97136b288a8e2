// Package holdfast runs AI agents with durable sessions, a permission policy and a kernel sandbox.
//
//	Config ─► Open ─► Runtime ─┬─ Start(RunSpec), Resume, Fork ─► Run ─► Events, Send, Answer, Interrupt, Stop, Wait
//	                           ├─ Attach: a run of another process
//	                           └─ Sessions, Approvals, Policy
//
// A run works like a run of the command `holdfast run`: it uses the settings files of its folder
// and user, the permission policy, the kernel sandbox, hooks, MCP servers, the built-in tools, the
// audit trail and telemetry. Everything is recorded before it takes effect, so a run can be resumed
// after kill -9:
//
//	rt, err := holdfast.Open(ctx, &holdfast.Config{Approve: ask})
//	defer rt.Close()
//	run, err := rt.Start(ctx, holdfast.RunSpec{Model: "anthropic/claude-sonnet-4-6", Prompt: "fix the tests"})
//	for e, err := range run.Events(ctx, 0) { … }
//	result, err := run.Wait(ctx)
//
// If the program is built with -race, the sandbox starts a copy of it for each command. The copy runs
// the init functions of some packages, but not main.
//
// Strategies of several agents run only in the daemon; use package daemon/client for them.
package holdfast

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/runtime"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// RunSpec describes a run as data.
type RunSpec = runspec.Spec

// ErrClosed is returned by a [Runtime] or a [Run] that was closed.
var ErrClosed = errors.New("the runtime is closed")

// Config configures a [Runtime]. The zero value is valid: it is the setup of the holdfast command.
type Config struct {
	// Home is the folder of sessions, settings and the audit trail; "" means the variable
	// HOLDFAST_HOME or, if that is not set, ~/.holdfast.
	Home string
	// Store is the URL of the session store (docs/stores.md). "" means the URL in the variable
	// HOLDFAST_STORE or, if that is not set, the database sessions.db in Home. A memory store loses
	// everything when the program ends and has no audit trail.
	Store string
	// Dir is the working folder of runs whose spec names none; "" means the current directory.
	Dir string
	// Env is the environment of runs and their commands, as "NAME=value"; nil means the
	// environment of the process.
	Env []string

	// SessionStore is a store that the program opened and will close. If it is set, Store is only
	// its name, such as "host:orders"; "" means "host:".
	SessionStore session.Store
	// Model and Fallback answer in every run, instead of the models in the specs.
	Model, Fallback model.Model
	// Tools are added to the built-in tools. Their calls are judged like all others.
	Tools []tool.Tool
	// Approve answers approval requests. It must return when ctx ends: another program answered,
	// the request expired, or the run was interrupted. An error denies the call, except for
	// [approval.ErrSuspend]: it leaves the request open and ends the run, which can be resumed. If
	// Approve is nil, the setting permissions.onAsk decides: deny, wait or fail. While a request
	// waits, [Run.Answer], the console or `holdfast approvals` can answer it.
	Approve func(ctx context.Context, q approval.Request) (approval.Answer, error)
	// Notify receives messages for the user that do not stop a run, such as messages about ignored
	// settings or a limited sandbox. It may be called from any goroutine. Nil drops the messages.
	Notify func(text string)
}

// Runtime starts runs and gives access to their sessions. It is safe for concurrent use.
type Runtime struct {
	config Config
	parts  *runtime.Runtime

	ctx  context.Context // the context of all runs; Close ends it
	stop context.CancelFunc

	mu     sync.Mutex
	runs   map[string]*Run // the runs, by the id of their session
	closed bool
}

// Open opens the session store and everything that belongs to it. A nil c is the zero [Config].
// The caller closes the runtime.
func Open(ctx context.Context, c *Config) (*Runtime, error) {
	rt := &Runtime{runs: map[string]*Run{}}
	if c != nil {
		rt.config = *c
	}
	c = &rt.config
	c.Tools = slices.Clone(c.Tools)
	var err error
	rt.parts, err = runtime.Open(ctx, &runtime.Config{Env: c.env(), Store: c.Store, SessionStore: c.SessionStore})
	if err != nil {
		return nil, err
	}
	rt.ctx, rt.stop = context.WithCancel(context.WithoutCancel(ctx))
	return rt, nil
}

// env is the environment of runs.
func (c *Config) env() *env.Env {
	e := &env.Env{Vars: slices.Clone(c.Env)}
	if c.Env == nil {
		e.Vars = os.Environ()
	}
	if c.Home != "" {
		e.Vars = append(e.Vars, "HOLDFAST_HOME="+c.Home)
	}
	e.Commands = e.Vars
	if c.Dir != "" {
		e.Getwd = func() (string, error) { return c.Dir, nil }
	}
	if c.Notify != nil {
		e.Notify = func(n env.Notice) { c.Notify(n.String()) }
	}
	return e
}

// Close stops all runs as [Run.Stop] does, and closes the store. A second Close does nothing.
func (rt *Runtime) Close() error {
	rt.mu.Lock()
	if rt.closed {
		rt.mu.Unlock()
		return nil
	}
	rt.closed = true
	var err error
	runs := rt.list()
	rt.mu.Unlock()
	for _, r := range runs {
		err = errors.Join(err, r.Stop(context.Background()))
	}
	rt.stop()
	return errors.Join(err, rt.parts.Close())
}

// list returns the runs of this process. The caller holds rt.mu.
func (rt *Runtime) list() (list []*Run) {
	for _, r := range rt.runs {
		list = append(list, r)
	}
	return list
}

// Sessions returns the sessions of the store, to list, search, export, rename or delete them.
func (rt *Runtime) Sessions() *session.Sessions { return rt.parts.Sessions() }
