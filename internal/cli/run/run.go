package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/keep"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/runtime"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func (c *Cmd) Run(ctx context.Context, p *command.Program) error {
	usual := debug.SetGCPercent(command.OpeningGC)
	settle := sync.OnceFunc(func() { debug.SetGCPercent(usual) })
	defer settle()
	view := c.view(p)
	code, err := c.start(ctx, p, view, settle)
	if err != nil {
		return view.Failed(command.StoppedBy(ctx, err))
	}
	return command.End(code)
}

func (c *Cmd) view(p *command.Program) view.View {
	switch c.OutputFormat {
	case "json", "stream-json":
		return &view.Stream{Program: p, All: c.OutputFormat == "stream-json", Partial: c.IncludePartialMessages, Began: p.Now()}
	}
	return &view.Text{Program: p, Quiet: c.Quiet, Verbose: c.Verbose}
}

// start sets the agent up, runs it, and says how it ended. It calls settle when the
// model has answered twice.
func (c *Cmd) start(ctx context.Context, p *command.Program, view view.View, settle func()) (outcome.Outcome, error) {
	if err := c.check(); err != nil {
		return outcome.Usage, err
	}
	in, err := c.enter(ctx, p)
	if err != nil {
		return outcome.Of(err), err
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
	if err := c.FetchHere(ctx, p); err != nil {
		return outcome.Of(err), err
	}
	if in == nil {
		if err := c.approveServers(ctx, p, cwd); err != nil {
			return outcome.Of(err), err
		}
	}
	if d := c.remote(ctx, p); d != nil {
		defer d.Close()
		settle()
		if out, err := c.runThere(ctx, p, d, cwd, in, input, view); !errors.Is(err, errHere) {
			return out, err
		}
		c.noticeHere(p, "without a prompt it continues only what it was interrupted in", "give a prompt, or add --no-daemon")
	}
	r, err := c.Composed(p, cwd)
	if err != nil {
		return outcome.Of(err), err
	}
	described, err := c.Spec(p, cwd, nil)
	if err != nil {
		return outcome.Of(err), err
	}
	r.Described = &described
	return c.runHere(ctx, p, r, in, input, view, settle)
}

// runHere runs the agent in this process and shows it.
func (c *Cmd) runHere(ctx context.Context, p *command.Program, r *compose.Request, in *compose.Space, input []transcript.Part, view view.View, settle func()) (outcome.Outcome, error) {
	r.Loud, r.Spec.Session, r.Loading = c.Verbose, c.sessionSpec(), command.MakeRoom
	r.Spec.Container = runspec.Container{Agent: c.Agent, Ephemeral: c.Ephemeral}
	r.Spec.Worktree = runspec.Worktree{Enabled: c.Worktree.wanted, Name: c.Worktree.name}
	rt := runtime.New(&runtime.Config{Env: r.Env, Store: c.Store})
	defer func() { _ = rt.Close() }()
	who := compose.People{Entered: c.entered(p)}
	if c.OutputFormat == "text" {
		if person := question.NewAsker(p); person != nil {
			defer person.Close()
			person.KeepAnswers(p.Environment(), placeOf(r.Cwd, in))
			who.Ask, who.Form = person.Ask, person.Form
		}
	}
	a, err := rt.Agent(ctx, r, in, who)
	if err != nil {
		return outcome.Of(err), err
	}
	defer func() { _ = a.Close() }()
	c.Name = a.Masked(c.Name)
	if !c.Quiet {
		runNotices(p, a, c.Verbose)
	}
	view.Begin(c.scene(a, r.Cwd))
	if a.Parts != nil {
		defer func() { leftBehind(p, a.Parts.Tools.Background, c.Quiet) }()
	}
	out, err := c.drive(ctx, c.eventsHere(ctx, rt.Sessions(), a, input), view, settle)
	c.leave(ctx, p, a, out)
	return out, err
}

// placeOf is where the settings are of a run in a folder or a workspace.
func placeOf(cwd string, in *compose.Space) keep.Place {
	if in != nil {
		return keep.Place{Folder: in.Project, Inside: true}
	}
	return keep.Place{Folder: cwd}
}

// scene is what the view is told about an agent.
func (c *Cmd) scene(a *compose.Agent, cwd string) view.Scene {
	if a.Space != nil {
		return c.sceneIn(a.Space, a.Mode)
	}
	m := a.Parts
	info := m.Models.Primary.Info()
	return view.Scene{
		Cwd: cwd, Model: info.String(), KeySource: m.Models.KeySource,
		Mode: a.Mode, Tools: m.Tools.Names(), Servers: wireServers(m.Tools), Offered: m.Tools.Offered(), Args: c.again(),
		Again: c.Store != stores.InMemory && !c.NoPersist && info.Provider != "scripted", // a play has an end
	}
}

// runNotices tells what does not count in a run, and with all which instructions were read.
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

// wireServers are the states of MCP servers as a stream tells them.
func wireServers(b *tools.Toolbox) []view.WireServer {
	list := []view.WireServer{}
	for _, s := range b.ServerStates() {
		list = append(list, view.WireServer{Name: s.Name, Status: s.Status})
	}
	return list
}

// leftBehind says what still goes on in the background when the run is over.
func leftBehind(p *command.Program, b *agent.Background, quiet bool) {
	for _, t := range b.List() {
		if t.Running && !quiet {
			p.Warn("%s %s still goes on in the background: it ends with this run", t.Tool, t.Use)
		}
	}
}

// again is what a command that goes on with the session must say again.
func (c *Cmd) again() string {
	var args strings.Builder
	args.WriteString(command.StoreArg(c.Store))
	for _, f := range [...][2]string{{"--cwd", c.CWD}, {"--workspace", c.Workspace}, {"--agent", c.Agent}, {"--model", c.Model}, {"--base-url", c.BaseURL}} {
		if f[1] != "" {
			args.WriteString(f[0] + " " + term.Quote(f[1]) + " ")
		}
	}
	return args.String()
}

// drive runs one turn and shows it. The end of ctx interrupts the turn, which
// is then saved.
func (c *Cmd) drive(ctx context.Context, events iter.Seq2[event.Event, error], view view.View, settle func()) (outcome.Outcome, error) {
	answers := 0
	for e, err := range events {
		if err != nil {
			return outcome.Of(err), err
		}
		if _, ok := e.(event.UsageUpdated); ok {
			if answers++; answers == 2 { // most runs that end with the first one need no collection
				settle()
			}
		}
		if err := view.Show(e); err != nil {
			return outcome.Failed, fmt.Errorf("write output: %w", err)
		}
		if r, ok := e.(event.Result); ok {
			return command.Ending(ctx, &r), nil
		}
	}
	return outcome.Failed, fmt.Errorf("the run ended without a result")
}

// eventsHere are the events of a run in this process.
func (c *Cmd) eventsHere(ctx context.Context, sessions *session.Sessions, a *compose.Agent, input []transcript.Part) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range a.Run(ctx, input...) {
			if o, ok := e.(event.SessionOpened); ok && !o.Created && c.Name != "" {
				err = sessions.Rename(ctx, o.ID, c.Name)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// sessionSpec is what the flags say about the session.
func (c *Cmd) sessionSpec() runspec.Session {
	return runspec.Session{
		ID: c.SessionID, Resume: c.Resume, Continue: c.Continue, Fork: c.ForkSession, WithGrants: c.WithGrants, At: c.At, Title: c.Name,
		Takeover: c.Takeover, NoPersist: c.NoPersist,
	}
}
