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
	Command, Args string // "commit", and what stood behind it
	Source        string // whose it is: user, project
	Text          string // what the model reads in its place
	// Limit, when not nil, narrows the turn that the prompt is answered in. Its turn and id
	// are filled in.
	Limit *policy.Limit
	// Model, when not nil, answers in that turn in place of the agent's own. Who resumes a turn that was
	// cut off goes on with its own.
	Model model.Model
}

// Where an item keeps the limit that comes with it, and the model that is to answer.
const (
	limitKey = "limit"
	modelKey = "model"
)

// expand puts what a person's /name stands for in its place.
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
		lim.ID, lim.Turn = "checked", "next" // it is not in the way of a turn that cannot be narrowed so
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

// limitTools puts the limits of a turn in force before it takes items in: those that come with
// them and, when they hold nothing that a person said, those that are left of the turn
// that it goes on with.
func (l *loop) limitTools(ctx context.Context, turn string, items []transcript.Encoded, left []policy.Limit) error {
	var own []policy.Limit
	for _, e := range items {
		if e.Role() != transcript.RoleUser {
			continue
		}
		left = nil
		if l.turn == nil { // a turn of its own, and none that goes on
			l.asked = nil
		}
		it, err := e.Decode()
		if err != nil {
			continue
		}
		l.askFor(it.Metadata[modelKey])
		if it.Metadata[limitKey] == nil {
			continue
		}
		var lim policy.Limit
		if err := json.Unmarshal(it.Metadata[limitKey], &lim); err != nil {
			return fmt.Errorf("agent: the limit of item %s: %w", e.ID(), err)
		}
		lim.ID = e.ID()
		own = append(own, lim)
	}
	for _, lim := range slices.Concat(left, own) {
		lim.Turn = turn
		if _, err := l.a.change(ctx, policy.Change{Limit: &lim, By: lim.Name}); err != nil {
			return err
		}
	}
	return nil
}

// askFor has the model answer in the turn that an item names.
func (l *loop) askFor(name json.RawMessage) {
	var text string
	if json.Unmarshal(name, &text) != nil {
		return
	}
	l.a.mu.Lock()
	m := l.a.models[text]
	l.a.mu.Unlock()
	if m != nil && (l.asked == nil || l.asked.m != m) {
		l.asked = newEncoder(m)
	}
}

// widen takes the limits of a turn that has ended away. A turn that has not come to its end
// may be gone on with.
func (l *loop) widen(turn string, why event.Reason) {
	l.left = nil
	if why == event.ReasonCompleted {
		l.asked = nil
	} else {
		for _, lim := range l.a.guards.Limits() {
			if lim.Turn == turn {
				l.left = append(l.left, lim)
			}
		}
	}
	l.a.guards.EndTurn(turn)
}

// leftOf are the limits of a session's last turn, which was cut off, or of the one that was
// about to begin.
func leftOf(st *session.State) (list []policy.Limit) {
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

// ofTurn fills in the turn of a limit that a tool puts in force.
func (a *Agent) ofTurn(c policy.Change) policy.Change {
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
