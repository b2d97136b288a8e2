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
	// Dialect is the convention that the hook was written for: "claude", or "seed" for that of
	// seed 000. The default follows from the spelling of Event: Claude's "PreToolUse", seed 000's
	// "preToolUse". What differs: the JSON on standard input, what exit codes and plain text
	// mean, how a matcher compares, and the default time.
	Dialect string
	Name    string // for people; default the command, the URL, or what Go calls the function
	// Matcher picks by one field of the input, that of the tool's name for events of tools
	// (docs/reference/hooks.md lists all); "" and "*" are all. In Claude's dialect names (letters, digits, "_", "-", separated by "|" or ",") are
	// compared whole and anything else is a JavaScript regular expression; in seed
	// 000's it always is one. Expressions match anywhere.
	Matcher string
	// If is one permission rule, "Bash(git push:*)": of tool events, the hook runs for
	// calls that it covers, and for those that cannot be read.
	If  string
	Dir string // what a path in If that starts with one "/" is relative to; default [policy.RuleOptions].Cwd

	// Func is a hook in Go. It may be called from several goroutines at once when several
	// agents share a registry. ctx ends when its time is up, or the run; a function that goes
	// on is left behind, and what it answers counts for nothing. It must not change what in
	// points to: an answer is an Output.
	Func func(ctx context.Context, in Input) (*Output, error)

	Command string   // for /bin/bash -c
	Args    []string // with it: Command is a program, started as it is
	Env     []string // names of further variables that it may know (allowedEnvVars; also for Headers)
	// Sandbox says what a command may do with the project: "read" it (the default), also
	// "write" it, or "off": there is no sandbox at all.
	Sandbox string
	URL     string            // POST
	Headers map[string]string // "$NAME" and "${NAME}" stand for variables in Env

	Timeout time.Duration // default: see [Definition.TimeLimit]
	// OnFailure says what it means when the hook cannot say anything: it does not start, runs
	// out of time, panics, ends with an exit code other than 0 and 2, or prints what is no
	// answer. "block" counts that as a block, "continue" does not. The default on events that
	// guard ([Event.Guards]) is "block" for functions and in seed 000's dialect, and in Claude's
	// with [Options].Strict; everywhere else it is "continue".
	OnFailure string
	Async     bool // the agent does not wait; what it says is taken in later
	Once      bool // per registry
	Status    string

	// Origin is where it was written; Digest identifies its text, see [Definition.ComputeDigest].
	Origin policy.Origin
	Digest string
}

// Type is "function", "command" or "http".
func (d *Definition) Type() string {
	switch {
	case d.Func != nil:
		return typeFunction
	case d.URL != "":
		return typeHTTP
	}
	return typeCommand
}

// CanBlock reports whether a failure of the hook counts as a block, see OnFailure.
// strict is [Options].Strict.
func (d *Definition) CanBlock(strict bool) bool {
	if d.OnFailure != "" {
		return d.OnFailure == failBlock
	}
	return d.Event.Guards() && !d.Async && (strict || d.Func != nil || d.Dialect == dialectSeed)
}

// TimeLimit returns how long the hook may take: Timeout, or the default. That is 30 seconds for
// functions and in seed 000's dialect, and 10 minutes in Claude's but for a few events.
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
