// Package agent runs the loop: input, model, tools, model, answer. Everything
// that happens is a record of the session's log before it counts.
//
//	          ┌────────────── Driver.Next ───────────────┐
//	input ─►  │ admit ─► model ─► item ─► tool round ─┐   │ ─► finished
//	          │            ▲                          │   │ ─► needs approval
//	          │            └──── results, mutators ◄──┘   │ ─► after tool result
//	          └───────────────────┬───────────────────────┘ ─► awaiting input
//	                              ▼
//	     session.Log ─► TranscriptObservers ─► memory ─► events
//
// The shortest use needs no store and no tools:
//
//	a, err := agent.New(m, nil)
//	res, err := a.Prompt(ctx, "hello")
//
// With Options.Sessions the agent remembers: the next agent that is given the
// same session id goes on where this one stopped, also when it stopped by
// kill -9. [Agent.Run] yields events as they happen; a host that wants to hold
// the reins steps the [Driver] itself.
//
// What a tool call may do is decided by the guards of package policy, made from
// [Options].Permissions. Where they ask, a question is put on record first; then
// whoever answers first has answered: the person behind [Permissions].Ask, a [Driver]'s
// host, or another program (package approval). A question outlives the process: the
// next agent of the session asks it again, or acts on the answer, once.
//
// The three primitives of persistence (seed 001) are [Options].Transcript,
// [TranscriptObserver] and [Agent.Snapshot]; a host with its own storage needs
// nothing else.
//
// The package decides nothing about permission (package policy), knows no
// provider (packages below model) and prints nothing.
package agent
