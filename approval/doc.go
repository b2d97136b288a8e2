// Package approval stores approval requests and their answers in the log of a session. An approval
// request asks a person whether a tool call may run. The first answer wins.
//
//	agent ─ approval.asked ─► log ◄─ approval.resolved ─ terminal, holdfast approvals, daemon
//	  └──────── Wait ◄──────── log                        (compare and set on the log's head)
//
// Because both are records, an approval request outlives the process that made it. After a crash,
// another program can answer it, and the tool then runs only once.
//
//	open, err := approval.Pending(ctx, sessions, "")
//	won, err := approval.Resolve(ctx, sessions, open[0].Session, approval.Answer{
//		RequestID: open[0].ID, Decision: approval.Allow, Actor: "ann", Via: "cli",
//	})
//
// The package does not decide which calls need approval (package policy does) and shows nothing to
// the user.
package approval
