package policy

import "context"

// Placeholders that ask or deny, until the parts are there.

type guardsState struct{ mode Mode }

func (g *Guard) judge(context.Context, []Request, Remake) Decision { return Decision{Effect: Deny} }
func (g *Guard) chain() Chain                                      { return Chain{Tool: g.tool} }

// New makes guards. An unknown mode, a nameless limit or policy, or a folder that
// is not absolute is an error.
func New(c *Config) (*Guards, error) { return &Guards{}, nil }

// Child makes the guards of a sub-agent from the same source: every later change
// reaches it, and its mode is never weaker than its parent's.
func (s *Guards) Child(agent string, mode Mode) (*Guards, error) { return s, nil }

// Check says whether a change could be applied now, and fills in its Version, and
// the ID and name of its grant.
func (s *Guards) Check(c Change) (Change, error) { return c, nil }

// Apply takes a change in: from the next decision on it is in force.
func (s *Guards) Apply(c Change) error { return nil }

// Mode is the mode in force.
func (s *Guards) Mode() Mode { return s.mode }

// Version counts the changes.
func (s *Guards) Version() int { return 0 }

// Grants lists what people decided for the rest of the run, oldest first.
func (s *Guards) Grants() []Grant { return nil }

