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
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// remote connects to the daemon for the run, or returns nil. It prints a notice if a daemon is
// running but is not used.
func (c *Cmd) remote(ctx context.Context, p *command.Program) *client.Client {
	if c.NoDaemon {
		return nil
	}
	d, other := dial.DaemonForStore(ctx, p, c.Store)
	switch {
	case other != "":
		c.localNotice(p, "the daemon serves another store, "+other, "omit --store and HOLDFAST_STORE, or add --no-daemon")
	case d != nil && d.Info().Caller.Agent: // this process was started by an agent of the daemon
		d.Close()
		c.localNotice(p, "an agent of the daemon started this process", "add --no-daemon")
		return nil
	}
	return d
}

// localNotice prints one line that explains why a run is not in the daemon, and what to do about
// it.
func (c *Cmd) localNotice(p *command.Program, why, hint string) {
	if !c.Quiet {
		p.Notices([]env.Notice{{Text: "this run does not use the daemon: " + why + "; " + hint}})
	}
}

// target is the session of a run in the daemon.
type target struct {
	id     string
	meta   *session.Meta // nil if the session is created with the run
	forked string        // the session that this one was forked from
}

// errRunLocally means that the run must take place in this process, because it has no input and the
// session has no interrupted run of the daemon.
var errRunLocally = errors.New("the run happens in this process")

// target finds the session of the run, or an id for a new one.
func (c *Cmd) target(ctx context.Context, p *command.Program, d *client.Client, cwd string, in *compose.Workspace, input bool) (*target, error) {
	t := &target{}
	if c.Resumes() {
		sessions, closeStore, err := p.OpenStore(ctx, c.Store)
		if err != nil {
			return nil, err
		}
		defer closeStore()
		if t.meta, err = c.ResumedSession(ctx, sessions, cwd, in); err != nil {
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

// runRemote runs the agent in the daemon, shows the run like a local one, and returns its outcome.
func (c *Cmd) runRemote(ctx context.Context, p *command.Program, d *client.Client, cwd string, in *compose.Workspace, input []transcript.Part, view view.View) (outcome.Outcome, error) {
	if c.NoPersist {
		return outcome.Usage, outcome.Invalid("--no-session-persistence cannot be used with the daemon, which keeps runs in their sessions", "add --no-daemon")
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
	masked := func(text string) string { return text }
	if mask, err := rules.Masker(); err == nil {
		masked = func(text string) string { text, _ = mask.Text(text); return text }
	}
	c.Name = masked(c.Name)
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
	var asker *question.Asker
	if c.OutputFormat == "text" {
		if asker = question.NewAsker(p); asker != nil {
			defer asker.Close()
			asker.EnableSaving(p.Environment(), settingsTarget(cwd, in))
		}
	}
	ask, onAsk := remoteAsker(asker, rules.OnAsk.Value)
	spec.Permissions.Unattended = string(onAsk)
	run, err := d.Prepare(ctx, spec, p.Env)
	if err != nil {
		return outcome.FromError(err), err
	}
	answers := &localAnswers{ask: ask, as: d.Info().Caller.Name}
	if ask != nil {
		run.SetAsker(answers.answer)
	}
	c.typed.receive(receiver{
		send:    func(ctx context.Context, text string) error { return run.Send(ctx, transcript.Text{Text: text}) },
		pending: func() bool { return true }, // the events tell
		masked:  masked,
	})
	return c.drive(ctx, c.remoteEvents(ctx, run, t, answers), view, func() {})
}

// remoteEvents returns the events of a run in the daemon. It forwards an interrupt and waits for
// the run to end.
func (c *Cmd) remoteEvents(ctx context.Context, run *client.Run, t *target, answers *localAnswers) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		away := context.WithoutCancel(ctx)
		defer context.AfterFunc(ctx, func() { _ = run.Interrupt(away) })() // if the daemon has ended, the stream of events ends too
		var after int64
		if t.meta != nil {
			after = t.meta.Head
		}
		for more := true; more; { // a reader that continues after a result has sent more input
			more = false
			for e, err := range run.Events(away, after) {
				after = max(after, e.Seq)
				shown := answers.mark(e.Event)
				if o, ok := shown.(event.SessionOpened); ok && t.forked != "" { // forked by this command
					o.Forked, o.Created = t.forked, false
					shown = o
				}
				if !yield(shown, c.lostError(t, err)) {
					return
				}
				_, more = e.Event.(event.Result)
			}
		}
		if _, err := run.Wait(away); err != nil {
			yield(nil, c.lostError(t, err))
		}
	}
}

// remoteHeader returns the header of the view for a run in the daemon. The header has no mode.
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
		Cwd: cwd, Model: m.Primary.Info().String(), KeySource: m.KeySource, ResumeArgs: c.ResumeArgs(),
		CanResume: m.Primary.Info().Provider != "scripted",
	}
	if c.OutputFormat != "text" {
		err = c.remoteTools(p, cwd, rules, &s)
	}
	return s, err
}

// remoteSpec returns the run spec for the daemon.
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

// remoteMode returns the permission mode of the run.
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

// remoteTools adds the servers in the settings, and the tools, sub-agents and skills of the agent
// in the daemon as far as they are known here. It reads only the folders, and starts no server.
// When the run starts, the list that the agent reports replaces them.
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

// remoteNotice prints the same notices about ignored settings as a local run.
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

// lostError returns the error for a run whose events can no longer be received. The error says how
// to resume the session.
func (c *Cmd) lostError(t *target, err error) error {
	lost, isLost := errors.AsType[*client.Error](err)
	switch {
	case isLost:
		return &outcome.Failure{
			Message: fmt.Sprintf("lost the connection to the daemon (%v); completed work is saved", lost.Err), Cause: err, Result: outcome.Failed,
			Advice: fmt.Sprintf("resume with or without the daemon: holdfast run %s--resume %s", c.ResumeArgs(), t.id),
		}
	case errors.Is(err, client.ErrInterrupted):
		return &outcome.Failure{
			Message: err.Error(), Cause: err, Result: outcome.Interrupted,
			Advice: fmt.Sprintf("resume it: holdfast run %s--resume %s", c.ResumeArgs(), t.id),
		}
	case errors.Is(err, session.ErrNotFound):
		return &outcome.Failure{Message: "the session was deleted", Result: outcome.NotFound, Cause: err}
	}
	return err
}
