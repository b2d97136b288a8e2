package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/compose/hooks"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// replayResult has the recorded result and the current result of one event, in JSON.
type replayResult struct {
	Seq      int64         `json:"seq"`
	Tool     string        `json:"tool,omitempty"`
	Use      string        `json:"use_id,omitempty"`
	Recorded policy.Effect `json:"then,omitempty"` // the decision about the call
	eventDoc

	text string
}

func (c *replayCmd) Run(ctx context.Context, p *command.Program) error {
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		today, err := p.LoadSettings(m.CWD, c.Settings)
		if err != nil {
			return err
		}
		p.SettingsNotices(today)
		events, err := c.recordedEvents(ctx, p, s, m, today)
		if err != nil {
			return err
		}
		return c.replay(ctx, p, today, events, m.ID)
	})
}

// recordedEvent is an event in the log that is sent to the hooks again.
type recordedEvent struct {
	doc replayResult
	in  hook.Input
}

// recordedEvents returns the prompts and calls of a log.
func (c *replayCmd) recordedEvents(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta, today *settings.Settings) ([]recordedEvent, error) {
	var list []recordedEvent
	uses := map[string]transcript.ToolUse{}
	kept := false // the next item is the text with which a hook kept the agent working
	for rec, err := range s.Records(ctx, m.ID, session.Range{}) {
		if err != nil {
			return nil, err
		}
		if rec.Payload == nil { // erased
			continue
		}
		in := hook.Input{SessionID: m.ID, CWD: today.Cwd(), PermissionMode: cmp.Or(string(today.Mode.Value), "default")}
		switch rec.Kind {
		case session.KindItem:
			it, err := readItem(rec)
			if err != nil {
				return nil, err
			}
			for _, u := range it.Uses() {
				uses[u.ID] = u
			}
			if it.Role() != transcript.RoleUser || kept {
				kept = false
				continue
			}
			in.Event, in.Prompt, in.Source = hook.UserPromptSubmit, it.Text(), "user"
			list = append(list, recordedEvent{replayResult{Seq: rec.Seq, text: in.Prompt}, in})
		case record.KindHookRan:
			var ran record.HookRan
			if err := json.Unmarshal(rec.Payload, &ran); err != nil {
				return nil, fmt.Errorf("record %d (%s): %w", rec.Seq, rec.Kind, err)
			}
			kept = ran.Event == string(hook.Stop) || ran.Event == string(hook.SubagentStop)
		case record.KindTurnOpened:
			kept = false
		case record.KindDecision:
			var then policy.Decision
			if err := json.Unmarshal(rec.Payload, &then); err != nil {
				return nil, fmt.Errorf("record %d (%s): %w", rec.Seq, rec.Kind, err)
			}
			u, ok := uses[then.Use]
			if !ok || then.By == "input" {
				continue
			}
			in.Event, in.Tool.Name, in.Tool.Input, in.Tool.UseID = hook.PreToolUse, u.Name, u.Input, u.ID
			if then.Mode != "" {
				in.PermissionMode = string(then.Mode)
			}
			list = append(list, recordedEvent{replayResult{
				Seq: rec.Seq, Tool: u.Name, Use: u.ID, Recorded: then.Effect, text: runtext.Headline(u.Name, u.Input, m.CWD),
			}, addRequests(p, in)})
		}
	}
	return list, nil
}

func readItem(rec session.Record) (transcript.Encoded, error) {
	it, err := record.ReadItem(rec.Payload)
	if err != nil {
		return transcript.Encoded{}, fmt.Errorf("record %d (%s): %w", rec.Seq, rec.Kind, err)
	}
	return it.Item, nil
}

// replay runs the hooks for each event.
func (c *replayCmd) replay(ctx context.Context, p *command.Program, today *settings.Settings, recordedEvents []recordedEvent, id string) error {
	watch := &hookPrinter{}
	h, err := hooks.Open(&hooks.Options{Env: p.Environment(), Settings: today, Folders: hookFolders(today), NoSandbox: c.NoSandbox, Watch: watch.wrap})
	if err != nil {
		return err
	}
	defer h.Close()
	if !h.Registry.Has(hook.UserPromptSubmit) && !h.Registry.Has(hook.PreToolUse) {
		p.Err.Line("no hook of UserPromptSubmit or PreToolUse runs in %s", term.Escape(today.Cwd()))
		return nil
	}
	if !c.Yes {
		ask := fmt.Sprintf("run the hooks of %s for %s?", term.Escape(today.Cwd()), term.Count(len(recordedEvents), "prompt and call"))
		ok, err := question.Confirm(ctx, p, ask, "holdfast hooks replay --yes "+command.StoreArg(c.Store)+term.Quote(id))
		if err != nil {
			return err
		}
		if !ok {
			return outcome.Invalid("nothing was run", "")
		}
	}
	withOutput, blocked := 0, 0
	for i := range recordedEvents {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d := recordedEvents[i].doc
		d.eventDoc = watch.fire(ctx, h.Registry, recordedEvents[i].in)
		speaks := d.hasOutput()
		if speaks {
			withOutput++
		}
		if d.Outcome.Blocked {
			blocked++
		}
		if speaks || c.All {
			if err := c.print(p, &d); err != nil {
				return err
			}
		}
	}
	if !c.JSON {
		p.Err.Line("%d prompts and calls: hooks have output for %d and block %d", len(recordedEvents), withOutput, blocked)
	}
	return nil
}

// hasOutput reports whether a hook had output or failed.
func (d *eventDoc) hasOutput() bool {
	for _, r := range d.Hooks {
		if r.Effect != "" || r.Error != "" || len(r.Output) > 0 {
			return true
		}
	}
	return false
}

func (c *replayCmd) print(p *command.Program, d *replayResult) error {
	if c.JSON {
		return p.Out.JSON(d, false)
	}
	t := p.Out.Style
	what := cmp.Or(d.Tool, "prompt")
	p.Out.Line("%s  %s", t.Bold(term.Escape(what)), term.Truncate(d.text, t.Columns()-len(what)-4))
	if d.Recorded != "" {
		p.Out.Line("%s %s", t.Dim(term.Column("then", 8)), view.EffectText(t, d.Recorded))
	}
	printFired(p, &d.eventDoc)
	return nil
}
