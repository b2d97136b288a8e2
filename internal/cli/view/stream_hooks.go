package view

import (
	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/event"
)

// hookRan writes a hook_response for each hook that ran, under Claude Code's event names, and the
// hooks' messages to the user.
func (v *Stream) hookRan(e event.HookRan) error {
	for _, r := range e.Ran.Hooks {
		if r.Effect == "defer" {
			v.deferred = &wireDeferred{ID: e.Ran.Use, Name: e.Ran.Tool, Input: v.inputs[e.Ran.Use]}
		}
		name := e.Ran.Event
		if e.Ran.Tool != "" {
			name += ":" + e.Ran.Tool
		}
		fields := map[string]any{
			"hook_id": uuid.NewString(), "hook_name": name, "hook_event": e.Ran.Event, "outcome": "success",
			"hook": r.Name, "hook_type": r.Type, "duration_ms": r.Millis,
		}
		if r.Error != "" {
			fields["outcome"] = "error"
		}
		if r.Exit != nil {
			fields["exit_code"] = *r.Exit
		}
		for key, value := range map[string]string{
			"effect": r.Effect, "reason": r.Reason, "error": r.Error, "source": r.Source, "tool_use_id": e.Ran.Use,
		} {
			if value != "" {
				fields[key] = value
			}
		}
		if err := v.system("hook_response", fields); err != nil {
			return err
		}
	}
	for _, n := range e.Ran.Messages {
		if err := v.system("informational", map[string]any{"content": n.Text, "hook": n.Hook}); err != nil {
			return err
		}
	}
	return nil
}

func (v *Stream) notified(e event.Notification) error {
	fields := map[string]any{"title": e.Title, "body": e.Body, "level": e.Level}
	if e.By != "" {
		fields["hook"] = e.By
	}
	return v.system("notification", fields)
}
