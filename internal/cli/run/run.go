package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/runtime"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func (c *Cmd) Run(ctx context.Context, p *command.Program) error {
	usual := debug.SetGCPercent(command.StartupGCPercent)
	settle := sync.OnceFunc(func() { debug.SetGCPercent(usual) })
	defer settle()
	ctx, cancel := context.WithCancelCause(ctx)
	defer func() {
		cancel(nil)
		c.typed.stop(c.ResumeArgs())
	}()
	view := c.view(p)
	code, err := c.start(ctx, p, view, settle, cancel)
	if err != nil {
		return view.RenderError(command.CauseOf(ctx, err))
	}
	return command.End(code)
}

func (c *Cmd) view(p *command.Program) view.View {
	switch c.OutputFormat {
	case "json", "stream-json":
		return &view.Stream{Program: p, All: c.OutputFormat == "stream-json", Partial: c.IncludePartialMessages, StartedAt: p.Clock()}
	}
	return &view.Text{Program: p, Quiet: c.Quiet, Verbose: c.Verbose}
}

// start composes the agent, runs it, and returns the outcome. It calls settle when the model has
// answered twice. Esc calls cancel.
func (c *Cmd) start(ctx context.Context, p *command.Program, view view.View, settle func(), cancel context.CancelCauseFunc) (outcome.Outcome, error) {
	if err := c.check(); err != nil {
		return outcome.Usage, err
	}
	in, err := c.OpenWorkspace(ctx, p)
	if err != nil {
		return outcome.FromError(err), err
	}
	var cwd string
	if in != nil {
		defer in.Close()
		cwd = in.Project
	} else if cwd, err = p.Folder(c.CWD); err != nil {
		return outcome.Usage, err
	}
	input, err := c.input(ctx, p)
	if err != nil {
		return outcome.Usage, err
	}
	if err := c.ResolveEnv(ctx, p); err != nil {
		return outcome.FromError(err), err
	}
	if in == nil {
		if err := c.approveServers(ctx, p, cwd); err != nil {
			return outcome.FromError(err), err
		}
	}
	c.typed = c.listen(ctx, p, cancel)
	if d := c.remote(ctx, p); d != nil {
		defer d.Close()
		settle()
		if out, err := c.runRemote(ctx, p, d, cwd, in, input, view); !errors.Is(err, errRunLocally) {
			return out, err
		}
		c.localNotice(p, "without a prompt, the daemon can resume only an interrupted run", "give a prompt, or add --no-daemon")
	}
	r, err := c.ComposeOptions(p, cwd)
	if err != nil {
		return outcome.FromError(err), err
	}
	described, err := c.Spec(p, cwd, nil)
	if err != nil {
		return outcome.FromError(err), err
	}
	r.RecordSpec = &described
	return c.runLocal(ctx, p, r, in, input, view, settle)
}

// check rejects flags that contradict each other.
func (c *Cmd) check() error {
	switch {
	case c.IncludePartialMessages && c.OutputFormat != "stream-json":
		return outcome.Invalid("--include-partial-messages needs --output-format stream-json", "")
	case c.Quiet && c.Verbose:
		return outcome.Invalid("--quiet and --verbose cannot be used together", "")
	}
	return c.Check()
}

// runLocal runs the agent in this process and shows it.
func (c *Cmd) runLocal(ctx context.Context, p *command.Program, r *compose.Request, in *compose.Workspace, input []transcript.Part, view view.View, settle func()) (outcome.Outcome, error) {
	r.Verbose, r.Spec.Session, r.Loading = c.Verbose, c.SessionSpec(), command.ReserveHeap
	r.Spec.Container = runspec.Container{Agent: c.Agent, Ephemeral: c.Ephemeral}
	r.Spec.Worktree = runspec.Worktree{Enabled: c.Worktree.Set, Name: c.Worktree.Name}
	rt := runtime.New(&runtime.Config{Env: r.Env, Store: c.Store})
	defer func() { _ = rt.Close() }()
	who := compose.Askers{OnWorkspace: c.worktreePrinter(p)}
	if c.OutputFormat == "text" {
		if asker := question.NewAsker(p); asker != nil {
			defer asker.Close()
			asker.EnableSaving(p.Environment(), settingsTarget(r.Cwd, in))
			who.Ask, who.Form = asker.Ask, asker.Form
		}
	}
	a, err := rt.Agent(ctx, r, in, who)
	if err != nil {
		return outcome.FromError(err), err
	}
	defer func() { _ = a.Close() }()
	c.Name = a.Masked(c.Name)
	if !c.Quiet {
		runNotices(p, a, c.Verbose)
	}
	view.Start(c.header(a, r.Cwd))
	if a.Parts != nil {
		defer func() { backgroundNotice(p, a.Parts.Tools.Background, c.Quiet) }()
	}
	out, err := c.drive(ctx, c.localEvents(ctx, rt.Sessions(), a, input), view, settle)
	c.leaveWorktree(ctx, p, a, out)
	return out, err
}

// settingsTarget returns the location of the settings for a run, which is in a folder or in a workspace.
func settingsTarget(cwd string, in *compose.Workspace) saverule.Target {
	if in != nil {
		return saverule.Target{Folder: in.Project, Inside: true}
	}
	return saverule.Target{Folder: cwd}
}

// header returns the view's header for an agent.
func (c *Cmd) header(a *compose.Agent, cwd string) view.Header {
	if a.Workspace != nil {
		return c.workspaceHeader(a.Workspace, a.Mode)
	}
	m := a.Parts
	info := m.Models.Primary.Info()
	return view.Header{
		Cwd: cwd, Model: info.String(), KeySource: m.Models.KeySource,
		Mode: a.Mode, Tools: m.Tools.Names(), Servers: wireServers(m.Tools), Offered: m.Tools.Offered(), ResumeArgs: c.ResumeArgs(),
		CanResume: c.Store != stores.InMemory && !c.NoPersist && info.Provider != "scripted", // a model script contains no answers for a resumed session
	}
}

// runNotices prints which settings are ignored. If all is true, it also prints which instruction
// files were read.
func runNotices(p *command.Program, a *compose.Agent, all bool) {
	p.SettingsNotices(a.Settings())
	if a.Parts == nil {
		return
	}
	b := a.Parts.Tools
	if all && b.Instructions != nil {
		view.ShowInstructions(p, p.Err, b.Instructions.Files())
	}
	p.Notices(b.Notices())
}

// wireServers returns the states of MCP servers in the format of the event stream.
func wireServers(b *tools.Toolbox) []view.WireServer {
	list := []view.WireServer{}
	for _, s := range b.ServerStates() {
		list = append(list, view.WireServer{Name: s.Name, Status: s.Status})
	}
	return list
}

// backgroundNotice warns about tasks that still run in the background when the run ends.
func backgroundNotice(p *command.Program, b *agent.Background, quiet bool) {
	for _, t := range b.List() {
		if t.Running && !quiet {
			p.Warn("%s %s is still running in the background; it is stopped when this run ends", t.Tool, t.UseID)
		}
	}
}

// drive shows a turn, and further turns while there is input that the user has typed. When ctx ends,
// the turn is interrupted and saved.
func (c *Cmd) drive(ctx context.Context, events iter.Seq2[event.Event, error], view view.View, settle func()) (outcome.Outcome, error) {
	answers := 0
	var last *event.Result
	for e, err := range events {
		if err != nil {
			return outcome.FromError(err), err
		}
		if _, ok := e.(event.UsageUpdated); ok {
			if answers++; answers == 2 { // a run that ends with the first answer usually needs no garbage collection
				settle()
			}
		}
		if !c.typed.observe(e) {
			continue
		}
		if err := view.Render(e); err != nil {
			return outcome.Failed, fmt.Errorf("write output: %w", err)
		}
		if r, ok := e.(event.Result); ok {
			if last = &r; c.typed.more(&r) {
				continue
			}
			return command.ExitWith(ctx, &r), nil
		}
	}
	if last != nil {
		return command.ExitWith(ctx, last), nil
	}
	return outcome.Failed, fmt.Errorf("the run ended without a result")
}

// localEvents returns the events of a run in this process. A reader that continues after a result
// starts the next turn with the queued input.
func (c *Cmd) localEvents(ctx context.Context, sessions *session.Sessions, a *compose.Agent, input []transcript.Part) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		c.typed.receive(receiver{
			send:    func(ctx context.Context, text string) error { return a.Submit(ctx, transcript.Text{Text: text}) },
			pending: func() bool { return len(a.Snapshot().Pending) > 0 },
			masked:  a.Masked,
		})
		for more := true; more; input = nil {
			more = false
			for e, err := range a.Run(ctx, input...) {
				if o, ok := e.(event.SessionOpened); ok && !o.Created && c.Name != "" {
					err = sessions.Rename(ctx, o.ID, c.Name)
				}
				if !yield(e, err) {
					return
				}
				_, more = e.(event.Result)
			}
		}
	}
}
