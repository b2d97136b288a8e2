package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The errors of this package.
var (
	ErrStale        = errors.New("the policy was changed by another program") // Change.IfVersion
	ErrInvalid      = errors.New("invalid policy")
	ErrUnknownGrant = errors.New("unknown grant")
)

// Change is a change of policy during a run, and the payload of a policy.changed record. Exactly
// one of Mode, Patch, Grant, Revoke, Limit and Ended is set.
type Change struct {
	Mode   Mode   `json:"mode,omitempty"`
	Patch  *Patch `json:"patch,omitempty"`
	Grant  *Grant `json:"grant,omitempty"`
	Revoke string `json:"revoke,omitempty"` // the ID of the grant to revoke
	Limit  *Limit `json:"limit,omitempty"`  // in force until its turn ends
	// Ended marks the end of the run, which removes its grants and patches. A kill does not end a
	// run.
	Ended bool `json:"ended,omitempty"`

	Version   int    `json:"version,omitempty"`    // version of the policy after the change
	IfVersion *int   `json:"if_version,omitempty"` // the change is rejected if the policy has a different version (ErrStale)
	By        string `json:"by,omitempty"`
}

// Strict returns the part of a change that can only restrict: a deny grant, the denials of a patch,
// or a limit. It reports whether there is such a part.
func (c Change) Strict() (Change, bool) {
	switch {
	case c.Grant != nil:
		return c, c.Grant.Effect == Deny
	case c.Patch != nil:
		p := *c.Patch
		if p.Allow = nil; p.Default != Deny {
			p.Default = ""
		}
		c.Patch = &p
		return c, len(p.Deny) > 0 || p.Default == Deny
	}
	return c, c.Limit != nil
}

// Patch adds path rules to guards (agentkit's update_policy). It never removes a rule: Allow and
// Deny are added, and Default replaces the previous default if it is set.
type Patch struct {
	Tool    string   `json:"tool,omitempty"`  // "" means every guard, including future ones
	Mode    string   `json:"mode"`            // "read" or "write"
	Allow   []string `json:"allow,omitempty"` // globs, relative to the session's folder or absolute
	Deny    []string `json:"deny,omitempty"`
	Default Effect   `json:"default,omitempty"` // allow, deny, ask; "" keeps the previous default
	Dir     string   `json:"dir,omitempty"`     // the base of relative globs; default the session's folder
}

// Grant is a decision of the user for the session. It covers exactly Resource (and Cwd, for a
// command), or the rule in Scope if the user chose a wider scope.
type Grant struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`   // name for display: "session-allow-write-generated---json"; not unique
	Effect    Effect          `json:"effect"` // allow or deny
	Tool      string          `json:"tool"`
	Operation Operation       `json:"operation,omitempty"`
	Resource  string          `json:"resource,omitempty"`
	Cwd       string          `json:"cwd,omitempty"`
	Address   string          `json:"address,omitempty"`  // for a connection: the private address of the host
	Scope     string          `json:"scope,omitempty"`    // a rule such as "Bash(npm run test:*)"; if set, Resource and Cwd are empty
	Dir       string          `json:"dir,omitempty"`      // base of the relative paths in Scope; default the session's folder
	Confined  bool            `json:"confined,omitempty"` // for an allow: it covers only commands that run in the sandbox
	Weak      bool            `json:"weak,omitempty"`     // for an allow that the user did not give; any ask overrides such an allow
	Question  string          `json:"question,omitempty"`
	By        string          `json:"by,omitempty"`
	At        time.Time       `json:"at"`
	Input     json.RawMessage `json:"-"`
}

// Check reports whether a change can be applied now. It returns the change with its Version and
// with missing fields filled in, such as the ID, name and time of a grant. Errors: [ErrStale] if
// IfVersion is not the current version, [ErrUnknownGrant], and [ErrInvalid] for every other reason.
func (s *Guards) Check(c Change) (Change, error) {
	src := s.run
	src.mu.RLock()
	defer src.mu.RUnlock()
	if c.IfVersion != nil && *c.IfVersion != src.version {
		return c, fmt.Errorf("%w: its version is %d, not %d; hint: read the policy again and retry", ErrStale, src.version, *c.IfVersion)
	}
	if g := c.Grant; g != nil {
		filled := *g
		c.Grant = &filled
		filled.Name = src.env.grantName(&filled)
		if filled.Scope != "" && filled.Dir == "" { // the base stays the same even if the session continues in another folder
			filled.Dir = src.env.cwd()
		}
		if filled.ID == "" {
			if src.newID == nil {
				return c, fmt.Errorf("%w: a grant needs an ID, but Config.NewID is not set", ErrInvalid)
			}
			filled.ID = src.newID()
		}
		if filled.At.IsZero() {
			filled.At = src.now()
		}
		c.Grant = &filled
	}
	if l := c.Limit; l != nil {
		filled := *l
		if filled.Dir == "" {
			filled.Dir = src.env.cwd()
		}
		if filled.ID == "" && src.newID != nil {
			filled.ID = src.newID()
		}
		c.Limit = &filled
	}
	if p := c.Patch; p != nil && p.Dir == "" { // the base stays the same if the session continues in another folder
		filled := *p
		filled.Dir = src.env.cwd()
		c.Patch = &filled
	}
	if err := src.forbids(c.Mode); err != nil {
		return c, err
	}
	c.Version = src.version + 1
	_, err := src.compile(c)
	return c, err
}

// Apply applies a change, which takes effect with the next decision. A mode and a limit apply to
// this agent and its sub-agents. Every other change applies to the whole run. A change from another
// process or from a log keeps its version; versions never decrease. Apply does not check IfVersion.
// A mode that another process set and that is disabled here becomes the default mode.
func (s *Guards) Apply(c Change) error {
	src := s.run
	src.mu.Lock()
	defer src.mu.Unlock()
	made, err := src.compile(c)
	if err != nil {
		return err
	}
	switch {
	case c.Mode != "":
		if s.own = c.Mode; src.forbids(c.Mode) != nil {
			s.own = ModeDefault
		}
	case c.Patch != nil:
		src.patches = append(slices.Clip(src.patches), made.patch)
	case c.Grant != nil:
		src.grants = append(slices.Clip(src.grants), made.grant)
	case c.Revoke != "":
		src.grants = slices.DeleteFunc(slices.Clone(src.grants), func(g *grant) bool { return g.ID == c.Revoke })
	case c.Limit != nil:
		s.limits = append(slices.Clip(s.limits), made.limit)
	case c.Ended:
		src.grants, src.patches, s.limits = nil, nil, nil
	}
	src.version = max(src.version+1, c.Version)
	return nil
}

// checkedChange is a change that passed its checks.
type checkedChange struct {
	patch *patch
	grant *grant
	limit *limit
}

// compile checks everything about a change except its version. The caller holds the lock.
func (src *runGuards) compile(c Change) (made checkedChange, err error) {
	parts := 0
	for _, set := range []bool{c.Mode != "", c.Patch != nil, c.Grant != nil, c.Revoke != "", c.Limit != nil, c.Ended} {
		if set {
			parts++
		}
	}
	if parts != 1 {
		return made, fmt.Errorf("%w: a change must have exactly one of mode, patch, grant, revoke, limit and ended, not %d", ErrInvalid, parts)
	}
	switch {
	case c.Mode != "":
		if err := c.Mode.Check(); err != nil {
			return made, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	case c.Patch != nil:
		made.patch, err = src.compilePatch(c.Patch)
		return made, err
	case c.Grant != nil:
		if c.Grant.ID == "" {
			return made, fmt.Errorf("%w: a grant has no ID", ErrInvalid)
		}
		if src.granted(c.Grant.ID) {
			return made, fmt.Errorf("%w: grant %s already exists", ErrInvalid, c.Grant.ID)
		}
		made.grant, err = src.compileGrant(c.Grant)
		return made, err
	case c.Limit != nil:
		made.limit, err = src.compileLimit(c.Limit)
		return made, err
	case c.Revoke != "" && !src.granted(c.Revoke):
		return made, fmt.Errorf("%w: %s", ErrUnknownGrant, c.Revoke)
	}
	return made, nil
}

func (src *runGuards) granted(id string) bool {
	return slices.ContainsFunc(src.grants, func(g *grant) bool { return g.ID == id })
}
