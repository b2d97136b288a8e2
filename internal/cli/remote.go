package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/isolation"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// dial finds the daemon of this home, when it serves this store and nothing says to do
// without; nil otherwise. Where none runs that takes two calls of the system. The
// caller closes it. other names the store that a daemon serves instead.
func dial(p *command.Program, ctx context.Context, store string) (c *client.Client, other string) {
	if v := p.Getenv("HOLDFAST_NO_DAEMON"); v != "" && v != "0" {
		return nil, ""
	}
	home, err := p.Home()
	if err != nil {
		return nil, ""
	}
	c, err = client.Dial(ctx, &client.Options{Home: home, Name: "cli", Getenv: p.Getenv})
	if errors.Is(err, client.ErrNone) {
		return nil, ""
	}
	if err != nil {
		p.Warn("going on without the daemon: %v", err)
		if hint := outcome.Hint(err); hint != "" {
			p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(hint))
		}
		return nil, ""
	}
	ref, err := stores.Parse(p.Environment(), store)
	if err != nil || ref.Name != c.Info().Store {
		c.Close()
		return nil, c.Info().Store
	}
	return c, ""
}

// remote finds the daemon that the run is to happen in, or nil. A daemon that is there and is not
// used is told of.
func (c *runCmd) remote(ctx context.Context, p *command.Program) *client.Client {
	if c.NoDaemon {
		return nil
	}
	d, other := dial(p, ctx, c.Store)
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
func (c *runCmd) noticeHere(p *command.Program, why, hint string) {
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
func (c *runCmd) target(ctx context.Context, p *command.Program, d *client.Client, cwd string, input bool) (*target, error) {
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
func (c *runCmd) goingOn(ctx context.Context, sessions *session.Sessions, cwd string) (*session.Meta, error) {
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
func (c *runCmd) startRemote(ctx context.Context, p *command.Program, d *client.Client, cwd string, in *compose.Space, input []transcript.Part, view view) (outcome.Outcome, error) {
	if c.NoPersist {
		return outcome.Usage, outcome.Invalid("--no-session-persistence writes nothing, and a run of the daemon is what its session records", "add --no-daemon")
	}
	rules, err := c.settings(p, cwd)
	if err != nil {
		return outcome.Of(err), err
	}
	if c.NoSandbox {
		if err := isolation.Without(p.Environment(), rules); err != nil {
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
	s.mode = func() policy.Mode { return c.modeThere(ctx, d, t, rules) }
	view.begin(s)
	r := &remoteRun{
		p: p, d: d, view: view, target: t, request: request,
		verbose: c.Verbose, onAsk: rules.OnAsk.Value, asked: map[string]*question{}, again: c.again(), prepared: t.meta == nil,
	}
	if c.OutputFormat == "text" {
		if r.person = newAsker(p); r.person != nil {
			defer r.person.Close()
		}
	}
	return r.run(ctx)
}

// sceneThere is what the view is told about a run in the daemon, but for its mode.
func (c *runCmd) sceneThere(ctx context.Context, p *command.Program, cwd string, in *compose.Space, rules *settings.Settings) (scene, error) {
	if in != nil {
		r, err := c.composed(p, in.Project)
		if err != nil {
			return scene{}, err
		}
		m, err := compose.MakeIn(ctx, r, in)
		if err != nil {
			return scene{}, err
		}
		defer m.Close()
		return c.sceneIn(m, nil), nil
	}
	m, err := models.Open(p.Environment(), models.Choice{Model: c.Model, Fallback: c.FallbackModel, BaseURL: c.BaseURL}, rules)
	if err != nil {
		return scene{}, err
	}
	s := scene{
		cwd: cwd, model: m.Primary.Info().String(), keySource: m.KeySource, args: c.again(),
		again: m.Primary.Info().Provider != "scripted",
	}
	if c.OutputFormat != "text" {
		err = c.toolsThere(p, cwd, rules, &s)
	}
	return s, err
}

// request is what the daemon is asked to run. The caller's environment goes along, for this
// daemon's memory only: the keys of models, and where programs are.
func (c *runCmd) request(p *command.Program, t *target, cwd string, input []transcript.Part) (*api.NewRun, error) {
	s, err := c.spec(p, cwd, input)
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
func (c *runCmd) modeThere(ctx context.Context, d *client.Client, t *target, rules *settings.Settings) policy.Mode {
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
func (c *runCmd) toolsThere(p *command.Program, cwd string, rules *settings.Settings, s *scene) error {
	r, err := c.composed(p, cwd)
	if err != nil {
		return err
	}
	b, err := tools.Look(&tools.Options{Env: r.Env, Settings: rules, Spec: r.Spec, Cwd: cwd})
	if err != nil {
		return err
	}
	defer b.Close()
	s.tools, s.servers, s.offered = b.Names(), wireServers(b), b.Offered()
	return nil
}

// noticeThere tells what does not count in a run there, as a run here does.
func (c *runCmd) noticeThere(p *command.Program, cwd string, in *compose.Space, rules *settings.Settings) error {
	p.SettingsNotices(rules)
	if in != nil {
		return nil
	}
	r, err := c.composed(p, cwd)
	if err != nil {
		return err
	}
	list, files, done, err := tools.LookNotices(&tools.Options{Env: r.Env, Settings: rules, Spec: r.Spec, Cwd: cwd})
	if err != nil {
		return err
	}
	defer done()
	if c.Verbose && files != nil {
		showInstructions(p, p.Err, files.Files())
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
