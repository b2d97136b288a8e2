package policy

import (
	"fmt"
	"path"
	"slices"
	"sync"
	"time"
)

const defaultTimeout = 30 * time.Second

// agentGuards is the state of one agent's guards: its mode, and the source that it shares with the
// guards of its parent and its children.
type agentGuards struct {
	run    *runGuards
	parent *Guards
	agent  string
	own    Mode // mode as it was set; the effective mode is never weaker than the parent's
	folder string
	limits []*limit
}

// runGuards is the shared source of all guards of a run. Its lists are replaced, never modified, so
// a decision can finish with the lists that it had at its start.
type runGuards struct {
	env             environment
	limits          []NamedPolicy
	policies        []NamedPolicy
	rules           *Rules
	callbacks       callbackRunner
	now             func() time.Time
	newID           func() string
	noBypass        bool
	autoAllowOrigin *Origin // origin of the setting autoAllowBashIfSandboxed if it is true, or nil

	mu       sync.RWMutex // protects the fields below and the modes of all agents
	callback CanUseTool
	version  int
	grants   []*grant
	patches  []*patch
}

// decisionInput is the state that one decision uses.
type decisionInput struct {
	mode     Mode   // the strictest mode that applies
	modes    []Mode // all modes that apply to a sub-agent: its mode and those of its parents
	version  int
	callback CanUseTool
	grants   []*grant
	policies []NamedPolicy
	hooks    []Contribution // results of the call's hooks
	limits   []*limit
}

// New creates guards. c may be nil; it is copied. The error wraps [ErrInvalid]: the mode is unknown
// or disabled, a limit or policy is nil, has no name or has the name of another one, or a folder is
// not absolute and clean.
func New(c *Config) (*Guards, error) {
	if c == nil {
		c = &Config{}
	}
	s := &runGuards{
		env:       environment{folders: slices.Clone(c.Folders), home: c.Home, resolve: c.Resolve},
		limits:    slices.Clone(c.Limits),
		policies:  slices.Clone(c.Policies),
		rules:     c.Rules,
		callbacks: callbackRunner{timeout: c.Timeout},
		now:       c.Now,
		newID:     c.NewID,
		noBypass:  c.NoBypass,
		callback:  c.CanUseTool,
	}
	if c.AutoAllowConfined != nil {
		by := *c.AutoAllowConfined
		s.autoAllowOrigin = &by
	}
	if s.callbacks.timeout <= 0 {
		s.callbacks.timeout = defaultTimeout
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
	return &Guards{agentGuards{run: s, own: mode}}, nil
}

// forbids rejects a mode that is disabled.
func (src *runGuards) forbids(m Mode) error {
	if m == ModeBypass && src.noBypass {
		return fmt.Errorf("%w: mode %s is disabled; hint: choose another mode", ErrInvalid, m)
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
				return fmt.Errorf("%w: policy %q is nil", ErrInvalid, n.Name)
			case seen[n.Name]:
				return fmt.Errorf("%w: duplicate name %q of a limit or policy", ErrInvalid, n.Name)
			}
			seen[n.Name] = true
		}
	}
	return nil
}

// Child creates the guards of a sub-agent from the same source, so later changes for the run also
// apply to them. A child's mode is never weaker than its parent's mode, even if the parent's mode
// becomes stricter later. If the two modes decide differently, the stricter decision applies. The
// child of an agent in plan mode is also in plan mode. The mode "" means the parent's mode. The
// error for an unknown mode wraps [ErrInvalid].
func (s *Guards) Child(agent string, mode Mode) (*Guards, error) {
	if mode == "" {
		mode = ModeBypass // the weakest mode, so that the parent's mode applies
	}
	if err := mode.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return &Guards{agentGuards{run: s.run, parent: s, agent: agent, own: mode}}, nil
}

// SetCanUseTool replaces the host's callback for all agents of the run, starting with the next
// decision. nil removes it.
func (s *Guards) SetCanUseTool(f CanUseTool) {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	s.run.callback = f
}

// Mode returns the current mode.
func (s *Guards) Mode() Mode {
	s.run.mu.RLock()
	defer s.run.mu.RUnlock()
	return s.mode()
}

// mode returns the effective mode. The caller holds the source's lock.
func (s *Guards) mode() Mode {
	if s.parent == nil {
		return s.own
	}
	return s.own.Stricter(s.parent.mode())
}

// allModes returns the modes of a sub-agent and its parents, or nil for the main agent. The caller
// holds the source's lock.
func (s *Guards) allModes() []Mode {
	if s.parent == nil {
		return nil
	}
	var list []Mode
	for at := s; at != nil; at = at.parent {
		list = append(list, at.own)
	}
	return list
}

// decide returns the strictest effect of the active modes for a kind, and the mode that has it. No
// mode is stricter than another for every kind: for example, auto denies dangerous commands, but
// acceptEdits asks about them.
func (v *decisionInput) decide(k actionKind) (Effect, Mode) {
	worst, by := v.mode.decide(k), v.mode
	for _, m := range v.modes {
		if e := m.decide(k); effectOrder(e) > effectOrder(worst) {
			worst, by = e, m
		}
	}
	return worst, by
}

// has returns the first active mode that the function accepts, and reports whether there is one.
func (v *decisionInput) has(is func(Mode) bool) (Mode, bool) {
	if is(v.mode) {
		return v.mode, true
	}
	if i := slices.IndexFunc(v.modes, is); i >= 0 {
		return v.modes[i], true
	}
	return "", false
}

// plans reports whether the agent, or a parent, is in plan mode.
func (v *decisionInput) plans() bool {
	_, plans := v.has(func(m Mode) bool { return m == ModePlan })
	return plans
}

// Plans reports whether the agent, or a parent, is in plan mode. In plan mode, a change is allowed
// only if the user or the host approves it.
func (s *Guards) Plans() bool {
	s.run.mu.RLock()
	defer s.run.mu.RUnlock()
	v := decisionInput{mode: s.mode(), modes: s.allModes()}
	return v.plans()
}

// Version returns the version of the policy. It increases with every change.
func (s *Guards) Version() int {
	s.run.mu.RLock()
	defer s.run.mu.RUnlock()
	return s.run.version
}

// Grants lists the decisions for the session, oldest first.
func (s *Guards) Grants() []Grant {
	s.run.mu.RLock()
	defer s.run.mu.RUnlock()
	list := make([]Grant, len(s.run.grants))
	for i, g := range s.run.grants {
		list[i] = g.Grant
	}
	return list
}

// view takes a consistent snapshot of the state for one decision.
func (s *Guards) view(tool string) decisionInput {
	src := s.run
	src.mu.RLock()
	defer src.mu.RUnlock()
	return decisionInput{
		mode: s.mode(), modes: s.allModes(), limits: s.limiting(), version: src.version, callback: src.callback, grants: src.grants,
		policies: src.patched(tool),
	}
}
