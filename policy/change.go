package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The contracts of this package's errors.
var (
	ErrStale        = errors.New("the policy has changed meanwhile") // Change.IfVersion
	ErrInvalid      = errors.New("not a valid policy")
	ErrUnknownGrant = errors.New("there is no such grant")
)

// Change is a change of policy while a run goes on, and the payload of a
// policy.changed record. Exactly one of Mode, Patch, Grant, Revoke, Limit and Ended is set.
type Change struct {
	Mode   Mode   `json:"mode,omitempty"`
	Patch  *Patch `json:"patch,omitempty"`
	Grant  *Grant `json:"grant,omitempty"`
	Revoke string `json:"revoke,omitempty"` // a grant's id
	Limit  *Limit `json:"limit,omitempty"`  // until its turn ends
	// Ended ends the run: its grants and patches are gone. A kill does not end a run.
	Ended bool `json:"ended,omitempty"`

	Version   int    `json:"version,omitempty"`    // of the policy after the change
	IfVersion *int   `json:"if_version,omitempty"` // refuse the change when the version is another (ErrStale)
	By        string `json:"by,omitempty"`
}

// Strict is what of a change to rules forbids something, and whether anything does.
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

// Patch adds path rules to guards (seed 002's update_policy). It never takes one
// away: Allow and Deny are added, Default replaces when it is set.
type Patch struct {
	Tool    string   `json:"tool,omitempty"`  // "": every guard, also those to come
	Mode    string   `json:"mode"`            // "read" or "write"
	Allow   []string `json:"allow,omitempty"` // globs, relative to the session's folder or absolute
	Deny    []string `json:"deny,omitempty"`
	Default Effect   `json:"default,omitempty"` // allow, deny, ask; "": as it was
	Dir     string   `json:"dir,omitempty"`     // the folder that relative globs are below; default the session's
}

// Grant is a decision that a person made for the session. It covers
// exactly Resource (and Cwd, of a command), or what Scope says when the person
// chose a wider one.
type Grant struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`   // for people: "session-allow-write-generated---json"; never the key
	Effect    Effect          `json:"effect"` // allow or deny
	Tool      string          `json:"tool"`
	Operation Operation       `json:"operation,omitempty"`
	Resource  string          `json:"resource,omitempty"`
	Cwd       string          `json:"cwd,omitempty"`
	Address   string          `json:"address,omitempty"`  // of a connection to a host at a private address: that address
	Scope     string          `json:"scope,omitempty"`    // a rule: "Bash(npm run test:*)"; then Resource and Cwd are empty
	Dir       string          `json:"dir,omitempty"`      // of a scope: the folder that its bare paths are below; default the session's
	Confined  bool            `json:"confined,omitempty"` // of an allow: only for what the sandbox holds
	Weak      bool            `json:"weak,omitempty"`     // of an allow that no person gave: an ask of anybody is stronger
	Question  string          `json:"question,omitempty"`
	By        string          `json:"by,omitempty"`
	At        time.Time       `json:"at"`
	Input     json.RawMessage `json:"-"`
}

// Check says whether a change could be applied now, and fills in its Version, and
// the ID, name and time of its grant. Errors: [ErrStale] when IfVersion is not the
// version in force, [ErrUnknownGrant], and [ErrInvalid] for everything else that
// cannot be applied.
func (s *Guards) Check(c Change) (Change, error) {
	src := s.source
	src.mu.RLock()
	defer src.mu.RUnlock()
	if c.IfVersion != nil && *c.IfVersion != src.version {
		return c, fmt.Errorf("%w: it is at version %d, not %d", ErrStale, src.version, *c.IfVersion)
	}
	if g := c.Grant; g != nil {
		filled := *g
		c.Grant = &filled
		filled.Name = src.world.grantName(&filled)
		if filled.Scope != "" && filled.Dir == "" { // it stays there, wherever the session goes on
			filled.Dir = src.world.cwd()
		}
		if filled.ID == "" {
			if src.newID == nil {
				return c, fmt.Errorf("%w: a grant needs an ID, and there is no Config.NewID", ErrInvalid)
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
			filled.Dir = src.world.cwd()
		}
		if filled.ID == "" && src.newID != nil {
			filled.ID = src.newID()
		}
		c.Limit = &filled
	}
	if p := c.Patch; p != nil && p.Dir == "" { // it stays there, wherever the session goes on
		filled := *p
		filled.Dir = src.world.cwd()
		c.Patch = &filled
	}
	if err := src.forbids(c.Mode); err != nil {
		return c, err
	}
	c.Version = src.version + 1
	_, err := src.compile(c)
	return c, err
}

// Apply takes a change in: from the next decision on it is in force. A change of
// mode is this agent's, everything else the whole run's. A change of another
// process, or one that is read from a log, has the version that it was given;
// versions never go back. IfVersion is not looked at again. A mode that is disabled
// here, and that somebody else has set, becomes the default.
func (s *Guards) Apply(c Change) error {
	src := s.source
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

// checkedChange is a change that was checked.
type checkedChange struct {
	patch *patch
	grant *grant
	limit *limit
}

// compile checks everything about a change but its version. It needs the lock.
func (src *runGuards) compile(c Change) (made checkedChange, err error) {
	parts := 0
	for _, set := range []bool{c.Mode != "", c.Patch != nil, c.Grant != nil, c.Revoke != "", c.Limit != nil, c.Ended} {
		if set {
			parts++
		}
	}
	if parts != 1 {
		return made, fmt.Errorf("%w: a change has exactly one of mode, patch, grant, revoke, limit and ended, not %d", ErrInvalid, parts)
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
			return made, fmt.Errorf("%w: there is a grant %s already", ErrInvalid, c.Grant.ID)
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
