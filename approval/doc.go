// Package approval is how people are asked. A question is a durable record of a
// session; so is its answer. Whoever answers first has answered.
//
//	agent ─ approval.asked ─► log ◄─ approval.resolved ─ terminal, holdfast approvals, daemon
//	  └──────── Wait ◄──────── log                        (compare and set on the log's head)
//
// Because both are in the log, a question outlives the process that asked it: after
// a kill it is still there, can be answered by another program, and the tool then
// runs once.
//
//	open, err := approval.Pending(ctx, sessions, "")
//	won, err := approval.Resolve(ctx, sessions, open[0].Session, approval.Answer{
//		Question: open[0].ID, Decision: approval.Allow, By: "ann", Via: "cli",
//	})
package approval
