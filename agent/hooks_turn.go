package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// maxStopHooks is the maximum number of times in a turn that hooks may keep the agent from
// stopping.
const maxStopHooks = 8

// fireSessionStart fires the hooks for an opened session: Setup and SessionStart, or SubagentStart
// for a sub-agent.
func (l *loop) fireSessionStart(ctx context.Context) error {
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
	entries = append(append(entries, more...), l.fireInstructionsLoaded(ctx, "")...)
	return l.a.record(ctx, entries)
}

// fireSessionEnd fires SessionEnd, except for a sub-agent: its turns fire SubagentStop.
func (l *loop) fireSessionEnd(ctx context.Context) error {
	entries := l.takeAsyncHookTexts()
	if l.a.opt.parent == nil {
		_, more := l.fire(ctx, hook.Input{Event: hook.SessionEnd, Reason: "other"})
		entries = append(entries, more...)
	}
	if l.broken != nil {
		return nil //nolint:nilerr // the error that broke the loop was reported, and nothing can be recorded
	}
	return l.a.record(ctx, entries)
}

// admit fires UserPromptSubmit for input and returns the items to append, or an *event.Error if a
// hook blocks the prompt. Nothing of a blocked prompt is stored.
func (a *Agent) admit(ctx context.Context, input []transcript.Part) ([]transcript.Encoded, error) {
	if err := checkImages(input); err != nil {
		return nil, err
	}
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

// checkImages returns an error for an image that a provider would reject, because each later request
// would contain it.
func checkImages(input []transcript.Part) error {
	for _, p := range input {
		m, ok := p.(transcript.Media)
		if !ok || len(m.Data) == 0 || !strings.HasPrefix(m.MIME, "image/") {
			continue
		}
		if mime, err := inputimage.Check(m.Data); err != nil {
			return err
		} else if mime != m.MIME {
			return fmt.Errorf("agent: the image is %s, not %s", mime, m.MIME)
		}
	}
	return nil
}

// fireStop fires the hooks for the end of a turn. It returns true if a hook continues the turn; the
// hook's text is then the next input.
func (l *loop) fireStop(ctx context.Context, why event.Reason, cause error) (bool, error) {
	t := l.turn
	var entries []entry
	if why == event.ReasonFailed || why == event.ReasonRefused {
		in := hook.Input{Event: hook.StopFailure, End: hook.TurnEnd{Error: failureKind(cause), LastMessage: t.lastText()}}
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
		End: hook.TurnEnd{StopHookActive: t.continued > 0, LastMessage: t.lastText(), AgentTranscriptPath: l.a.opt.Hooks.TranscriptPath},
	})
	entries = append(entries, more...)
	texts := out.Context
	if out.Block != nil {
		texts = append([]hook.Text{{Hook: out.Block.Hook, Text: cmp.Or(out.Block.Text, "continue")}}, texts...)
	}
	keepsGoing := why == event.ReasonCompleted && out.Stop == nil && t.stopped == nil && len(texts) > 0
	if keepsGoing && t.continued == maxStopHooks {
		entries = append(entries, entry{event: event.Notice{
			Text: fmt.Sprintf(string(stop)+" hooks continued this turn %d times, which is the limit; the turn ends (hook %s asked to continue)", maxStopHooks, texts[0].Hook),
		}})
		keepsGoing = false
	}
	if !keepsGoing {
		l.hookTexts = append(l.hookTexts, hookTexts(stop, out.Context)...)
	} else {
		t.continued++
		e, err := l.item(transcript.UserText(hookText(stop, texts)))
		if err != nil {
			return false, err
		}
		entries = append(entries, itemEntry(e, nil))
	}
	return keepsGoing, l.write(ctx, entries...)
}

// lastText returns the newest text of the assistant in this turn.
func (t *turn) lastText() string {
	if len(t.text) == 0 {
		return ""
	}
	return t.text[len(t.text)-1]
}

// failureKind returns Claude Code's name for an error.
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

// stopTurn ends a turn because a hook asked for it.
func (l *loop) stopTurn(ctx context.Context) (DriverState, bool, error) {
	return l.finish(ctx, event.ReasonHook, l.turn.stopped)
}

// The triggers of a compaction.
const (
	triggerAuto   = "auto"
	triggerManual = "manual"
)

// firePreCompact fires PreCompact. It returns an *event.Error if a hook blocks the compaction.
func (l *loop) firePreCompact(ctx context.Context, trigger, instructions string) error {
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

// firePostCompact fires PostCompact. It also fires SessionStart, so that hooks can send their
// context to the model again.
func (l *loop) firePostCompact(ctx context.Context, trigger, summary string) error {
	in := hook.Input{Event: hook.PostCompact, Trigger: trigger, Summary: summary}
	_, entries := l.fireForContext(ctx, in)
	_, more := l.fireForContext(ctx, hook.Input{Event: hook.SessionStart, Source: "compact", Model: l.encoder().m.Info().Model})
	return l.write(ctx, append(entries, more...)...)
}

// firePostModelSwitch fires PostModelSwitch.
func (l *loop) firePostModelSwitch(ctx context.Context, from, to string) error {
	_, entries := l.fireForContext(ctx, hook.Input{Event: hook.PostModelSwitch, Switch: l.switchFrom(from), Model: to, Source: "auto"})
	if err := l.write(ctx, entries...); err != nil {
		return err
	}
	return l.takeHookTexts(ctx)
}

// switchFrom describes the switch to the fallback model, with the estimated cost of reading the
// transcript.
func (l *loop) switchFrom(model string) hook.ModelSwitch {
	u := l.lastUsage
	s := hook.ModelSwitch{From: model, ContextTokens: u.Input + u.CacheRead + u.CacheWrite + u.Output, CacheTTL: "5m", Pricing: "default"}
	if p := l.fallback.m.Info().Price; p != nil {
		s.Pricing, s.CacheWriteUSD = "catalog", float64(s.ContextTokens)*p.CacheWrite/1e6
	}
	return s
}
