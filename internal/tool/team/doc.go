// Package team lets an agent lead others: teammates with names, which live on after their
// turns, send each other messages and share a list of tasks.
//
//	Agent{name, team_name} ─► teammate: a sub-agent with a session of its own, owned by the lead's
//	SendMessage{to} ─────────► queued item in the log of whoever it is to: there once, also after a kill
//	task is free to begin ───► its owner is told, once
//	nothing to do ───────────► TeammateIdle ─► (block: works on) ─► the lead is told, once ─► waits
//
//	t := team.New(nil)
//	subs, err := agent.NewSubagents(&agent.SubagentOptions{Named: t.Join, Resumed: t.Resume})
//	tools, err := t.Tools()
//
// There is no file and no record of the team besides the sessions of its members: their
// tags say who they are. An agent whose session is gone on with has its teammates again,
// each with what it had left open and what it was told and has not read.
package team
