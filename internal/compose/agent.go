package compose

import (
	"context"
	"iter"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// workAgent is an agent whose Run is [agent.Agent.Work].
type workAgent struct{ *agent.Agent }

func (w workAgent) Run(ctx context.Context, input ...transcript.Part) iter.Seq2[event.Event, error] {
	return w.Work(ctx, input...)
}

// Runner is the interface of an agent that runs: [agent.Agent], with the same contracts.
type Runner interface {
	Start(ctx context.Context) (event.SessionOpened, error)
	Run(ctx context.Context, input ...transcript.Part) iter.Seq2[event.Event, error]
	Submit(ctx context.Context, input ...transcript.Part) error
	Interrupt()
	Change(ctx context.Context, c policy.Change) (policy.Change, error)
	Mode() policy.Mode
	Snapshot() agent.Snapshot
	SessionID() string
	Close() error
}

// Agent is an agent with its session. It works on this machine or in a workspace.
//
//	Request ─► Make or MakeInWorkspace ─► Choose a session ─► Agent
type Agent struct {
	Runner
	Parts     *Parts          // the parts of an agent on this machine; nil for an agent in a workspace
	Workspace *WorkspaceParts // of an agent in a workspace; nil otherwise

	worktree bool
}

// Askers are the callbacks that answer requests. With the zero value no one answers, and the
// settings decide.
type Askers struct {
	Ask func(ctx context.Context, q approval.Request) (approval.Answer, error)
	// Form shows the user a form of an MCP server. The answer is not recorded.
	Form func(ctx context.Context, e *mcp.Elicitation) (mcp.Answer, error)
	// OnWorkspace is called if the agent works in a worktree; it may be nil.
	OnWorkspace func(path, branch string)
}

// StoreOpener opens the store of an agent's session.
type StoreOpener func(ctx context.Context) (*stores.Store, error)

// New creates an agent: in the workspace in, or on this machine if in is nil. It starts only MCP
// servers. It calls open for the store last, so that an invalid spec creates no store. The caller
// closes the agent and then the store.
func New(ctx context.Context, r *Request, in *Workspace, open StoreOpener, who Askers) (a *Agent, err error) {
	a = &Agent{}
	defer func() {
		if err != nil {
			a.end()
		}
	}()
	if in != nil {
		return a, a.makeIn(ctx, r, in, open, who)
	}
	return a, a.make(ctx, r, open, who)
}

func (a *Agent) make(ctx context.Context, r *Request, open StoreOpener, who Askers) (err error) {
	if a.Parts, err = Make(ctx, r); err != nil {
		return err
	}
	m := a.Parts
	s, err := open(ctx)
	if err != nil {
		return err
	}
	m.UseStore(s)
	o := m.Options
	o.Sessions, o.NoPersist = s.Sessions, r.Spec.Session.NoPersist
	chosen := r.Spec.Session
	chosen.Title, _ = o.Mask.Text(chosen.Title)
	if o.Session, err = Choose(ctx, s.Sessions, &chosen, r.Cwd, nil); err != nil {
		return err
	}
	if err := r.reportLoading(ctx, s.Sessions, &o.Session); err != nil {
		return err
	}
	o.Permissions.Ask, m.Tools.Form = who.ask(m.Settings), who.Form
	if a.worktree = r.Spec.Worktree.Enabled; a.worktree {
		if err := m.Tools.CheckWorktree(); err != nil {
			return err
		}
		o.EnterDir = a.enterWorktree(r.Spec.Worktree.Name, who.OnWorkspace)
	}
	if o.NewSession, err = r.description(&o); err != nil {
		return err
	}
	made, err := agent.New(m.Models.Primary, &o)
	if err != nil {
		return err
	}
	m.Attach(made)
	a.Runner = workAgent{made}
	return nil
}

// reportLoading reports the size of the session to be resumed, if it exists.
func (r *Request) reportLoading(ctx context.Context, sessions *session.Sessions, o *session.RestoreOptions) error {
	if r.Loading == nil || o.SessionID == "" && !o.ContinueRecent {
		return nil
	}
	id := o.SessionID
	if id == "" {
		var err error
		if id, err = sessions.Newest(ctx, o.Project); err != nil {
			return err
		}
	}
	if m, err := sessions.Get(ctx, id); err == nil { // on an error, the session is created later, or reported as missing
		r.Loading(m.Size)
	}
	return nil
}

// description returns the records that describe the run. They are written before the run's first
// turn.
func (r *Request) description(o *agent.Options) ([]session.Draft, error) {
	if r.RecordSpec == nil || o.NoPersist {
		return nil, nil
	}
	spec := r.RecordSpec.ForResume("")
	if err := spec.MaskSecrets(func(text string) string {
		text, _ = o.Mask.Text(text)
		return text
	}); err != nil {
		r.Env.Warn("the run's description is not recorded: %v", err)
		return nil, nil
	}
	d, err := runlog.Description(&spec, env.Account())
	return []session.Draft{d}, err
}

// enterWorktree returns [agent.Options].EnterDir for an agent that works in a worktree.
func (a *Agent) enterWorktree(name string, entered func(path, branch string)) func(context.Context) (string, string, error) {
	enter := a.Parts.Tools.EnterWorktree(name, "run")
	return func(ctx context.Context) (dir, notice string, err error) {
		dir, notice, err = enter(ctx)
		if at := a.Parts.Tools.Checkout(); err == nil && entered != nil {
			entered(at.Path, at.Branch)
		}
		return dir, notice, err
	}
}

func (a *Agent) makeIn(ctx context.Context, r *Request, in *Workspace, open StoreOpener, who Askers) (err error) {
	if a.Workspace, err = MakeInWorkspace(ctx, r, in); err != nil {
		return err
	}
	m := a.Workspace
	s, err := open(ctx)
	if err != nil {
		return err
	}
	o := m.Options
	o.Options.Sessions = s.Sessions
	chosen := r.Spec.Session
	chosen.Title, _ = o.Options.Mask.Text(chosen.Title)
	if o.Options.Session, err = Choose(ctx, s.Sessions, &chosen, in.Project, in.Settings); err != nil {
		return err
	}
	o.Options.Permissions.Ask = who.ask(m.Settings)
	if o.Options.NewSession, err = r.description(&o.Options); err != nil {
		return err
	}
	made, err := in.All.Agent(ctx, in.Settings.Slug, o)
	if err != nil {
		return err
	}
	m.Attach(made)
	a.Runner = made
	return nil
}

// ask returns the function that answers approval requests; if the caller has set none, the one that
// the settings choose. Nil denies.
func (p *Askers) ask(s *settings.Settings) func(context.Context, approval.Request) (approval.Answer, error) {
	if p.Ask != nil {
		return p.Ask
	}
	return Unattended(s.OnAsk.Value)
}

// Unattended returns the function that answers approval requests if no one is present. Nil denies.
func Unattended(policy settings.UnattendedPolicy) func(context.Context, approval.Request) (approval.Answer, error) {
	switch policy {
	case settings.UnattendedWait:
		return func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
			<-ctx.Done() // another program has answered, the request has timed out, or the run was interrupted
			return approval.Answer{}, context.Cause(ctx)
		}
	case settings.UnattendedSuspend:
		return func(context.Context, approval.Request) (approval.Answer, error) {
			return approval.Answer{}, approval.ErrSuspend
		}
	case settings.UnattendedDeny:
	}
	return nil
}

// Settings returns the settings that apply to the agent.
func (a *Agent) Settings() *settings.Settings {
	if a.Workspace != nil {
		return a.Workspace.Settings
	}
	return a.Parts.Settings
}

// Notices returns a list of everything that has no effect in the run, with the reasons.
func (a *Agent) Notices() []env.Notice {
	if a.Workspace != nil {
		return SettingsNotices(a.Workspace.Settings)
	}
	return a.Parts.Notices()
}

// Masked returns a text with its secrets masked.
func (a *Agent) Masked(text string) string {
	mask := a.masker()
	masked, _ := mask.Text(text)
	return masked
}

func (a *Agent) masker() *secret.Masker {
	if a.Workspace != nil {
		return a.Workspace.Options.Options.Mask
	}
	return a.Parts.Options.Mask
}

// LeftWorktree describes the worktree that remains after a run.
type LeftWorktree struct {
	Text     string // text that says what remains and why; "" if the worktree was removed
	Worktree string // the worktree's name
	Remove   string // the command that removes it
}

// LeaveWorktree removes the agent's worktree if nothing would be lost. If keep is true, it is never
// removed. Call it before Close.
func (a *Agent) LeaveWorktree(ctx context.Context, keep bool) (left LeftWorktree) {
	if !a.worktree || a.Parts.Tools.Checkout() == nil {
		return left
	}
	at := *a.Parts.Tools.Checkout()
	left.Text = a.Parts.Tools.LeaveWorktree(context.WithoutCancel(ctx), keep)
	left.Worktree = filepath.Base(at.Path)
	left.Remove = "git worktree remove " + filepath.Join(worktree.Dir, left.Worktree)
	return left
}

// Close stops the agent and closes its parts.
func (a *Agent) Close() error {
	var err error
	if a.Runner != nil {
		err = a.Runner.Close()
	}
	a.end()
	return err
}

func (a *Agent) end() {
	if a.Parts != nil {
		a.Parts.Close()
	}
	if a.Workspace != nil {
		a.Workspace.Close()
	}
}
