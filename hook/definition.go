package hook

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// function is a hook in Go.
type function = func(ctx context.Context, in Input) (*Output, error)

// The values of [Definition].OnFailure and [Definition].Sandbox.
const (
	failBlock    = "block"
	failContinue = "continue"

	sandboxRead  = "read"
	sandboxWrite = "write"
	sandboxOff   = "off"
)

// The types of hooks.
const (
	typeFunction = "function"
	typeCommand  = "command"
	typeHTTP     = "http"
)

// Definition is one hook. Event and one of Func, Command and URL are required.
type Definition struct {
	Event Event
	// Dialect is the convention of the hook: "claude", or "seed" for the Open Agent SDK's. The
	// default depends on the spelling of Event: "PreToolUse" selects Claude's dialect, and
	// "preToolUse" selects the Open Agent SDK's. The dialects differ in the JSON on standard input,
	// the meaning of exit codes and plain text, the comparison of matchers, and the default
	// timeout.
	Dialect string
	Name    string // for display; default the command, the URL, or the Go name of the function
	// Matcher selects by one field of the input, which is the tool's name for tool events
	// (docs/reference/hooks.md lists all); "" and "*" match everything. In Claude's dialect, names
	// (letters, digits, "_", "-", separated by "|" or ",") are compared whole, and anything else is
	// a JavaScript regular expression. In the Open Agent SDK's dialect it is always an expression.
	// Expressions match anywhere.
	Matcher string
	// If is one permission rule, such as "Bash(git push:*)". For tool events, the hook runs for
	// calls that the rule covers and for calls that cannot be parsed.
	If  string
	Dir string // the base of a path in If that starts with one "/"; default [policy.RuleOptions].Cwd

	// Func is a hook in Go. It may be called from several goroutines at once if several agents
	// share a registry. ctx ends at the timeout or when the run ends. A function that has not
	// returned by then is abandoned, and its result is ignored. Func must not modify data that in
	// refers to; it returns changes in the Output.
	Func func(ctx context.Context, in Input) (*Output, error)

	Command string   // for /bin/bash -c
	Args    []string // if not nil, Command is a program that is started with these arguments, without a shell
	// Vars are more variables for a command, with their values. "${NAME}" is also replaced in Args, and
	// in Command if Args is set.
	Vars map[string]string
	Env  []string // names of additional variables to pass (allowedEnvVars; also for Headers)
	// Sandbox is a command's access to the project: "read" (the default), "write", or "off" for no
	// sandbox at all.
	Sandbox string
	URL     string            // POST
	Headers map[string]string // "$NAME" and "${NAME}" are replaced by variables in Env

	Timeout time.Duration // default: see [Definition.TimeLimit]
	// OnFailure says what happens if the hook fails: it does not start, times out, panics, exits
	// with a code other than 0 and 2, or prints invalid output. "block" treats a failure as a
	// block, "continue" does not. On events that guard ([Event.Guards]), the default is "block" for
	// functions, for the Open Agent SDK's dialect, and for Claude's dialect with [Options].Strict.
	// In all other cases, and for async hooks, it is "continue".
	OnFailure string
	Async     bool // the agent does not wait; the result is read later
	Once      bool // per registry
	Status    string

	// Origin is the position of the definition; Digest identifies its text, see
	// [Definition.ComputeDigest].
	Origin policy.Origin
	Digest string
}

// Type returns "function", "command" or "http".
func (d *Definition) Type() string {
	switch {
	case d.Func != nil:
		return typeFunction
	case d.URL != "":
		return typeHTTP
	}
	return typeCommand
}

// CanBlock reports whether a failure of the hook is treated as a block; see OnFailure. strict is
// [Options].Strict.
func (d *Definition) CanBlock(strict bool) bool {
	if d.OnFailure != "" {
		return d.OnFailure == failBlock
	}
	return d.Event.Guards() && !d.Async && (strict || d.Func != nil || d.Dialect == dialectSeed)
}

// TimeLimit returns the hook's timeout: Timeout, or the default if Timeout is not set. The default
// is 30 seconds for functions and for the Open Agent SDK's dialect. For Claude's dialect it is 10
// minutes, except for a few events.
func (d *Definition) TimeLimit() time.Duration {
	switch {
	case d.Timeout > 0:
		return d.Timeout
	case d.Func != nil || d.Dialect == dialectSeed:
		return seedTimeout
	}
	info, _ := d.Event.info()
	return info.Timeout
}
