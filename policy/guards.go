package policy

import (
	"context"
	"encoding/json"
	"time"
)

// Config configures guards. The zero value allows reading and asks about everything else, as in
// [ModeDefault].
type Config struct {
	Mode Mode // default [ModeDefault]
	// NoBypass disables the mode bypassPermissions for the whole run, including for later mode
	// changes.
	NoBypass bool

	// Limits are hard: their deny is final in every mode, and an allow rule does not skip their
	// ask. Examples are managed denies, forbidden globs, and the sandbox checker. Their names
	// appear in the chain.
	Limits []NamedPolicy
	// Protected lists more files and folders, absolute and without links, that need approval before
	// they are written. They are treated like the files that control other programs. It is for the
	// settings files that are in effect, wherever they are.
	Protected []string
	// CanUseTool is the host's callback; it may be nil.
	CanUseTool CanUseTool
	// Policies run after the callback, in order; each has one opinion.
	Policies []NamedPolicy
	// Rules come from settings files and flags; nil means none.
	Rules *Rules

	// AutoAllowConfined is the origin of the setting autoAllowBashIfSandboxed if it is true, or
	// nil. Bash commands that would run in the sandbox ([Request].Confined) then skip the callback
	// and the mode's approval request. All other restrictions apply: limits, policies, rules, and
	// plan mode.
	AutoAllowConfined *Origin

	// Folders are the session's folders, absolute and without links. The session was started in the
	// first one. Modes allow reads inside them, and acceptEdits allows edits inside them.
	Folders []string
	Home    string // the user's home folder, for "~" in commands

	// Resolve returns a path without links. It is used for paths in commands. The parts of the path
	// that do not exist keep their names. It is the package's only access to the file system, and
	// the caller supplies the function. If nil, paths are compared as written.
	Resolve func(path string) string

	Timeout time.Duration    // time limit of a callback or policy of the host; default 30 s
	Now     func() time.Time // for grants; default time.Now
	NewID   func() string    // creates the ids of grants; required if grants are created
}

// NamedPolicy is a policy with its name in chains and decisions.
type NamedPolicy struct {
	Name string
	Policy
}

// Guards are the guards of one agent, one per tool. They share one source, so a change reaches
// existing and future guards. Guards is safe for concurrent use.
type Guards struct{ agentGuards }

// Guard decides about calls of one tool. It is safe for concurrent use.
type Guard struct {
	guards  *Guards
	tool    string
	without string
}

// ChainLink is one link of a guard's chain, for display.
type ChainLink struct {
	Name   string  `json:"name"`  // shown by agentkit's "policies"
	Stage  string  `json:"stage"` // one of limits, sandbox, grants, callback, policies, rules and mode
	Detail string  `json:"detail,omitempty"`
	Rule   *Origin `json:"rule,omitempty"`
}

// Chain is the chain of a guard, and its version (the payload of agentkit's policy_updated).
type Chain struct {
	Tool    string      `json:"tool"`
	Version int         `json:"version"`
	Mode    Mode        `json:"mode"`
	Links   []ChainLink `json:"policies"`
}

// Judge decides about the requests of one call together: the strictest verdict becomes the verdict
// of the call. It is the only decision function. It is used both to show a decision in advance and
// to authorize a call. If a callback or policy allows with a new input, the function remake returns
// the requests of that input, and Judge decides about those requests, too. Without remake, or if
// inputs keep changing, the call is denied. A call without requests is treated as a request about
// the tool itself.
//
// The parameter hooks holds the results of the call's hooks. A deny or an ask from a hook applies
// like any other. An allow only skips the mode's approval request. It no longer applies if a
// callback or policy changes the input that the hooks saw.
//
// Canceling ctx ends a callback early. Deny and Ask are decisions, not errors.
func (g *Guard) Judge(ctx context.Context, requests []Request, remake func(input json.RawMessage) ([]Request, error), hooks ...Contribution) Decision {
	return g.judge(ctx, requests, remake, hooks)
}

// WithoutGrant returns the guard without one grant; "" returns the guard itself. It is used to
// decide about a call whose approval created that grant.
func (g *Guard) WithoutGrant(grant string) *Guard {
	if grant == "" {
		return g
	}
	return &Guard{guards: g.guards, tool: g.tool, without: grant}
}

// Chain describes the chain in evaluation order.
func (g *Guard) Chain() Chain { return g.chain() }

// Guard returns the guard of a tool. It never fails: every name has a guard.
func (s *Guards) Guard(tool string) *Guard { return &Guard{guards: s, tool: tool} }
