// Package team provides the team tools. With them, an agent leads named agents that remain
// available between turns, send each other messages and share a task list.
//
//	Agent{name, team_name} ─► teammate: a sub-agent with a session of its own, owned by the lead's
//	SendMessage{to} ─────────► queued item in the recipient's log: exactly once, also after a kill
//	task is not blocked ─────► its owner is notified, once
//	idle ────────────────────► TeammateIdle ─► (block: continues) ─► the lead is notified, once ─► waits
//
//	t := team.New(nil)
//	subs, err := agent.NewSubagents(&agent.SubagentOptions{Named: t.Join, Resumed: t.Resume})
//	tools, err := t.Tools()
//
// A team is stored only in the sessions of its members, whose tags name the team. When the lead's
// session is resumed, its teammates are resumed too. Each has its unfinished work and its unread
// messages.
package team
