// Package hook runs user code (functions, commands, HTTP) at events of an agent, such as before a
// tool call, and merges the results.
//
//	agent ── Input ─► Registry.Fire ─┬─ function ──────────────┐
//	                                 ├─ command, in the sandbox ├─► Output … ─► Outcome ─► agent
//	                                 └─ HTTP ───────────────────┘   (merged, in order of registration)
//
// The shortest use is a function that looks at every Bash call:
//
//	hooks := hook.New(nil)
//	err := hooks.HandleFunc(hook.PreToolUse, "Bash", func(ctx context.Context, in hook.Input) (*hook.Output, error) {
//		return &hook.Output{Block: true, Reason: "not today"}, nil
//	})
//	a, err := agent.New(m, &agent.Options{Hooks: hooks})
//
// An event has the name that Claude Code gives it, and most events also have the name of the Open
// Agent SDK: "PreToolUse" and "preToolUse" are the same event in two dialects. The name under which
// a hook is registered selects the dialect of its input and output, so a script that was written
// for one of these two programs runs unchanged.
//
// A hook may deny a call, require approval, replace an input and add text for the model. A hook
// never weakens a deny or an ask of a rule. The package makes no decision: an [Outcome] is advice,
// which the agent combines with the decision of its guards (package policy).
// docs/reference/hooks.md lists the effects of each event.
package hook
