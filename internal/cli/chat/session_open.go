package chat

import (
	"cmp"
	"context"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
)

// Open connects to the daemon or starts it, and finds the session of the conversation. The caller
// closes the session.
func Open(ctx context.Context, p *command.Program, start *Start) (_ *Session, err error) {
	s := &Session{p: p, flags: start.Run, options: dial.Options{Store: start.Run.Store, NoDaemon: start.Run.NoDaemon}}
	if s.in, err = s.flags.OpenWorkspace(ctx, p); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && s.in != nil {
			s.in.Close()
		}
	}()
	if err := s.prepare(ctx, start); err != nil {
		return nil, err
	}
	if s.conn, err = dial.Open(ctx, p, s.options); err != nil {
		return nil, err
	}
	if err := s.choose(ctx, start); err != nil {
		_ = s.conn.Close()
		return nil, err
	}
	return s, nil
}

// prepare checks the flags and makes the spec of the first run.
func (s *Session) prepare(ctx context.Context, start *Start) (err error) {
	var cwd string
	if s.in != nil {
		cwd = s.in.Project
	} else if cwd, err = s.p.Folder(s.flags.CWD); err != nil {
		return err
	}
	if err := s.flags.ResolveEnv(ctx, s.p); err != nil {
		return err
	}
	if s.place, err = s.newPlace(cwd); err != nil {
		return err
	}
	if err := s.openModel(ctx, s.place); err != nil && !start.Attach {
		return err
	}
	if s.in != nil || start.Attach {
		return nil
	}
	return s.notices()
}

// notices collects the notices about settings that are ignored, as `holdfast run` prints them.
func (s *Session) notices() error {
	r, err := s.flags.ComposeOptions(s.p, s.cwd)
	if err != nil {
		return err
	}
	list, _, done, err := tools.DryRunNotices(&tools.Options{Env: r.Env, Settings: s.rules, Spec: r.Spec, Cwd: s.cwd})
	if err != nil {
		return err
	}
	done()
	s.about.Notices = append(compose.SettingsNotices(s.rules), list...)
	return nil
}

// choose finds the session that the flags name. A new session gets its id with the first message.
func (s *Session) choose(ctx context.Context, start *Start) error {
	if start.Attach && s.flags.Resume == "" {
		id, err := s.newestBusy(ctx)
		if err != nil {
			return err
		}
		return s.Join(ctx, id)
	}
	meta, err := s.chosen(ctx)
	if err != nil {
		return err
	}
	if start.Attach {
		return s.Join(ctx, meta.ID)
	}
	title := s.flags.Name
	if mask, err := s.rules.Masker(); err == nil {
		title, _ = mask.Text(title)
	}
	s.spec.Session = runspec.Session{Takeover: s.flags.Takeover, ForkAt: s.flags.At}
	switch {
	case meta == nil:
		s.spec.Session.ID, s.spec.Session.Title = s.flags.SessionID, title
		return nil
	case s.flags.ForkSession:
		made, err := s.Client().ForkSession(ctx, meta.ID, api.Fork{At: s.flags.At, WithGrants: s.flags.WithGrants, Title: title})
		if err != nil {
			return err
		}
		s.spec.Session.ForkAt = ""
		meta = &made.Meta
	case title != "":
		if _, err := s.Client().PatchSession(ctx, meta.ID, api.SessionPatch{Title: &title}); err != nil {
			return err
		}
	}
	m, err := s.Client().Session(ctx, meta.ID)
	if err != nil {
		return err
	}
	s.describe(m)
	return nil
}

// chosen returns the session that the flags name, or nil for a new one.
func (s *Session) chosen(ctx context.Context) (*session.Meta, error) {
	if !s.flags.Resumes() {
		return nil, nil //nolint:nilnil // a new session
	}
	sessions, closeStore, err := s.p.OpenStore(ctx, s.flags.Store)
	if err != nil {
		return nil, err
	}
	defer closeStore()
	meta, err := s.flags.ResumedSession(ctx, sessions, s.cwd, s.in)
	if outcome.FromError(err) == outcome.NotFound && s.flags.Continue && !s.flags.ForkSession && s.flags.At == "" {
		return nil, nil //nolint:nilnil // a new session
	}
	return meta, err
}

// newestBusy returns the newest session of the project that works or waits for the user, or, if there
// is none, the newest one that was interrupted, such as by a crash.
func (s *Session) newestBusy(ctx context.Context) (string, error) {
	in, _, err := project.ID(s.cwd)
	if err != nil {
		return "", err
	}
	q := client.ListOptions{Project: in, Limit: 100}
	page, err := s.Client().Sessions(ctx, q)
	if err != nil {
		return "", err
	}
	interrupted := ""
	for i := range page.Items {
		m := &page.Items[i]
		switch {
		case m.Status == api.StatusRunning || m.Status == api.StatusWaiting || m.OpenApprovals > 0:
			return m.ID, nil
		case interrupted == "" && (m.Status == api.StatusInterrupted || m.Status == "" && s.crashed(ctx, m.Meta)):
			interrupted = m.ID
		}
	}
	if interrupted != "" {
		return interrupted, nil
	}
	return "", &outcome.Failure{Message: "no session of this project works, waits for you or was interrupted", Advice: "holdfast ps, or open the newest session: holdfast -c", Result: outcome.NotFound}
}

// crashed reports whether a run without the daemon ended with its process.
func (s *Session) crashed(ctx context.Context, m session.Meta) bool {
	state := ""
	err := s.withStore(ctx, func(sessions *session.Sessions) error {
		state, _ = runlog.State(ctx, sessions, m, nil)
		return nil
	})
	return err == nil && state == runlog.Crashed
}

// Mode returns the permission mode of the session. It takes a while for a long session, which must be
// read for it.
func (s *Session) Mode(ctx context.Context) (policy.Mode, error) {
	s.mu.Lock()
	id, mode, given := s.id, s.about.Mode, s.spec.Permissions.Mode != ""
	s.mu.Unlock()
	if id == "" || given {
		return mode, nil
	}
	there, err := s.Client().Policy(ctx, id)
	if err != nil {
		return "", err
	}
	return cmp.Or(there.Mode, mode), nil
}
