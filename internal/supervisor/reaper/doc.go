// Package reaper is the process between a supervisor and an agent: the parent that adopts all orphans of the
// agent's processes, and that ends all of them.
//
//	supervisor ── order, kill ──► reaper ── fork, Landlock ──► agent ─► children, daemons, …
//	           ◄─ started, exit, gone ─┘◄───── orphans ──────────────────────┘
//
// It is the holdfast program again (`holdfast supervise child`), with the streams of the agent as
// descriptors 0 to 2, a socket to the supervisor as 3 and, if the [Order] says so, the agent's
// channel and a Landlock ruleset as the next ones. It is a subreaper: whatever a process does to
// leave the tree, all processes below the reaper belong to the agent. It forks the agent from a
// thread with its own Landlock domain, so the agent can neither signal nor trace the reaper. If the
// supervisor is lost, the reaper ends the tree.
//
// It writes these messages, one line each:
//
//	started PID                   the program runs
//	failed ERRNO STEP             it could not be started, and nothing is left
//	exit CODE SIGNAL OURS         the program ended; OURS is 1 if the reaper killed it
//	gone                          nothing of the tree is left; the reaper ends
//
// Its input lines are "kill MILLISECONDS" and "signal NUMBER".
//
// It imports as little as possible, because one reaper is started for each process.
package reaper
