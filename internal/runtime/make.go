package runtime

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Make is [runs.Options].Make.
func (rt *Runtime) Make(ctx context.Context, n runs.AgentRequest) (*runs.AgentParts, error) {
	e, missing, err := rt.environment(ctx, &n)
	if err != nil {
		return nil, err
	}
	spec := n.Spec
	spec.Instructions.System = cmp.Or(spec.Instructions.System, n.Agent.SystemPrompt)
	spec.Model = cmp.Or(spec.Model, n.Agent.Model)
	if spec.Tools == nil {
		spec.Tools = n.Agent.Tools
	}
	if spec.Limits.MaxTurns == 0 {
		spec.Limits.MaxTurns = n.Agent.MaxSteps
	}
	r := &compose.Request{Env: e, Spec: &spec, Cwd: spec.Cwd, Telemetry: rt.Telemetry}
	if spec.Workspace != "" {
		return rt.inWorkspace(ctx, r, &n)
	}
	if n.Agent.Type == strategy.Command {
		return rt.command(ctx, r, &n)
	}
	rules, err := compose.Settings(r)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(spec.Model, models.Default(e, rules))
	if name == "" {
		return nil, models.NoModelError("agent " + n.Agent.Name + ": no model is set")
	}
	for _, name := range []string{name, spec.ModelOptions.Fallback} {
		if key := models.KeyVariable(models.Provider(name), rules); slices.Contains(missing, key) && !models.HasStoredKey(e, models.Provider(name), rules) {
			return nil, &outcome.Failure{
				Message: "the run was started with " + key + " from its caller's environment; the daemon does not store values and no longer has this one",
				Advice:  "resume it in that environment: holdfast run --resume " + n.Run + "; or set " + key + " for the daemon, or start runs with --env-from " + key + "=keyring:SERVICE/USER",
				Result:  outcome.Usage,
			}
		}
	}
	made, err := rt.finish(ctx, r, &n)
	if err == nil && len(missing) > 0 {
		attach := made.Attach
		made.Attach = func(a *agent.Agent) {
			attach(a)
			a.Notice("variables of the run are missing because the daemon restarted: " + strings.Join(missing, ", "))
		}
	}
	return made, err
}

func (rt *Runtime) finish(ctx context.Context, r *compose.Request, n *runs.AgentRequest) (*runs.AgentParts, error) {
	parts, err := compose.Make(ctx, r)
	if err != nil {
		return nil, err
	}
	parts.UseStore(rt.Store)
	list := parts.Notices()
	r.Env.SendNotice(list...)
	made := &runs.AgentParts{Model: parts.Models.Primary, Options: parts.Options, Close: parts.Close, Attach: func(a *agent.Agent) {
		parts.Attach(a)
		if n.Actor.Via == viaCLI { // the command line has shown the notices itself
			return
		}
		for _, notice := range list {
			a.Notice(notice.String())
		}
	}}
	if r.Spec.Worktree.Enabled {
		if err := parts.Tools.CheckWorktree(); err != nil {
			parts.Close()
			return nil, err
		}
		useWorktree(ctx, r, parts.Tools, made)
	}
	return made, nil
}

// useWorktree lets an agent work in a worktree. When the run completes, the worktree is removed if
// nothing would be lost.
func useWorktree(ctx context.Context, r *compose.Request, b *tools.Toolbox, made *runs.AgentParts) {
	enter := b.EnterWorktree(r.Spec.Worktree.Name, "run")
	made.Options.EnterDir = func(ctx context.Context) (dir, text string, err error) {
		dir, text, err = enter(ctx)
		if a := agent.FromContext(ctx); err == nil && a != nil {
			a.Notice("in the worktree " + b.Checkout().Path + ", on the branch " + b.Checkout().Branch)
		}
		return dir, text, err
	}
	made.BeforeClose = func(completed bool) {
		if text := b.LeaveWorktree(context.WithoutCancel(ctx), !completed); text != "" {
			r.Env.Warn("%s", text)
		}
	}
}

// viaCLI is the Via value for this program's command line when it is used as a client.
const viaCLI = "cli"

// environment returns the client's environment: its folder and variables, together with the home
// and the store of the runtime. Without the client, after a restart, it returns the runtime's
// environment. The result missing then contains the names of the client's variables that the
// runtime does not have. Notices are logged.
func (rt *Runtime) environment(ctx context.Context, n *runs.AgentRequest) (_ *env.Env, missing []string, err error) {
	e := *rt.Env
	e.Getwd = func() (string, error) { return n.Spec.Cwd, nil }
	e.Notify = func(notice env.Notice) { rt.log.Info(notice.String(), "run", n.Run) }
	if n.Environ != nil {
		e.Vars = append(env.WithoutServiceVariables(n.Environ), "HOLDFAST_HOME="+rt.home)
		e.Commands = e.Vars
	} else {
		missing = e.Missing(&n.Spec.Environment)
	}
	return &e, missing, e.ResolveReferences(ctx, n.Spec.Environment.References)
}

// Mask is [runs.Options].Mask: it returns the masker of the settings of a folder and a run.
func (rt *Runtime) Mask(_ context.Context, cwd string, more []string) (*secret.Masker, error) {
	for _, file := range more {
		if info, err := os.Stat(file); !jsontree.StartsObject(file) && err == nil && !info.Mode().IsRegular() { // reading a pipe would block
			return nil, outcome.Invalid("the settings "+file+" are not a regular file", "")
		}
	}
	s, err := rt.Env.Settings(cwd, more)
	if err != nil {
		return nil, err
	}
	return s.Masker()
}
