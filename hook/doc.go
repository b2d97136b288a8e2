// Package hook tells others what an agent is about to do and has done, and takes
// in what they say to it.
//
//	agent ── Input ─► Registry.Fire ─┬─ function ──────────────┐
//	                                 ├─ command, in the sandbox ├─► Output … ─► Outcome ─► agent
//	                                 └─ HTTP ───────────────────┘   (merged, in order of registration)
//
// The shortest use is a function that looks at every Bash call:
//
//	hooks := hook.New(nil)
//	err := hooks.On(hook.PreToolUse, "Bash", func(ctx context.Context, in hook.Input) (*hook.Output, error) {
//		return &hook.Output{Block: true, Reason: "not today"}, nil
//	})
//	a, err := agent.New(m, &agent.Options{Hooks: hooks})
//
// Events have Claude Code's names and seed 000's: "PreToolUse" and "preToolUse"
// are one event in two dialects. A hook is spoken to, and understood, in the
// dialect of the name that it was registered for, so that scripts written for
// either run unchanged.
//
// A hook may forbid, ask, replace an input and add to what the model reads; it
// never loosens what a rule denies or asks about. The package decides nothing
// itself: an [Outcome] is advice that the agent puts before its guards (package
// policy). docs/reference/hooks.md says what each event can do.
package hook
