package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Fire fires a hook event for something that happens outside the loop: for example, a task was
// created or the folder changed. When Fire returns, messages for the user and policy changes of the
// hooks are applied and durable. Texts for the model are sent before its next answer. If a hook
// stops the turn, the loop ends it. The caller must respect [hook.Outcome].Block. Fire is safe for
// concurrent use. It returns errors of the store.
func (a *Agent) Fire(ctx context.Context, in hook.Input) (hook.Outcome, error) {
	out, entries := a.fire(ctx, in)
	a.addHookTexts(&out)
	return out, a.record(ctx, entries)
}

// gather takes the hook texts, and the request of a hook to end the turn, from other goroutines.
func (l *loop) gather() {
	l.a.mu.Lock()
	texts, stops := l.a.hookTexts, l.a.stops
	l.a.hookTexts, l.a.stops = nil, nil
	l.a.mu.Unlock()
	l.hookTexts = append(l.hookTexts, texts...)
	if stops != nil && l.turn != nil && l.turn.stopped == nil {
		l.turn.stopped = stops
	}
}

// record makes entries durable on a goroutine other than the loop's. The loop later emits their
// events.
func (a *Agent) record(ctx context.Context, entries []entry) error {
	log := a.openLog()
	if len(entries) == 0 {
		return nil
	}
	if drafts := a.drafts(entries); log != nil && len(drafts) > 0 {
		ctx, kept := detachedContext(ctx)
		_, err := log.Append(ctx, drafts...)
		if err = kept(err); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range entries {
		if e.event != nil {
			a.pendingEvents = append(a.pendingEvents, e.event)
		}
	}
	return nil
}

// fire runs the hooks of an event, applies their policy changes, and returns the records to write.
// The caller sends their texts to the model.
func (a *Agent) fire(ctx context.Context, in hook.Input) (hook.Outcome, []entry) {
	if !a.opt.Hooks.Registry.Has(in.Event) {
		return hook.Outcome{Event: in.Event}, nil
	}
	if log := a.openLog(); log != nil && a.opt.Hooks.Registry.Outside(in.Event) { // a hook command also ends when the lease ends
		leased, done := log.LeaseContext(ctx)
		defer done()
		ctx = leased
	}
	out := a.opt.Hooks.Registry.Fire(ctx, a.completeInput(in))
	entries := a.hookReport(&out)
	for _, u := range out.Updates {
		if err := a.applyUpdate(ctx, u); err != nil {
			entries = append(entries, entry{event: event.Notice{Text: fmt.Sprintf("hook %s: cannot change the policy: %v", u.Hook, err)}})
		}
	}
	if title := out.SessionTitle; title != "" && a.openLog() != nil {
		d, err := session.NewDraft(record.KindMetaChanged, session.MetaPatch{Title: &title, By: "hook"})
		if err == nil {
			entries = append(entries, entry{draft: d})
		}
	}
	if out.WatchPaths != nil {
		if err := a.watch(out.WatchPaths); err != nil {
			entries = append(entries, entry{event: event.Notice{Text: fmt.Sprintf("a %s hook asked to watch files: %v", in.Event, err)}})
		}
	}
	if in.Event == hook.Notification {
		return out, entries
	}
	for _, n := range out.Notifications {
		_, more := a.fire(ctx, hook.Input{Event: hook.Notification, Note: hook.UserNotification{Title: n.Title, Body: n.Body, Level: n.Level, Type: "hook"}})
		entries = append(entries, more...)
	}
	return out, entries
}

// completeInput fills in the fields that every hook input has.
func (a *Agent) completeInput(in hook.Input) hook.Input {
	in.SessionID, in.TranscriptPath = a.SessionID(), a.opt.Hooks.TranscriptPath
	in.Agent, in.AgentType = cmp.Or(in.Agent, a.opt.AgentName), cmp.Or(in.AgentType, a.opt.kind)
	in.CWD, in.Dir = cmp.Or(in.CWD, a.cwd()), cmp.Or(in.Dir, a.folder())
	in.PermissionMode = string(a.Mode())
	in.Model = cmp.Or(in.Model, a.model.Info().Model)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loop != nil && a.loop.turn != nil {
		in.Turn = a.loop.turn.id
	}
	return in
}

// noticesOf returns the texts of hooks for the user, for a record.
func noticesOf(texts []hook.Text) []record.HookNotice {
	var list []record.HookNotice
	for _, s := range texts {
		list = append(list, record.HookNotice{Hook: s.Hook, Text: s.Text})
	}
	return list
}

// hookReport returns the events of an outcome for the user, and its record.
func (a *Agent) hookReport(out *hook.Outcome) []entry {
	var entries []entry
	if out.Ran != nil && (len(out.Ran.Hooks) > 0 || len(out.Notices) > 0) { // hooks that ran without a text are not reported
		ran := *out.Ran
		ran.Messages = noticesOf(out.Notices)
		if d, err := session.NewDraft(record.KindHookRan, ran); err == nil {
			entries = append(entries, entry{draft: d, event: event.HookRan{Ran: ran}})
		}
		if len(out.Terminal) > 0 {
			entries = append(entries, entry{event: event.TerminalSequences{Sequences: out.Terminal}})
		}
	}
	for _, n := range out.Notifications {
		entries = append(entries, entry{event: event.Notification{Title: n.Title, Body: n.Body, Level: n.Level, By: "hook"}})
	}
	return entries
}

// applyUpdate applies a policy change of a hook to the run. An allow of a hook is weaker than every
// ask.
func (a *Agent) applyUpdate(ctx context.Context, u hook.PermissionUpdate) error {
	by := "hook " + u.Hook
	if u.Mode != "" {
		m := policy.Mode(u.Mode)
		if err := m.Check(); err != nil {
			return err
		}
		if now := a.Mode(); m == policy.ModeBypass || loosens(now, m) {
			return fmt.Errorf("a hook cannot set mode %s in mode %s", m, now)
		}
		_, err := a.Change(ctx, policy.Change{Mode: m, By: by})
		return err
	}
	return a.takeUpdate(ctx, by, policy.Update{Rules: u.Rules, Effect: policy.Effect(u.Behavior)})
}

// loosens reports whether a change of mode allows something that the old mode does not allow. Every
// change from plan mode loosens the policy, because only plan mode ignores allow rules for changes.
func loosens(from, to policy.Mode) bool {
	switch from {
	case to:
		return false
	case policy.ModePlan:
		return true
	case policy.ModeDontAsk, policy.ModeSilent, policy.ModeRestricted:
		return from.Stricter(to) == from
	case policy.ModeDefault, policy.ModeAcceptEdits, policy.ModeAuto, policy.ModeBypass:
	}
	return false
}

// fire calls Agent.fire for the loop. If ctx has already ended, the hooks still run for a short time.
func (l *loop) fire(ctx context.Context, in hook.Input) (hook.Outcome, []entry) {
	if !l.a.opt.Hooks.Registry.Has(in.Event) {
		return hook.Outcome{Event: in.Event}, nil
	}
	if ctx.Err() != nil {
		short, done := context.WithTimeout(context.WithoutCancel(ctx), askGrace)
		defer done()
		ctx = short
	}
	out, entries := l.a.fire(ctx, in)
	if out.Stop != nil {
		stops := &l.ended
		if l.turn != nil {
			stops = &l.turn.stopped
		}
		if *stops == nil {
			*stops = &event.Error{HookEvent: string(in.Event), Hook: out.Stop.Hook, HookReason: out.Stop.Text}
		}
	}
	return out, entries
}

// emitPending emits the events that other goroutines have queued.
func (l *loop) emitPending() {
	l.a.mu.Lock()
	pending := l.a.pendingEvents
	l.a.pendingEvents = nil
	l.a.mu.Unlock()
	for _, e := range pending {
		l.publish(e)
	}
}

// contextItem returns an item with the hooks' texts for the model, or false if there are none.
func (a *Agent) contextItem(e hook.Event, texts []hook.Text) (transcript.Encoded, bool, error) {
	return a.hookTextItem(hookTexts(e, texts))
}

// hookTexts returns the hooks' texts for the model as one text, or nothing.
func hookTexts(e hook.Event, texts []hook.Text) []string {
	if len(texts) == 0 {
		return nil
	}
	return []string{hookText(e, texts)}
}

// hookTextItem returns an item with the hooks' texts for the model, or false if there are no texts.
func (a *Agent) hookTextItem(texts []string) (transcript.Encoded, bool, error) {
	if len(texts) == 0 {
		return transcript.Encoded{}, false, nil
	}
	enc, err := a.encode(transcript.Item{
		ID: a.opt.NewID(), Time: a.opt.Clock(), Role: transcript.RoleNotification,
		Parts: []transcript.Part{transcript.Text{Text: strings.Join(texts, "\n")}},
	})
	return enc, err == nil, err
}

// hookText formats the texts of hooks for the model.
func hookText(e hook.Event, texts []hook.Text) string {
	lines := make([]string, len(texts))
	for i, s := range texts {
		lines[i] = fmt.Sprintf("%s hook: %s", e, s.Text)
	}
	return strings.Join(lines, "\n")
}

// takeHookTexts adds hook texts for the model to the transcript. These are the texts of events that
// have no item of their own, and the texts of async hooks.
func (l *loop) takeHookTexts(ctx context.Context) error {
	l.gather()
	l.announceTools()
	entries := l.takeAsyncHookTexts()
	e, ok, err := l.a.hookTextItem(l.hookTexts)
	if err != nil {
		return err
	}
	if l.hookTexts = nil; ok {
		entries = append(entries, itemEntry(e, nil))
	}
	return l.write(ctx, entries...)
}

// takeAsyncHookTexts returns the texts of async hooks.
func (l *loop) takeAsyncHookTexts() (entries []entry) {
	for _, out := range l.a.opt.Hooks.Registry.AsyncOutcomes(l.a.SessionID()) {
		entries = append(entries, l.a.hookReport(&out)...)
		l.hookTexts = append(l.hookTexts, hookTexts(out.Event, out.Context)...)
	}
	return entries
}

// fireForContext is like fire, and also keeps the hooks' texts for the model. It is for events that
// have no item of their own for these texts.
func (l *loop) fireForContext(ctx context.Context, in hook.Input) (hook.Outcome, []entry) {
	out, entries := l.fire(ctx, in)
	l.hookTexts = append(l.hookTexts, hookTexts(in.Event, out.Context)...)
	return out, entries
}
