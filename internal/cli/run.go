package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// runCmd is `holdfast run`.
type runCmd struct {
	Prompt string `arg:"" optional:"" help:"What to do; - or nothing reads standard input, which is also added to a prompt when it is not a terminal."`

	agentFlags

	Continue    bool   `short:"c" group:"session" help:"Go on with the newest session of this project."`
	Resume      string `short:"r" placeholder:"ID|NAME" group:"session" help:"Go on with this session."`
	SessionID   string `name:"session-id" placeholder:"ID" group:"session" help:"Use this session; it is created when there is none."`
	ForkSession bool   `group:"session" help:"Go on in a fork; the session stays as it is."`
	WithGrants  bool   `group:"session" help:"With --fork-session: begin with what was decided in the session."`
	At          string `placeholder:"ITEM" group:"session" help:"Go back to this item first."`
	Name        string `placeholder:"TITLE" group:"session" help:"Give the session a title."`
	Takeover    bool   `group:"session" help:"Take the session from a process that holds it."`
	NoPersist   bool   `name:"no-session-persistence" group:"session" help:"Write nothing to the session."`
	NoDaemon    bool   `name:"no-daemon" group:"session" help:"Run here, also when a daemon serves this home; or HOLDFAST_NO_DAEMON=1."`
	storeFlags  `group:"session"`

	Worktree worktreeFlag `group:"work" help:"Work in a git worktree, on a branch of its own: --worktree=NAME, or one for this session. It is taken away in the end when nothing in it would be lost."`

	workspaceRunFlags
	space *workspace.Settings // that the run happens in; nil: on this machine

	OutputFormat           string `placeholder:"FORMAT" enum:"text,json,stream-json" default:"text" group:"output" help:"text, json or stream-json."`
	IncludePartialMessages bool   `group:"output" help:"With stream-json: stream_event lines while the model writes."`
	Quiet                  bool   `short:"q" group:"output" help:"Print the answer and errors only."`
	Verbose                bool   `short:"v" group:"output" help:"Print thinking and what tools returned, too."`
}

func (c *runCmd) run(ctx context.Context, p *Program) error {
	usual := debug.SetGCPercent(openingGC)
	settle := sync.OnceFunc(func() { debug.SetGCPercent(usual) })
	defer settle()
	view := c.view(p)
	code, err := c.start(ctx, p, view, settle)
	if err != nil {
		return view.failed(stopped(ctx, err))
	}
	return end(code)
}

// start sets the agent up, runs it, and says how it ended. It calls settle when the
// model has answered.
func (c *runCmd) start(ctx context.Context, p *Program, view view, settle func()) (outcome.Outcome, error) {
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
	} else if cwd, err = p.folder(c.CWD); err != nil {
		return outcome.Usage, err
	}
	input, err := c.input(ctx, p)
	if err != nil {
		return outcome.Usage, err
	}
	if err := c.fetchHere(ctx, p); err != nil {
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
		if out, err := c.startRemote(ctx, p, d, cwd, in, input, view); !errors.Is(err, errHere) {
			return out, err
		}
	}
	if in != nil {
		return c.runIn(ctx, p, in, input, view, settle)
	}
	r, err := c.composed(p, cwd)
	if err != nil {
		return outcome.Of(err), err
	}
	r.Loud = c.Verbose
	m, err := compose.Make(ctx, r)
	if err != nil {
		return outcome.Of(err), err
	}
	defer m.Close()
	c.Name, _ = m.Options.Mask.Text(c.Name)
	wait, err := stores.Patient(p.environment())
	if err != nil {
		return outcome.Of(err), err
	}
	store, err := stores.Open(ctx, r.Env, c.Store, &stores.Options{Mirror: true, Wait: wait})
	if err != nil {
		return outcome.Failed, err
	}
	defer store.Close()
	m.UseStore(store)
	sessions := store.Sessions
	o := m.Options
	o.Sessions, o.NoPersist = sessions, c.NoPersist
	if o.Session, err = c.session(ctx, sessions, cwd); err != nil {
		return outcome.Of(err), err
	}
	o.Ask = unattended(m.Settings.OnAsk.Value)
	if c.OutputFormat == "text" {
		if person := p.asker(); person != nil {
			defer person.close()
			o.Ask, m.Tools.Form = person.ask, person.form
		}
	}
	leave, err := c.apart(p, m.Tools, &o)
	if err != nil {
		return outcome.Of(err), err
	}
	a, err := agent.New(m.Models.Primary, &o)
	if err != nil {
		return outcome.Usage, err
	}
	m.Attach(a)
	defer func() { _ = a.Close() }()
	if !c.Quiet {
		p.runNotices(m, c.Verbose)
	}
	view.begin(scene{
		cwd: cwd, model: m.Models.Primary.Info().String(), keySource: m.Models.KeySource,
		mode: a.Mode, tools: m.Tools.Names(), servers: wireServers(m.Tools), offered: m.Tools.Offered(), args: c.again(),
		again: c.Store != stores.InMemory && !c.NoPersist && m.Models.Primary.Info().Provider != "scripted", // a play has an end
	})
	defer func() { p.leftBehind(m.Tools.Background, c.Quiet) }()
	out, err := c.drive(ctx, sessions, agent.Working{Agent: a}, input, view, settle)
	leave(ctx, out)
	return out, err
}

// runNotices tells what does not count in a run, and with all which instructions were read.
func (p *Program) runNotices(m *compose.Parts, all bool) {
	p.notice(m.Settings)
	if all && m.Tools.Instructions != nil {
		p.showInstructions(p.err, m.Tools.Instructions.Files())
	}
	p.notices(m.Tools.Notices())
}

// wireServers are the states of MCP servers as a stream tells them.
func wireServers(b *tools.Toolbox) []wireServer {
	list := []wireServer{}
	for _, s := range b.ServerStates() {
		list = append(list, wireServer{Name: s.Name, Status: s.Status})
	}
	return list
}

// leftBehind says what still goes on in the background when the run is over.
func (p *Program) leftBehind(b *agent.Background, quiet bool) {
	for _, t := range b.List() {
		if t.Running && !quiet {
			p.warn("%s %s still goes on in the background: it ends with this run", t.Tool, t.Use)
		}
	}
}

// again is what a command that goes on with the session must say again.
func (c *runCmd) again() string {
	var args strings.Builder
	args.WriteString(storeArg(c.Store))
	for _, f := range [...][2]string{{"--cwd", c.CWD}, {"--workspace", c.Workspace}, {"--agent", c.Agent}, {"--model", c.Model}, {"--base-url", c.BaseURL}} {
		if f[1] != "" {
			args.WriteString(f[0] + " " + quoteArg(f[1]) + " ")
		}
	}
	return args.String()
}

// openingGC is the garbage collector's percentage until the first answer. A
// session's transcript is allocated once and stays; to look for garbage in it
// again and again while the heap grows is a good part of a long resume, and to look once
// in what the start allocates is a part of a short run.
const openingGC = 400

// drive runs one turn and shows it. The end of ctx interrupts the turn, which
// is then saved.
func (c *runCmd) drive(ctx context.Context, sessions *session.Sessions, a turns, input []transcript.Part, view view, settle func()) (outcome.Outcome, error) {
	for e, err := range a.Run(ctx, input...) {
		if err != nil {
			return outcome.Of(err), err
		}
		if _, ok := e.(event.UsageUpdated); ok {
			settle()
		}
		if err := view.show(e); err != nil {
			return outcome.Failed, fmt.Errorf("write output: %w", err)
		}
		if o, ok := e.(event.SessionOpened); ok && !o.Created && c.Name != "" {
			if err := sessions.Rename(ctx, o.ID, c.Name); err != nil {
				return outcome.Of(err), err
			}
		}
		if r, ok := e.(event.Result); ok {
			return ending(ctx, &r), nil
		}
	}
	return outcome.Failed, fmt.Errorf("the run ended without a result")
}

// ending is a result's outcome: a refusal that nobody was asked about, or that
// stopped the turn, counts unless something worse happened.
func ending(ctx context.Context, r *event.Result) outcome.Outcome {
	out := outcome.OfResult(r)
	if out == outcome.Failed && r.Err != nil {
		if o := outcome.Of(r.Err); o != outcome.Interrupted {
			out = o
		}
	}
	if out == outcome.Interrupted {
		if s, ok := errors.AsType[Stopped](context.Cause(ctx)); ok {
			return s.By
		}
		if len(r.Denials) > 0 {
			return outcome.Denied
		}
	}
	unasked := func(d policy.Decision) bool { return !answered(d) }
	if out == outcome.OK && slices.ContainsFunc(r.Denials, unasked) {
		return outcome.Denied
	}
	return out
}

// account is the name of the account that the process runs as, or its number.
func account() string {
	u, err := user.Current()
	if err != nil {
		return fmt.Sprintf("uid %d", os.Getuid())
	}
	return u.Username
}

// session says which session the agent goes on with.
func (c *runCmd) session(ctx context.Context, sessions *session.Sessions, cwd string) (session.RestoreOptions, error) {
	o := session.RestoreOptions{
		Fork: c.ForkSession, ForkGrants: c.WithGrants, At: c.At, Takeover: c.Takeover, SessionID: c.SessionID,
		Opened: session.Opened{CWD: cwd, Title: c.Name, User: account()},
	}
	switch {
	case c.Resume != "":
		m, err := sessions.Find(ctx, c.Resume)
		if err != nil {
			return o, err
		}
		if err := c.belongs(&m); err != nil {
			return o, err
		}
		o.SessionID, o.MustExist = m.ID, true
	case c.Continue:
		project, err := c.project(cwd)
		if err != nil {
			return o, err
		}
		switch newest, err := sessions.Newest(ctx, project); {
		case err != nil:
			return o, err
		case newest == "":
			return o, c.noSession()
		}
		o.ContinueRecent, o.Project = true, project
	case c.SessionID != "":
		o.MustExist = c.At != "" || c.ForkSession
		m, err := sessions.Get(ctx, c.SessionID)
		if err == nil {
			err = c.belongs(&m)
		} else if errors.Is(err, session.ErrNotFound) {
			err = nil // it is made, or missed later
		}
		return o, err
	}
	return o, nil
}

// project is that of the sessions that the run could go on with.
func (c *runCmd) project(cwd string) (string, error) {
	if c.space != nil {
		return c.space.SessionProject(), nil
	}
	project, _, err := session.ProjectID(cwd)
	return project, err
}

func (c *runCmd) noSession() error {
	if c.space != nil {
		return &failure{
			msg: "there is no session of workspace " + c.space.Slug + " to go on with", out: outcome.NotFound,
			hint: "start one: holdfast run --workspace " + c.space.Slug + " PROMPT",
		}
	}
	return &failure{
		msg: "there is no session of this project to go on with", out: outcome.NotFound,
		hint: "start one: holdfast run PROMPT; or look at all: holdfast sessions list --all",
	}
}
