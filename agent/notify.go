package agent

import (
	"context"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
)

// Notice shows a text to the user, as soon as the loop can emit it. It is safe for concurrent use.
func (a *Agent) Notice(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pendingEvents = append(a.pendingEvents, event.Notice{Text: text})
}

// notify fires Notification on a goroutine other than the loop's, and returns the records to write.
func (a *Agent) notify(ctx context.Context, kind, title, message string) []entry {
	out, entries := a.fire(ctx, hook.Input{Event: hook.Notification, Note: hook.UserNotification{Type: kind, Title: title, Body: message}})
	a.addHookTexts(&out)
	return entries
}

// addHookTexts keeps texts from hooks that run in another goroutine, until the loop sends them to
// the model.
func (a *Agent) addHookTexts(out *hook.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hookTexts = append(a.hookTexts, hookTexts(out.Event, out.Context)...)
	if out.Stop != nil && a.stops == nil {
		a.stops = &event.Error{HookEvent: string(out.Event), Hook: out.Stop.Hook, HookReason: out.Stop.Text}
	}
}

// notifyEnd fires Notification for the end of a background task.
func (b *Background) notifyEnd(ctx context.Context, k *backJob) []entry {
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	if closed {
		return nil
	}
	kind, how := "task_completed", "has ended"
	if k.c.use.Name == "Agent" {
		kind = "agent_completed"
	}
	if k.result.IsError {
		how = "has failed"
	}
	return b.a.notify(ctx, kind, "Background task", k.c.use.Name+" "+k.c.use.ID+" "+how)
}
