// Package reaper is the process between a supervisor and an agent: the parent that
// everything the agent starts comes back to, and the one that ends all of it.
//
//	supervisor ── order, kill ──► reaper ── fork, Landlock ──► agent ─► children, daemons, …
//	           ◄─ started, exit, gone ─┘◄───── orphans ──────────────────────┘
//
// It is our own program again (`holdfast supervise child`), with the streams of the agent
// as descriptors 0 to 2, a socket to the supervisor as 3 and, when the [Order] says so,
// the agent's channel and a Landlock ruleset behind that. It is a subreaper, so the tree
// below it is the agent's, whatever a process does to leave it; it forks from a thread
// that alone is in the Landlock domain, so the agent can neither signal nor trace it.
// Losing the supervisor ends the tree.
//
// What it says, a line each:
//
//	started PID                   the program runs
//	failed ERRNO STEP             it does not, and nothing is left
//	exit CODE SIGNAL OURS         the program ended; OURS is 1 when we killed it
//	gone                          nothing of the tree is left; the reaper ends
//
// What it is told: "kill MILLISECONDS" and "signal NUMBER".
//
// It imports next to nothing, because one of it is started for each process.
package reaper
