// Package agent runs an agent: it sends input to a model, runs the tools that the model asks for,
// and repeats until there is an answer. Everything that happens is recorded in the session's log
// before it takes effect.
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
// With [Options].Sessions the session is stored, and the next agent with the same session id
// resumes where this one stopped, even after kill -9. [Agent.Run] yields events as they happen. A
// host that needs control over each step uses [Driver].
//
// The guards of package policy, made from [Options].Permissions, decide what a tool call may do.
// If a call needs approval, the approval request is recorded first. The first answer applies. It
// comes from [Permissions].Ask, from the host of a [Driver], or from another program (package
// approval). An approval request outlives the process: the next agent of the session requests
// approval again, or acts on the answer if there is one. The call runs only once.
//
// [Options].Transcript, [TranscriptObserver] and [Agent.Snapshot] are the three persistence
// primitives of the Open Agent SDK. A host with its own storage needs nothing else.
//
// The package makes no permission decisions (package policy does that), does not depend on a
// provider (the packages below model do), and prints nothing.
package agent
