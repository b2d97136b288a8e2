package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Expansion is the expansion of a slash command.
type Expansion struct {
	Command, Args string // the name, such as "commit", and the text after the name
	Source        string // where the command is defined: user, project
	Text          string // the text that the model reads instead of the command
	// Limit, if not nil, restricts the turn that answers the prompt. The agent sets its turn and id.
	Limit *policy.Limit
	// Model, if not nil, answers in that turn instead of the agent's model. An agent that resumes an
	// interrupted turn uses its own model.
	Model model.Model
}

// Metadata keys of an item that contain the limit and the model of its turn.
const (
	limitKey = "limit"
	modelKey = "model"
)

// expand replaces the user's /name by the expansion of the slash command.
func (a *Agent) expand(ctx context.Context, input []transcript.Part) (_ []transcript.Part, meta map[string]json.RawMessage, err error) {
	if a.opt.Expand == nil || len(input) == 0 {
		return input, nil, nil
	}
	first, ok := input[0].(transcript.Text)
	if !ok || !strings.HasPrefix(first.Text, "/") {
		return input, nil, nil
	}
	x, err := a.opt.Expand(ctx, first.Text)
	if x == nil || err != nil {
		return input, nil, err
	}
	out, entries := a.fire(ctx, hook.Input{
		Event: hook.UserPromptExpansion, Command: hook.SlashCommand{Type: "slash_command", Name: x.Command, Args: x.Args, Source: x.Source}, Prompt: first.Text,
	})
	if err := a.record(ctx, entries); err != nil {
		return nil, nil, err
	}
	if b := cmp.Or(out.Block, out.Stop); b != nil {
		return nil, nil, &event.Error{HookEvent: string(hook.UserPromptExpansion), Hook: b.Hook, HookReason: b.Text}
	}
	text := x.Text
	if len(out.Context) > 0 {
		text += "\n\n" + hookText(hook.UserPromptExpansion, out.Context)
	}
	if x.Limit != nil {
		lim := *x.Limit
		lim.ID, lim.Turn = "checked", "next" // any values, so that Check can reject an invalid limit before the prompt is stored
		if _, err := a.guards.Check(policy.Change{Limit: &lim, By: lim.Name}); err != nil {
			return nil, nil, err
		}
		raw, err := json.Marshal(x.Limit)
		if err != nil {
			return nil, nil, err
		}
		meta = map[string]json.RawMessage{limitKey: raw}
	}
	if x.Model != nil {
		name := x.Model.Info().String()
		raw, err := json.Marshal(name)
		if err != nil {
			return nil, nil, err
		}
		if meta == nil {
			meta = map[string]json.RawMessage{}
		}
		meta[modelKey] = raw
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.models == nil {
			a.models = map[string]model.Model{}
		}
		a.models[name] = x.Model
	}
	return append([]transcript.Part{transcript.Text{Text: text}}, input[1:]...), meta, nil
}

// limitTools applies the limits of a turn before the turn reads items. These are the limits of the
// items. If no item is from the user, the carried limits of the turn that this one continues also
// apply.
func (l *loop) limitTools(ctx context.Context, turn string, items []transcript.Encoded, carried []policy.Limit) error {
	var limits []policy.Limit
	for _, e := range items {
		if e.Role() != transcript.RoleUser {
			continue
		}
		carried = nil
		if l.turn == nil { // a new turn, not a continued one
			l.commandModel = nil
		}
		it, err := e.Decode()
		if err != nil {
			continue
		}
		l.selectModel(it.Metadata[modelKey])
		if it.Metadata[limitKey] == nil {
			continue
		}
		var lim policy.Limit
		if err := json.Unmarshal(it.Metadata[limitKey], &lim); err != nil {
			return fmt.Errorf("agent: the limit of item %s: %w", e.ID(), err)
		}
		lim.ID = e.ID()
		limits = append(limits, lim)
	}
	for _, lim := range slices.Concat(carried, limits) {
		lim.Turn = turn
		if _, err := l.a.change(ctx, policy.Change{Limit: &lim, By: lim.Name}); err != nil {
			return err
		}
	}
	return nil
}

// selectModel selects the model that an item names for its turn.
func (l *loop) selectModel(name json.RawMessage) {
	var text string
	if json.Unmarshal(name, &text) != nil {
		return
	}
	l.a.mu.Lock()
	m := l.a.models[text]
	l.a.mu.Unlock()
	if m != nil && (l.commandModel == nil || l.commandModel.m != m) {
		l.commandModel = newEncoder(m)
	}
}

// endLimits removes the limits of a turn that has ended. If the turn did not complete, its limits
// are kept for the turn that continues it.
func (l *loop) endLimits(turn string, why event.Reason) {
	l.carried = nil
	if why == event.ReasonCompleted {
		l.commandModel = nil
	} else {
		for _, lim := range l.a.guards.Limits() {
			if lim.Turn == turn {
				l.carried = append(l.carried, lim)
			}
		}
	}
	l.a.guards.EndTurn(turn)
}

// carriedLimits returns the recorded limits of the session's last turn, and of a turn that was
// about to begin.
func carriedLimits(st *session.State) (list []policy.Limit) {
	for _, raw := range st.Policy {
		var c policy.Change
		if json.Unmarshal(raw, &c) != nil || c.Limit == nil {
			continue
		}
		if c.Limit.Turn != turnID(st.Turns) && c.Limit.Turn != turnID(st.Turns+1) {
			continue
		}
		known := func(lim policy.Limit) bool { return lim.ID == c.Limit.ID }
		if !slices.ContainsFunc(list, known) {
			list = append(list, *c.Limit)
		}
	}
	return list
}

func turnID(n int) string { return fmt.Sprintf("turn-%d", n) }

// withTurn adds the current turn to a limit that names no turn, such as the limit that a tool
// applies.
func (a *Agent) withTurn(c policy.Change) policy.Change {
	if c.Limit == nil || c.Limit.Turn != "" {
		return c
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loop != nil && a.loop.turn != nil {
		lim := *c.Limit
		lim.Turn = a.loop.turn.id
		c.Limit = &lim
	}
	return c
}
