package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
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

// remote finds the daemon that the run is to happen in, or nil. A daemon that is there and is not
// used is told of.
func (c *Cmd) remote(ctx context.Context, p *command.Program) *client.Client {
	if c.NoDaemon {
		return nil
	}
	d, other := dial.Serving(ctx, p, c.Store)
	switch {
	case other != "":
		c.noticeHere(p, "the daemon serves another store, "+other, "leave --store and HOLDFAST_STORE out, or add --no-daemon")
	case d != nil && d.Info().Caller.Agent: // this process works for an agent there
		d.Close()
		c.noticeHere(p, "an agent of the daemon has started this process", "add --no-daemon")
		return nil
	}
	return d
}

// noticeHere says in one line why a run is not the daemon's, and what to do.
func (c *Cmd) noticeHere(p *command.Program, why, hint string) {
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

// errHere says that a run is for this process after all: without input, a session that
// no run of the daemon was interrupted in.
var errHere = errors.New("the run happens in this process")

// target finds the session that is meant, or an id for a new one.
func (c *Cmd) target(ctx context.Context, p *command.Program, d *client.Client, cwd string, input bool) (*target, error) {
	t := &target{}
	if c.goesOn() {
		sessions, closeStore, err := p.OpenStore(ctx, c.Store)
		if err != nil {
			return nil, err
		}
		defer closeStore()
		if t.meta, err = c.goingOn(ctx, sessions, cwd); err != nil {
			return nil, err
		}
	}
	if !input && (t.meta == nil || t.meta.Run != string(api.StatusInterrupted) || c.ForkSession) {
		return nil, errHere
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

// goingOn is the session that the run goes on with; nil when the one that is named is
// to be made.
func (c *Cmd) goingOn(ctx context.Context, sessions *session.Sessions, cwd string) (*session.Meta, error) {
	o, err := c.session(ctx, sessions, cwd)
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

// startRemote runs the agent in the daemon, shows the run as one here, and says how
// it ended.
func (c *Cmd) startRemote(ctx context.Context, p *command.Program, d *client.Client, cwd string, in *compose.Space, input []transcript.Part, view view.View) (outcome.Outcome, error) {
	if c.NoPersist {
		return outcome.Usage, outcome.Invalid("--no-session-persistence writes nothing, and a run of the daemon is what its session records", "add --no-daemon")
	}
	rules, err := c.LoadSettings(p, cwd)
	if err != nil {
		return outcome.Of(err), err
	}
	if c.NoSandbox {
		if err := tools.WithoutSandbox(p.Environment(), rules); err != nil {
			return outcome.Of(err), err
		}
	}
	s, err := c.sceneThere(ctx, p, cwd, in, rules)
	if err != nil {
		return outcome.Of(err), err
	}
	if mask, err := rules.Masker(); err == nil {
		c.Name, _ = mask.Text(c.Name)
	}
	t, err := c.target(ctx, p, d, cwd, len(input) > 0)
	if err != nil {
		return outcome.Of(err), err
	}
	request, err := c.request(p, t, cwd, input)
	if err != nil {
		return outcome.Of(err), err
	}
	if !c.Quiet {
		if err := c.noticeThere(p, cwd, in, rules); err != nil {
			return outcome.Of(err), err
		}
	}
	s.Mode = func() policy.Mode { return c.modeThere(ctx, d, t, rules) }
	view.Begin(s)
	r := &remoteRun{
		p: p, d: d, view: view, target: t, request: request,
		verbose: c.Verbose, onAsk: rules.OnAsk.Value, asked: map[string]*openQuestion{}, again: c.again(), prepared: t.meta == nil,
	}
	if c.OutputFormat == "text" {
		if r.person = question.NewAsker(p); r.person != nil {
			defer r.person.Close()
		}
	}
	return r.run(ctx)
}

// sceneThere is what the view is told about a run in the daemon, but for its mode.
func (c *Cmd) sceneThere(ctx context.Context, p *command.Program, cwd string, in *compose.Space, rules *settings.Settings) (view.Scene, error) {
	if in != nil {
		r, err := c.Composed(p, in.Project)
		if err != nil {
			return view.Scene{}, err
		}
		m, err := compose.MakeIn(ctx, r, in)
		if err != nil {
			return view.Scene{}, err
		}
		defer m.Close()
		return c.sceneIn(m, nil), nil
	}
	m, err := models.Open(p.Environment(), models.Choice{Model: c.Model, Fallback: c.FallbackModel, BaseURL: c.BaseURL}, rules)
	if err != nil {
		return view.Scene{}, err
	}
	s := view.Scene{
		Cwd: cwd, Model: m.Primary.Info().String(), KeySource: m.KeySource, Args: c.again(),
		Again: m.Primary.Info().Provider != "scripted",
	}
	if c.OutputFormat != "text" {
		err = c.toolsThere(p, cwd, rules, &s)
	}
	return s, err
}

// request is what the daemon is asked to run. The caller's environment goes along, for this
// daemon's memory only: the keys of models, and where programs are.
func (c *Cmd) request(p *command.Program, t *target, cwd string, input []transcript.Part) (*api.NewRun, error) {
	s, err := c.Spec(p, cwd, input)
	if err != nil {
		return nil, err
	}
	s.Session = runspec.Session{ID: t.id, Takeover: c.Takeover}
	if t.meta == nil {
		s.Session.Title = c.Name
	}
	if t.forked == "" {
		s.Session.At = c.At
	}
	if err := s.Check(); err != nil {
		return nil, outcome.Invalid(err.Error(), outcome.Hint(err))
	}
	start := t.meta != nil
	return &api.NewRun{Spec: s, Environ: p.Env, Start: &start}, nil
}

// modeThere is the permission mode that the run is in.
func (c *Cmd) modeThere(ctx context.Context, d *client.Client, t *target, rules *settings.Settings) policy.Mode {
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

// toolsThere fills in which tools, sub-agents and skills the agent has there, as far as that
// can be known from here, and the servers that settings name: nothing is opened for them but
// the folders. What the agent tells when it begins counts more.
func (c *Cmd) toolsThere(p *command.Program, cwd string, rules *settings.Settings, s *view.Scene) error {
	r, err := c.Composed(p, cwd)
	if err != nil {
		return err
	}
	b, err := tools.Look(&tools.Options{Env: r.Env, Settings: rules, Spec: r.Spec, Cwd: cwd})
	if err != nil {
		return err
	}
	defer b.Close()
	s.Tools, s.Servers, s.Offered = b.Names(), wireServers(b), b.Offered()
	return nil
}

// noticeThere tells what does not count in a run there, as a run here does.
func (c *Cmd) noticeThere(p *command.Program, cwd string, in *compose.Space, rules *settings.Settings) error {
	p.SettingsNotices(rules)
	if in != nil {
		return nil
	}
	r, err := c.Composed(p, cwd)
	if err != nil {
		return err
	}
	list, files, done, err := tools.LookNotices(&tools.Options{Env: r.Env, Settings: rules, Spec: r.Spec, Cwd: cwd})
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

// daemonPatience is how long a daemon that went away is waited for.
const daemonPatience = 3 * time.Second

// gone is the error of a run whose daemon went away.
func (r *remoteRun) gone(err error) error {
	return &outcome.Failure{
		Message: fmt.Sprintf("the daemon went away (%v); what was done is saved", rootOf(err)), Cause: err, Result: outcome.Failed,
		Advice: fmt.Sprintf("start it again (holdfast daemon) or not, and go on: holdfast run %s--resume %s", r.again, r.target.id),
	}
}

// rootOf is what lies behind an error of a connection.
func rootOf(err error) error {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Err
	}
	return err
}
