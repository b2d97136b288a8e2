package chat

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
)

// place is a session with everything that belongs to it. To enter another session is to use another
// place. Work that began in a place ends in it, also after the user has entered another one.
type place struct {
	cwd   string             // of the next run
	rules *settings.Settings // of this folder

	commands []Expandable // of this folder, as they were when it was read

	// Session.mu guards what follows.

	id    string // "" before the first message of a new session
	next  string // the id that a new session gets, once it is needed
	spec  runspec.Spec
	about About // without Daemon and Notice, which belong to the connection
}

// nextID returns the id of the session, or the one that a new session gets.
func (l *place) nextID() string {
	if l.id == "" && l.spec.Session.ID == "" {
		l.next = cmp.Or(l.next, uuid.NewString())
	}
	return cmp.Or(l.id, l.spec.Session.ID, l.next)
}

// describe takes the id, the title and the head of a session.
func (l *place) describe(m *api.Session) {
	l.id = m.ID
	l.about.Title, l.about.Head, l.about.Status = cmp.Or(m.Title, m.FirstPrompt), m.Head, m.Status
	l.about.Cwd = cmp.Or(m.CWD, l.about.Cwd)
}

// at returns the place of the conversation.
func (s *Session) at() *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place
}

// current returns the place of the conversation and the id of its session.
func (s *Session) current() (here *place, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place, s.id
}

// newPlace returns the place of a new session in a folder, as the flags and the settings describe it.
func (s *Session) newPlace(cwd string) (*place, error) {
	rules, err := s.flags.LoadSettings(s.p, cwd)
	if err != nil {
		return nil, err
	}
	if s.flags.NoSandbox {
		if err := tools.CheckNoSandbox(s.p.Environment(), rules); err != nil {
			return nil, err
		}
	}
	spec, err := s.flags.Spec(s.p, cwd, nil)
	if err != nil {
		return nil, err
	}
	spec.Permissions.Unattended = cmp.Or(s.flags.OnAsk, string(settings.UnattendedWait)) // a question waits, also when no terminal shows it
	commands := expandables(s.p.Environment(), rules)
	return &place{cwd: cwd, rules: rules, commands: commands, spec: spec, about: About{Cwd: cwd, Mode: cmp.Or(rules.Mode.Value, policy.ModeDefault), Model: spec.Model}}, nil
}

// openModel sets the name of the model of a new session. Without a model, [Session.CheckModel] reports it.
func (s *Session) openModel(ctx context.Context, l *place) error {
	e := s.p.Environment()
	given := cmp.Or(s.flags.Model, models.Default(e, l.rules))
	if given == "" || s.in != nil {
		return nil
	}
	m, err := models.Open(ctx, e, models.Choice{Model: given, Fallback: s.flags.FallbackModel, BaseURL: s.flags.BaseURL, NoKey: true}, l.rules)
	if err == nil {
		l.about.Model = m.Primary.Info().String()
	}
	return err
}

// Find reads what belongs to a session, for [Session.Enter]. The next run there has the spec of its last
// one. Without an id it returns a new session in the current folder, which gets its id with the first
// message.
func (s *Session) Find(ctx context.Context, id string) (*place, error) {
	s.mu.Lock()
	cwd, old, model := s.cwd, s.about, s.model
	s.mu.Unlock()
	if id == "" {
		l, err := s.newPlace(cwd)
		if err != nil {
			return nil, err
		}
		if l.spec = l.spec.ForResume(""); model != "" {
			l.spec.Model, l.about.Model = model, model
			return l, nil
		}
		return l, s.openModel(ctx, l)
	}
	m, err := s.Client().Session(ctx, id)
	if err != nil {
		return nil, err
	}
	spec, err := s.recordedSpec(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	if spec.Workspace == "" { // otherwise the folder is in the container
		cwd = cmp.Or(spec.Cwd, m.CWD, cwd)
	}
	l, err := s.newPlace(cwd)
	if err != nil {
		return nil, err
	}
	l.spec = spec
	l.spec.Permissions.Unattended = cmp.Or(spec.Permissions.Unattended, string(settings.UnattendedWait))
	l.about.Model = cmp.Or(spec.Model, old.Model)
	l.describe(m)
	return l, nil
}

// Enter makes the session that [Session.Find] has read the session of the conversation.
func (s *Session) Enter(l *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place = l
}

// Join finds a session and enters it.
func (s *Session) Join(ctx context.Context, id string) error {
	l, err := s.Find(ctx, id)
	if err == nil {
		s.Enter(l)
	}
	return err
}

// recordedRuns is how many records of runs are searched for the last start of a session.
const recordedRuns = 200

// recordedSpec returns the spec of the last run of a session, or an empty one.
func (s *Session) recordedSpec(ctx context.Context, id string) (runspec.Spec, error) {
	page, err := s.Client().Records(ctx, id, -recordedRuns, recordedRuns, string(record.KindRunEvent))
	if err != nil {
		return runspec.Spec{}, err
	}
	var spec runspec.Spec
	for i := range page.Items {
		var e struct {
			Spec *runspec.Spec `json:"spec"`
		}
		if json.Unmarshal(page.Items[i].Payload, &e) == nil && e.Spec != nil {
			spec = e.Spec.ForResume("")
		}
	}
	spec.Permissions.Mode = "" // the session has its newest mode
	return spec, nil
}

// Sandbox says in a few words what holds the commands of the session.
func (s *Session) Sandbox() string {
	switch {
	case s.in != nil:
		return "container"
	case s.flags.NoSandbox:
		return "none"
	}
	for _, box := range s.at().rules.Sandboxes {
		switch n := box.Settings.Network; {
		case n == nil || n.Ask == nil || *n.Ask: // other hosts need an approval
		case len(n.AllowedDomains) == 0:
			return "sandbox, no network"
		default:
			return "sandbox, listed hosts"
		}
	}
	return "sandbox"
}
