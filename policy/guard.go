package policy

import (
	"fmt"
	"path"
	"slices"
	"sync"
	"time"
)

const defaultTimeout = 30 * time.Second

// agentGuards is one agent's part: what is its own, and what it shares with its
// parent and its children.
type agentGuards struct {
	source *runGuards
	parent *Guards
	agent  string
	own    Mode // as it was set; the one in force is never weaker than the parent's
	folder string
	limits []*limit
}

// runGuards is what all guards of a run are made from. Its lists are replaced, never
// changed, so that a decision can go on with the ones that it started with.
type runGuards struct {
	world    environment
	limits   []NamedPolicy
	policies []NamedPolicy
	rules    *Rules
	watch    callbackRunner
	now      func() time.Time
	newID    func() string
	noBypass bool
	confined *Origin // who says that commands in the sandbox need no question

	mu       sync.RWMutex // guards what follows, and the modes of all agents
	callback CanUseTool
	version  int
	grants   []*grant
	patches  []*patch
}

// decisionInput is what one decision is made from.
type decisionInput struct {
	mode     Mode   // the strictest of those that hold
	held     []Mode // all of them, of a sub-agent: its own and those above it
	version  int
	callback CanUseTool
	grants   []*grant
	policies []NamedPolicy
	hooks    []Contribution // what hooks have said to the call
	limits   []*limit
}

// New makes guards. c may be nil. An unknown mode, a nameless limit or policy,
// two of the same name, or a folder that is not absolute and clean is an error
// that wraps [ErrInvalid]. c is copied.
func New(c *Config) (*Guards, error) {
	if c == nil {
		c = &Config{}
	}
	s := &runGuards{
		world:    environment{folders: slices.Clone(c.Folders), home: c.Home, resolve: c.Resolve},
		limits:   slices.Clone(c.Limits),
		policies: slices.Clone(c.Policies),
		rules:    c.Rules,
		watch:    callbackRunner{timeout: c.Timeout},
		now:      c.Now,
		newID:    c.NewID,
		noBypass: c.NoBypass,
		callback: c.CanUseTool,
	}
	if c.AutoAllowConfined != nil {
		by := *c.AutoAllowConfined
		s.confined = &by
	}
	if s.watch.timeout <= 0 {
		s.watch.timeout = defaultTimeout
	}
	if s.now == nil {
		s.now = time.Now
	}
	mode := c.Mode
	if mode == "" {
		mode = ModeDefault
	}
	if err := mode.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := s.forbids(mode); err != nil {
		return nil, err
	}
	for _, f := range append(slices.Clone(c.Folders), c.Home) {
		if f != "" && (!path.IsAbs(f) || path.Clean(f) != f) || f == "" && slices.Contains(c.Folders, "") {
			return nil, fmt.Errorf("%w: folder %q is not absolute and clean", ErrInvalid, f)
		}
	}
	s.limits = append(s.limits, protectLimit(c.Protected...))
	if err := checkNames(s.limits, s.policies); err != nil {
		return nil, err
	}
	return &Guards{agentGuards{source: s, own: mode}}, nil
}

// forbids refuses a mode that nobody may set.
func (src *runGuards) forbids(m Mode) error {
	if m == ModeBypass && src.noBypass {
		return fmt.Errorf("%w: mode %s is disabled here; hint: choose another mode", ErrInvalid, m)
	}
	return nil
}

func checkNames(lists ...[]NamedPolicy) error {
	seen := map[string]bool{}
	for _, list := range lists {
		for _, n := range list {
			switch {
			case n.Name == "":
				return fmt.Errorf("%w: a limit or policy has no name", ErrInvalid)
			case n.Policy == nil:
				return fmt.Errorf("%w: %q is no policy", ErrInvalid, n.Name)
			case seen[n.Name]:
				return fmt.Errorf("%w: two limits or policies are called %q", ErrInvalid, n.Name)
			}
			seen[n.Name] = true
		}
	}
	return nil
}

// Child makes the guards of a sub-agent from the same source: every later change
// reaches it, and its mode is never weaker than its parent's, also when the
// parent's becomes stricter later: where two modes differ the stricter answer
// counts, and a child of an agent that plans plans. The mode "" is the parent's.
func (s *Guards) Child(agent string, mode Mode) (*Guards, error) {
	if mode == "" {
		mode = ModeBypass // the weakest: the parent's is in force
	}
	if err := mode.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return &Guards{agentGuards{source: s.source, parent: s, agent: agent, own: mode}}, nil
}

// SetCanUseTool replaces the host's callback, for all agents of the run, from the
// next decision on; nil takes it away.
func (s *Guards) SetCanUseTool(f CanUseTool) {
	s.source.mu.Lock()
	defer s.source.mu.Unlock()
	s.source.callback = f
}

// Mode is the mode in force.
func (s *Guards) Mode() Mode {
	s.source.mu.RLock()
	defer s.source.mu.RUnlock()
	return s.mode()
}

// mode needs the source's lock.
func (s *Guards) mode() Mode {
	if s.parent == nil {
		return s.own
	}
	return s.own.Stricter(s.parent.mode())
}

// held needs the source's lock.
func (s *Guards) held() []Mode {
	if s.parent == nil {
		return nil
	}
	var list []Mode
	for at := s; at != nil; at = at.parent {
		list = append(list, at.own)
	}
	return list
}

// decide says what the modes that hold say to a kind, and which one decides: the
// worst answer counts. One mode is not stricter than another to every kind: auto
// denies what is dangerous where acceptEdits asks.
func (v *decisionInput) decide(k actionKind) (Effect, Mode) {
	worst, by := v.mode.decide(k), v.mode
	for _, m := range v.held {
		if e := m.decide(k); effectOrder(e) > effectOrder(worst) {
			worst, by = e, m
		}
	}
	return worst, by
}

// has returns the first of the modes that hold for which is is true.
func (v *decisionInput) has(is func(Mode) bool) (Mode, bool) {
	if is(v.mode) {
		return v.mode, true
	}
	if i := slices.IndexFunc(v.held, is); i >= 0 {
		return v.held[i], true
	}
	return "", false
}

// plans reports whether the agent, or one above it, is in plan mode.
func (v *decisionInput) plans() bool {
	_, plans := v.has(func(m Mode) bool { return m == ModePlan })
	return plans
}

// Plans reports whether the agent, or one above it, is in plan mode: then nothing but a
// person's yes, or the host's, opens what changes something.
func (s *Guards) Plans() bool {
	s.source.mu.RLock()
	defer s.source.mu.RUnlock()
	v := decisionInput{mode: s.mode(), held: s.held()}
	return v.plans()
}

// Version counts the changes.
func (s *Guards) Version() int {
	s.source.mu.RLock()
	defer s.source.mu.RUnlock()
	return s.source.version
}

// Grants lists what people decided for the session, oldest first.
func (s *Guards) Grants() []Grant {
	s.source.mu.RLock()
	defer s.source.mu.RUnlock()
	list := make([]Grant, len(s.source.grants))
	for i, g := range s.source.grants {
		list[i] = g.Grant
	}
	return list
}

// view takes everything that a decision about a tool needs, at one moment.
func (s *Guards) view(tool string) decisionInput {
	src := s.source
	src.mu.RLock()
	defer src.mu.RUnlock()
	return decisionInput{
		mode: s.mode(), held: s.held(), limits: s.limiting(), version: src.version, callback: src.callback, grants: src.grants,
		policies: src.patched(tool),
	}
}
