// Package runmodel executes random runs and checks them against a simple model of
// the rules in docs/architecture.md. It has tests only.
//
//	rapid draws ─► world: prompts, sub-agents, teammates, background calls, answers
//	                 │    from elsewhere, changes of mode, revocations, kills,
//	                 │    restarts, takeovers, compactions, forks, redactions
//	                 ├─► the real thing: agents on a memory, SQLite or PostgreSQL store
//	                 └─► the model: one policy state per run, what was paid, which
//	                     words are erased
//
// Each tool call is checked against the model when it runs, and the logs after every
// step: which calls are allowed, what was paid, what may be read.
//
// The model, the tools and the users are fakes that follow a program, which is drawn
// before the prompt that starts it. Only one agent runs at a time (except parallel
// sub-agents, whose policy does not change meanwhile), so that a seed reproduces a run.
package runmodel
