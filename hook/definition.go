package hook

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// Func is a hook in Go. It may be called from several goroutines at once when
// several agents share a registry. ctx ends when its time is up, or the run; a
// function that goes on is left behind, and what it answers counts for nothing. It
// must not change what in points to: an answer is an [Output].
type Func func(ctx context.Context, in Input) (*Output, error)

// OnFailure says what it means when a hook cannot say anything: it does not
// start, runs out of time, panics, ends with an exit code other than 0 and 2, or
// prints what is no answer.
type OnFailure string

// The ways. Without one it is block on events that guard ([Info].Guards) for
// functions and in seed 000's dialect, and in Claude's with [Options].Strict;
// everywhere else continue.
const (
	FailBlock    OnFailure = "block"
	FailContinue OnFailure = "continue"
)

// Access is what the sandbox of a command lets it do with the project.
type Access string

// The ways: read the project, also write it, or no sandbox at all.
const (
	AccessRead  Access = "read" // default
	AccessWrite Access = "write"
	AccessOff   Access = "off"
)

// The types of hooks.
const (
	typeFunction = "function"
	TypeCommand  = "command"
	typeHTTP     = "http"
)

// Definition is one hook. Event and one of Func, Command and URL are required.
type Definition struct {
	Event   Event
	Dialect Dialect // default Claude
	Name    string  // for people; default the command, the URL, or what Go calls the function
	// Matcher picks by the field that [Info].Matches names; "" and "*" are all. In
	// Claude's dialect names (letters, digits, "_", "-", separated by "|" or ",") are
	// compared whole and anything else is a JavaScript regular expression; in seed
	// 000's it always is one. Expressions match anywhere.
	Matcher string
	// If is one permission rule, "Bash(git push:*)": of tool events, the hook runs for
	// calls that it covers, and for those that cannot be read.
	If  string
	Dir string // what a path in If that starts with one "/" is relative to; default [policy.RuleOptions].Cwd

	Func Func

	Command string            // for /bin/bash -c
	Args    []string          // with it: Command is a program, started as it is
	Env     []string          // names of further variables that it may know (allowedEnvVars; also for Headers)
	Access  Access            // "sandbox" in settings
	URL     string            // POST
	Headers map[string]string // "$NAME" and "${NAME}" stand for variables in Env

	Timeout   time.Duration // default: SeedTimeout, or [Info].Timeout
	OnFailure OnFailure
	Async     bool // the agent does not wait; what it says is taken in later
	Once      bool // per registry
	Status    string

	// Origin is where it was written; Digest identifies its text, see [Definition.Seal].
	Origin policy.Origin
	Digest string
}

// Type is TypeFunction, TypeCommand or TypeHTTP.
func (d *Definition) Type() string {
	switch {
	case d.Func != nil:
		return typeFunction
	case d.URL != "":
		return typeHTTP
	}
	return TypeCommand
}

// Blocks reports whether a failure of the hook counts as a block, see [OnFailure].
// strict is [Options].Strict.
func (d *Definition) Blocks(strict bool) bool {
	if d.OnFailure != "" {
		return d.OnFailure == FailBlock
	}
	info, _ := d.Event.Info()
	return info.Guards && !d.Async && (strict || d.Func != nil || d.Dialect == Seed)
}
