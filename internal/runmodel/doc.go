// Package runmodel plays whole runs at random and checks them against a plain
// model of the laws in docs/architecture.md. It has tests only.
//
//	rapid draws ─► world: prompts, sub-agents, teammates, background calls, answers
//	                 │    from elsewhere, changes of mode, revocations, kills,
//	                 │    restarts, takeovers, compactions, forks, redactions
//	                 ├─► the real thing: agents on a memory, SQLite or PostgreSQL store
//	                 └─► the model: one policy state per run, what was paid, which
//	                     words are erased
//
// Every tool call that runs is held against the model at that moment, and after
// every step the logs are: who may run what, what was paid, what may be read.
//
// The model, the tools and the people are fakes that follow a program, which is
// drawn before the prompt that begins it. Only one agent moves at a time (sub-agents
// side by side excepted, whose policy does not change meanwhile), so that a seed
// gives the same run again.
package runmodel
