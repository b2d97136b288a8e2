package audit

import "cmp"

// runEvent contains the fields of a run.event record that this package reads (see package
// internal/daemon/wire).
type runEvent struct {
	Event    string `json:"event"`
	Segment  int    `json:"segment"`
	By       string `json:"by"`
	Via      string `json:"via"`
	Agent    string `json:"agent"`
	InputID  string `json:"input_id"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Strategy *struct {
		Name string `json:"name"`
		Cwd  string `json:"cwd"`
		Mode string `json:"mode"`
	} `json:"strategy"`
}

// fill sets the fields of the entry for an event that changes or ends a run. For all other events
// Action is empty: the session where they happened has entries for them.
func (v *runEvent) fill(e *Entry) {
	e.Actor = Actor{Kind: actorProgram}
	switch v.Event {
	case "started":
		e.Action = actionStart
		if v.Segment > 1 {
			e.Action = actionContinue
		}
		e.Actor = v.who()
	case "steered", "subagent_steered":
		e.Action, e.Actor = actionSteer, v.who()
	case "steering_withdrawn":
		e.Action, e.Actor, e.Reason = actionWithdraw, v.who(), v.Message
	case "subagent_stopped":
		e.Action, e.Actor = actionStop, v.who()
	case "input_given":
		e.Action, e.Actor, e.Question = actionInput, v.who(), v.InputID
	case "cancelled":
		e.Action, e.Actor = actionStop, v.who()
	case "completed":
		e.Action, e.Outcome = actionComplete, outcomeOK
	case "failed":
		e.Action, e.Outcome, e.Reason = actionFail, outcomeError, cmp.Or(v.Message, v.Code)
	case "interrupted":
		e.Action, e.Reason = actionInterrupt, cmp.Or(v.Message, v.Code)
	default:
		return
	}
	if s := v.Strategy; s != nil {
		e.Mode = s.Mode
		e.Resources = append(e.Resources, Resource{"strategy", s.Name})
		if s.Cwd != "" {
			e.Resources = append(e.Resources, Resource{"folder", s.Cwd})
		}
	}
	if v.Agent != "" {
		e.Resources = append(e.Resources, Resource{"agent", v.Agent})
	}
}

// who returns the actor of the event: the client that requested it, or the program itself.
func (v *runEvent) who() Actor {
	if v.By == "" && v.Via == "" {
		return Actor{Kind: actorProgram}
	}
	return whoAnswered(v.By, v.Via)
}
