package run

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// remote finds the daemon that the run is to happen in, or nil. A daemon that is there and is not
// used is told of.
func (c *Cmd) remote(ctx context.Context, p *command.Program) *client.Client {
	if c.NoDaemon {
		return nil
	}
	d, other := dial.IsDaemonRunning(ctx, p, c.Store)
	switch {
	case other != "":
		c.localNotice(p, "the daemon serves another store, "+other, "leave --store and HOLDFAST_STORE out, or add --no-daemon")
	case d != nil && d.Info().Caller.Agent: // this process works for an agent there
		d.Close()
		c.localNotice(p, "an agent of the daemon has started this process", "add --no-daemon")
		return nil
	}
	return d
}

// localNotice says in one line why a run is not the daemon's, and what to do.
func (c *Cmd) localNotice(p *command.Program, why, hint string) {
	if !c.Quiet {
		p.Notices([]env.Notice{{Text: "this run is not in the daemon: " + why + "; " + hint}})
	}
}

// target is the session of a run in the daemon.
type target struct {
	id     string
	meta   *session.Meta // nil: it is made with the run
	forked string        // of what it was forked
}

// errRunLocally says that a run is for this process after all: without input, a session that
// no run of the daemon was interrupted in.
var errRunLocally = errors.New("the run happens in this process")

// target finds the session that is meant, or an id for a new one.
func (c *Cmd) target(ctx context.Context, p *command.Program, d *client.Client, cwd string, in *compose.Workspace, input bool) (*target, error) {
	t := &target{}
	if c.resumes() {
		sessions, closeStore, err := p.OpenStore(ctx, c.Store)
		if err != nil {
			return nil, err
		}
		defer closeStore()
		if t.meta, err = c.resumedSession(ctx, sessions, cwd, in); err != nil {
			return nil, err
		}
	}
	if !input && (t.meta == nil || t.meta.Run != string(api.StatusInterrupted) || c.ForkSession) {
		return nil, errRunLocally
	}
	switch {
	case t.meta == nil && c.SessionID != "":
		t.id = c.SessionID
	case t.meta == nil:
		t.id = uuid.NewString()
	case c.ForkSession:
		made, err := d.ForkSession(ctx, t.meta.ID, api.Fork{At: c.At, WithGrants: c.WithGrants})
		if err != nil {
			return nil, err
		}
		t.forked, t.meta = t.meta.ID, &made.Meta
		t.id = made.ID
	default:
		t.id = t.meta.ID
	}
	if t.meta != nil && c.Name != "" {
		if _, err := d.PatchSession(ctx, t.id, api.SessionPatch{Title: &c.Name}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// resumedSession is the session that the run goes on with; nil when the one that is named is
// to be made.
func (c *Cmd) resumedSession(ctx context.Context, sessions *session.Sessions, cwd string, in *compose.Workspace) (*session.Meta, error) {
	var space *workspace.Settings
	if in != nil {
		space = in.Settings
	}
	s := c.sessionSpec()
	o, err := compose.Choose(ctx, sessions, &s, cwd, space)
	if err != nil {
		return nil, err
	}
	if o.SessionID == "" {
		if o.SessionID, err = sessions.Newest(ctx, o.Project); err != nil {
			return nil, err
		}
		if o.SessionID == "" {
			return nil, session.ErrNotFound
		}
	}
	m, err := sessions.Get(ctx, o.SessionID)
	if errors.Is(err, session.ErrNotFound) && !o.MustExist {
		return nil, nil //nolint:nilnil // it will be made
	}
	if err != nil {
		return nil, err
	}
	return &m, nil
}

// runRemote runs the agent in the daemon, shows the run as one here, and says how
// it ended.
func (c *Cmd) runRemote(ctx context.Context, p *command.Program, d *client.Client, cwd string, in *compose.Workspace, input []transcript.Part, view view.View) (outcome.Outcome, error) {
	if c.NoPersist {
		return outcome.Usage, outcome.Invalid("--no-session-persistence writes nothing, and a run of the daemon is what its session records", "add --no-daemon")
	}
	rules, err := c.LoadSettings(p, cwd)
	if err != nil {
		return outcome.FromError(err), err
	}
	if c.NoSandbox {
		if err := tools.CheckNoSandbox(p.Environment(), rules); err != nil {
			return outcome.FromError(err), err
		}
	}
	s, err := c.remoteHeader(ctx, p, cwd, in, rules)
	if err != nil {
		return outcome.FromError(err), err
	}
	if mask, err := rules.Masker(); err == nil {
		c.Name, _ = mask.Text(c.Name)
	}
	t, err := c.target(ctx, p, d, cwd, in, len(input) > 0)
	if err != nil {
		return outcome.FromError(err), err
	}
	spec, err := c.remoteSpec(p, t, cwd, input)
	if err != nil {
		return outcome.FromError(err), err
	}
	if !c.Quiet {
		if err := c.remoteNotice(p, cwd, in, rules); err != nil {
			return outcome.FromError(err), err
		}
	}
	s.Mode = func() policy.Mode { return c.remoteMode(ctx, d, t, rules) }
	view.Start(s)
	var person *question.Asker
	if c.OutputFormat == "text" {
		if person = question.NewAsker(p); person != nil {
			defer person.Close()
			person.EnableSaving(p.Environment(), placeOf(cwd, in))
		}
	}
	ask, onAsk := remoteAsker(person, rules.OnAsk.Value)
	spec.Permissions.Unattended = string(onAsk)
	run, err := d.Prepare(ctx, spec, p.Env)
	if err != nil {
		return outcome.FromError(err), err
	}
	own := &localAnswers{ask: ask, as: d.Info().Caller.Name}
	if ask != nil {
		run.SetAsker(own.answer)
	}
	return c.drive(ctx, c.remoteEvents(ctx, run, t, own), view, func() {})
}

// remoteEvents are the events of a run in the daemon. An interrupt is passed on, and its end awaited.
func (c *Cmd) remoteEvents(ctx context.Context, run *client.Run, t *target, own *localAnswers) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		away := context.WithoutCancel(ctx)
		defer context.AfterFunc(ctx, func() { _ = run.Interrupt(away) })() // a daemon that is gone ends the events, too
		var after int64
		if t.meta != nil {
			after = t.meta.Head
		}
		for e, err := range run.Events(away, after) {
			told := own.add(e.Event)
			if o, ok := told.(event.SessionOpened); ok && t.forked != "" { // by this command
				o.Forked, o.Created = t.forked, false
				told = o
			}
			if !yield(told, c.lostError(t, err)) {
				return
			}
		}
		if _, err := run.Wait(away); err != nil {
			yield(nil, c.lostError(t, err))
		}
	}
}

// remoteHeader is what the view is told about a run in the daemon, but for its mode.
func (c *Cmd) remoteHeader(ctx context.Context, p *command.Program, cwd string, in *compose.Workspace, rules *settings.Settings) (view.Header, error) {
	if in != nil {
		r, err := c.ComposeOptions(p, in.Project)
		if err != nil {
			return view.Header{}, err
		}
		m, err := compose.MakeInWorkspace(ctx, r, in)
		if err != nil {
			return view.Header{}, err
		}
		defer m.Close()
		return c.workspaceHeader(m, nil), nil
	}
	m, err := models.Open(ctx, p.Environment(), models.Choice{Model: c.Model, Fallback: c.FallbackModel, BaseURL: c.BaseURL, NoKey: true}, rules)
	if err != nil {
		return view.Header{}, err
	}
	s := view.Header{
		Cwd: cwd, Model: m.Primary.Info().String(), KeySource: m.KeySource, ResumeArgs: c.resumeFlags(),
		CanResume: m.Primary.Info().Provider != "scripted",
	}
	if c.OutputFormat != "text" {
		err = c.remoteTools(p, cwd, rules, &s)
	}
	return s, err
}

// remoteSpec is the run that the daemon is asked for.
func (c *Cmd) remoteSpec(p *command.Program, t *target, cwd string, input []transcript.Part) (runspec.Spec, error) {
	s, err := c.Spec(p, cwd, input)
	if err != nil {
		return s, err
	}
	s.Session = runspec.Session{ID: t.id, Takeover: c.Takeover}
	if t.meta == nil {
		s.Session.Title = c.Name
	}
	if t.forked == "" {
		s.Session.ForkAt = c.At
	}
	return s, nil
}

// remoteMode is the permission mode that the run is in.
func (c *Cmd) remoteMode(ctx context.Context, d *client.Client, t *target, rules *settings.Settings) policy.Mode {
	mode := rules.Mode.Value
	if mode == "" && t.meta != nil {
		if there, err := d.Policy(ctx, t.id); err == nil {
			mode = there.Mode
		}
	}
	if mode == "" {
		mode = policy.ModeDefault
	}
	return mode
}

// remoteTools fills in which tools, sub-agents and skills the agent has there, as far as that
// can be known from here, and the servers that settings name: nothing is opened for them but
// the folders. What the agent tells when it begins counts more.
func (c *Cmd) remoteTools(p *command.Program, cwd string, rules *settings.Settings, s *view.Header) error {
	r, err := c.ComposeOptions(p, cwd)
	if err != nil {
		return err
	}
	b, err := tools.DryRun(&tools.Options{Env: r.Env, Settings: rules, Spec: r.Spec, Cwd: cwd})
	if err != nil {
		return err
	}
	defer b.Close()
	s.Tools, s.Servers, s.Offered = b.Names(), wireServers(b), b.Offered()
	return nil
}

// remoteNotice tells what does not count in a run there, as a run here does.
func (c *Cmd) remoteNotice(p *command.Program, cwd string, in *compose.Workspace, rules *settings.Settings) error {
	p.SettingsNotices(rules)
	if in != nil {
		return nil
	}
	r, err := c.ComposeOptions(p, cwd)
	if err != nil {
		return err
	}
	list, files, done, err := tools.DryRunNotices(&tools.Options{Env: r.Env, Settings: rules, Spec: r.Spec, Cwd: cwd})
	if err != nil {
		return err
	}
	defer done()
	if c.Verbose && files != nil {
		view.ShowInstructions(p, p.Err, files.Files())
	}
	p.Notices(list)
	return nil
}

// lostError is the error of a run that cannot be followed any more: how to go on with it.
func (c *Cmd) lostError(t *target, err error) error {
	lost, isLost := errors.AsType[*client.Error](err)
	switch {
	case isLost:
		return &outcome.Failure{
			Message: fmt.Sprintf("the daemon went away (%v); what was done is saved", lost.Err), Cause: err, Result: outcome.Failed,
			Advice: fmt.Sprintf("start it again (holdfast daemon) or not, and go on: holdfast run %s--resume %s", c.resumeFlags(), t.id),
		}
	case errors.Is(err, client.ErrInterrupted):
		return &outcome.Failure{
			Message: err.Error(), Cause: err, Result: outcome.Interrupted,
			Advice: fmt.Sprintf("go on: holdfast run %s--resume %s", c.resumeFlags(), t.id),
		}
	case errors.Is(err, session.ErrNotFound):
		return &outcome.Failure{Message: "the session was deleted", Result: outcome.NotFound, Cause: err}
	}
	return err
}
