package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// maxKept is how often in a turn hooks may keep the agent from stopping.
const maxKept = 8

// opening fires Setup and SessionStart when the session is open, or SubagentStart.
func (l *loop) opening(ctx context.Context) error {
	if l.a.opt.parent != nil {
		_, entries := l.fireForContext(ctx, hook.Input{Event: hook.SubagentStart})
		return l.a.record(ctx, entries)
	}
	_, entries := l.fireForContext(ctx, hook.Input{Event: hook.Setup, Trigger: l.a.opt.Hooks.Setup})
	source := "resume"
	switch {
	case l.opened.Forked != "":
		source = "fork"
	case l.opened.Created:
		source = "startup"
	}
	out, more := l.fireForContext(ctx, hook.Input{Event: hook.SessionStart, Source: source, Model: l.a.model.Info().Model})
	l.initial = out.InitialMessage
	entries = append(append(entries, more...), l.loaded(ctx, "")...)
	return l.a.record(ctx, entries)
}

// closing fires SessionEnd. Of a sub-agent's end SubagentStop has told.
func (l *loop) closing(ctx context.Context) error {
	entries := l.takeAsyncHookTexts()
	if l.a.opt.parent == nil {
		_, more := l.fire(ctx, hook.Input{Event: hook.SessionEnd, Reason: "other"})
		entries = append(entries, more...)
	}
	if l.broken != nil {
		return nil //nolint:nilerr // what broke the loop was told, and nothing can be recorded
	}
	return l.a.record(ctx, entries)
}

// admit takes input in past the hooks of UserPromptSubmit: the items to append, or a
// *event.Error. Nothing of a blocked prompt is kept.
func (a *Agent) admit(ctx context.Context, input []transcript.Part) ([]transcript.Encoded, error) {
	var items []transcript.Encoded
	input, meta, err := a.expand(ctx, input)
	if err != nil {
		return nil, err
	}
	if a.opt.Hooks.Registry.Has(hook.UserPromptSubmit) {
		out, entries := a.fire(ctx, hook.Input{
			Event: hook.UserPromptSubmit, Prompt: transcript.Item{Parts: input}.Text(), Source: "user",
		})
		if err := a.record(ctx, entries); err != nil {
			return nil, err
		}
		if b := cmp.Or(out.Block, out.Stop); b != nil {
			return nil, &event.Error{HookEvent: string(hook.UserPromptSubmit), Hook: b.Hook, HookReason: b.Text}
		}
		e, ok, err := a.contextItem(hook.UserPromptSubmit, out.Context)
		if err != nil {
			return nil, err
		}
		if ok {
			items = append(items, e)
		}
	}
	e, err := a.userItem(input, meta)
	if err != nil {
		return nil, err
	}
	return append(items, e), nil
}

// fireStop fires the hooks of a turn's end. True means that one of them keeps the
// agent going, and that what it says is the next input.
func (l *loop) fireStop(ctx context.Context, why event.Reason, cause error) (bool, error) {
	t := l.turn
	var entries []entry
	if why == event.ReasonFailed || why == event.ReasonRefused {
		in := hook.Input{Event: hook.StopFailure, End: hook.TurnEnd{Error: failureKind(cause), LastMessage: t.last()}}
		if cause != nil {
			in.End.Details = cause.Error()
		}
		_, entries = l.fireForContext(ctx, in)
		if in.End.Error == "authentication_failed" {
			_, more := l.fireForContext(ctx, hook.Input{
				Event: hook.Notification,
				Note:  hook.UserNotification{Type: "auth_failed", Title: "The model provider rejected the API key", Body: in.End.Details},
			})
			entries = append(entries, more...)
		}
	}
	stop := hook.Stop
	if l.a.opt.parent != nil {
		stop = hook.SubagentStop
	}
	out, more := l.fire(ctx, hook.Input{
		Event: stop, Reason: string(why),
		End: hook.TurnEnd{StopHookActive: t.kept > 0, LastMessage: t.last(), AgentTranscriptPath: l.a.opt.Hooks.TranscriptPath},
	})
	entries = append(entries, more...)
	says := out.Context
	if out.Block != nil {
		says = append([]hook.Text{{Hook: out.Block.Hook, Text: cmp.Or(out.Block.Text, "go on")}}, says...)
	}
	stays := why == event.ReasonCompleted && out.Stop == nil && t.stopped == nil && len(says) > 0
	if stays && t.kept == maxKept {
		entries = append(entries, entry{event: event.Notice{
			Text: fmt.Sprintf(string(stop)+" hooks continued this turn %d times, which is the limit; the turn ends (hook %s asked to continue)", maxKept, says[0].Hook),
		}})
		stays = false
	}
	if !stays {
		l.hookTexts = append(l.hookTexts, hookTexts(stop, out.Context)...)
	} else {
		t.kept++
		e, err := l.item(transcript.UserText(hookText(stop, says)))
		if err != nil {
			return false, err
		}
		entries = append(entries, itemEntry(e, nil))
	}
	return stays, l.write(ctx, entries...)
}

// last is the newest text of the assistant in this turn.
func (t *turn) last() string {
	if len(t.text) == 0 {
		return ""
	}
	return t.text[len(t.text)-1]
}

// failureKind is an error in Claude Code's words.
func failureKind(err error) string {
	me, ok := errors.AsType[*model.Error](err)
	if !ok {
		return "unknown"
	}
	switch me.Kind {
	case model.ErrorAuth:
		return "authentication_failed"
	case model.ErrorRateLimit, model.ErrorOverloaded:
		return "rate_limit"
	case model.ErrorInvalid, model.ErrorNotFound, model.ErrorTooLong:
		return "invalid_request"
	case model.ErrorNetwork, model.ErrorMalformed:
		return "server_error"
	case model.ErrorRefused, model.ErrorCancelled:
	}
	return "unknown"
}

// stopTurn ends a turn that a hook wants to end.
func (l *loop) stopTurn(ctx context.Context) (DriverState, bool, error) {
	return l.finish(ctx, event.ReasonHook, l.turn.stopped)
}

// What had a transcript compacted.
const (
	triggerAuto   = "auto"
	triggerManual = "manual"
)

// beforeCompaction fires PreCompact. An error says that a hook keeps the transcript as it is.
func (l *loop) beforeCompaction(ctx context.Context, trigger, instructions string) error {
	in := hook.Input{Event: hook.PreCompact, Trigger: trigger}
	if instructions != "" {
		in.Instructions = &instructions
	}
	out, entries := l.fireForContext(ctx, in)
	if err := l.write(ctx, entries...); err != nil {
		return err
	}
	if out.Block != nil {
		return &event.Error{HookEvent: string(hook.PreCompact), Hook: out.Block.Hook, HookReason: out.Block.Text}
	}
	return nil
}

// afterCompaction fires PostCompact, and SessionStart for what hooks want the model
// to know again.
func (l *loop) afterCompaction(ctx context.Context, trigger, summary string) error {
	in := hook.Input{Event: hook.PostCompact, Trigger: trigger, Summary: summary}
	_, entries := l.fireForContext(ctx, in)
	_, more := l.fireForContext(ctx, hook.Input{Event: hook.SessionStart, Source: "compact", Model: l.encoder().m.Info().Model})
	return l.write(ctx, append(entries, more...)...)
}

// modelSwitched fires PostModelSwitch.
func (l *loop) modelSwitched(ctx context.Context, from, to string) error {
	_, entries := l.fireForContext(ctx, hook.Input{Event: hook.PostModelSwitch, Switch: l.switchFrom(from), Model: to, Source: "auto"})
	if err := l.write(ctx, entries...); err != nil {
		return err
	}
	return l.takeHookTexts(ctx)
}

// switchFrom is the switch to the fallback, and about what it costs that it reads the transcript.
func (l *loop) switchFrom(model string) hook.ModelSwitch {
	u := l.lastUsage
	s := hook.ModelSwitch{From: model, ContextTokens: u.Input + u.CacheRead + u.CacheWrite + u.Output, CacheTTL: "5m", Pricing: "default"}
	if p := l.fallback.m.Info().Price; p != nil {
		s.Pricing, s.CacheWriteUSD = "catalog", float64(s.ContextTokens)*p.CacheWrite/1e6
	}
	return s
}
