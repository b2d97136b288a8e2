package policy

import (
	"context"
	"encoding/json"
	"time"
)

// Config is what guards are made from. The zero value asks about every effect.
type Config struct {
	Mode Mode // default [ModeDefault]
	// NoBypass forbids the mode bypassPermissions for the whole run, also to
	// whoever changes the mode later.
	NoBypass bool

	// Limits are hard: their deny is final in every mode (managed denies,
	// forbidden globs, the sandbox checker), and their ask is not skipped by an
	// allow rule. They are named in the chain.
	Limits []NamedPolicy
	// Protected are more files and folders, absolute and without links, that are asked about
	// before they are written, as those are that decide what other programs do or run: the
	// settings that are in force, wherever they lie.
	Protected []string
	// CanUseTool is the host's callback; it may be nil.
	CanUseTool CanUseTool
	// Policies are asked after the callback, in order, each with its own opinion.
	Policies []NamedPolicy
	// Rules are what settings files and flags say; nil means none.
	Rules *Rules

	// AutoAllowConfined is where autoAllowBashIfSandboxed was set to true; nil: nowhere.
	// Bash commands whose request is Confined then pass without the callback and
	// without the mode's question. Everything else counts: limits, policies, rules,
	// and plan mode.
	AutoAllowConfined *Origin

	// Folders are the session's folders, absolute and without links: the first is
	// the one it was started in. Reads inside are what modes let pass; edits inside
	// are what acceptEdits lets pass.
	Folders []string
	Home    string // of the user, for "~" in commands

	// Resolve returns a path without links, for paths that commands name; what
	// does not exist keeps its name. Nil takes paths by their letters. It is the
	// one door to the file system, and it is the caller's.
	Resolve func(path string) string

	Timeout time.Duration    // of a callback or a policy of the host; default 30 s
	Now     func() time.Time // for grants; default time.Now
	NewID   func() string    // for grants; required once grants are made
}

// NamedPolicy is a policy with the name it has in chains and decisions.
type NamedPolicy struct {
	Name string
	Policy
}

// Guards are the guards of one agent: one per tool, all from the same source, so
// that a change reaches those that exist and those that will. It is safe for
// concurrent use.
type Guards struct{ agentGuards }

// Guard answers for one tool. It is safe for concurrent use.
type Guard struct {
	guards  *Guards
	tool    string
	without string
}

// ChainLink is one link of a guard's chain, as it is shown.
type ChainLink struct {
	Name   string  `json:"name"`  // seed 002's "policies" shows this
	Stage  string  `json:"stage"` // limits, sandbox, grants, callback, policies, rules, mode
	Detail string  `json:"detail,omitempty"`
	Rule   *Origin `json:"rule,omitempty"`
}

// Chain is a guard's chain with its version (the payload of seed 002's policy_updated).
type Chain struct {
	Tool    string      `json:"tool"`
	Version int         `json:"version"`
	Mode    Mode        `json:"mode"`
	Links   []ChainLink `json:"policies"`
}

// Judge decides about the requests of one call together: the worst verdict is
// the call's. It is the one function behind "may I" and "authorize". When a
// callback or policy allows with a new input, remake returns that input's requests
// and they are judged in turn; without remake, or when inputs keep changing, the
// call is denied. No request at all is judged as one about the tool itself.
//
// said is what hooks have said to the call: a deny and an ask count like anybody's,
// an allow passes the question of the mode and nothing else, and it is void once a
// callback or policy has changed the input that the hooks saw.
//
// ctx ends a callback early. Deny and Ask are decisions, not errors.
func (g *Guard) Judge(ctx context.Context, requests []Request, remake func(input json.RawMessage) ([]Request, error), said ...Contribution) Decision {
	return g.judge(ctx, requests, remake, said)
}

// WithoutGrant is the guard as it would be without a grant; "" is the guard itself. Whether what an
// answer allows may run is decided without the grant that the answer has left.
func (g *Guard) WithoutGrant(grant string) *Guard {
	if grant == "" {
		return g
	}
	return &Guard{guards: g.guards, tool: g.tool, without: grant}
}

// Chain describes the chain in the order in which it is asked.
func (g *Guard) Chain() Chain { return g.chain() }

// Guard returns the guard of a tool. It never fails: every name has one.
func (s *Guards) Guard(tool string) *Guard { return &Guard{guards: s, tool: tool} }
