package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// runs prints the events of the session's run, if it had one, and the sessions of the run's agents.
func (c *showCmd) runs(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta) error {
	if m.Run == "" {
		return c.agents(ctx, p, s, m)
	}
	t := p.Out.Style
	for r, err := range s.Effective(ctx, m.ID, session.Range{After: m.ParentSeq}) {
		if err != nil {
			if !errors.Is(err, session.ErrCorrupt) {
				return err
			}
			continue // the damage was already reported with the items
		}
		if text := runText(r); text != "" {
			if !c.Full {
				text = term.Clip(text, 160)
			}
			p.Out.Line("%s %s  %s", term.Column("", 9), t.Dim(r.Time.Local().Format("15:04:05")), term.Escape(text))
		}
	}
	return c.agents(ctx, p, s, m)
}

// agents prints the sessions of a run's agents, if the agents have sessions of their own.
func (c *showCmd) agents(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta) error {
	page, err := s.List(ctx, session.Query{Owner: m.ID})
	if err != nil {
		return err
	}
	slices.SortFunc(page.Sessions, func(a, b session.Meta) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, a := range page.Sessions {
		st, _ := runlog.State(ctx, s, a, nil)
		what := cmp.Or(a.Title, a.Tag)
		if a.Title != "" && a.Tag != "" {
			what = "[" + a.Tag + "] " + a.Title
		}
		if what != "" {
			what = "  " + term.Escape(term.Truncate(what, 60))
		}
		p.Out.Line("%s %s  %d items, %s%s", p.Out.Dim(term.Column("agent", 9)), term.Escape(a.ID), a.MessageCount, st, what)
	}
	return nil
}

// runText describes a run.event in one line: what users did to the run, or how it ended. It returns
// "" for other events.
func runText(r session.Record) string {
	var e wire.RunEvent
	if r.Kind != record.KindRunEvent || r.Payload == nil || json.Unmarshal(r.Payload, &e) != nil {
		return ""
	}
	var b strings.Builder
	switch e.Event {
	case wire.RunStarted:
		b.WriteString("started")
		if e.Segment > 1 {
			b.Reset()
			fmt.Fprintf(&b, "continued (%d)", e.Segment)
		} else if e.Resumed {
			b.Reset()
			b.WriteString("continued")
		}
	case wire.RunOpened:
		fmt.Fprintf(&b, "session of %s opened: %s", e.Agent, strings.Join(e.Notices, "; "))
	case wire.RunSteered:
		b.WriteString("steered")
	case wire.RunSubagentSteered:
		fmt.Fprintf(&b, "message to %s", cmp.Or(e.Agent, e.Session))
	case wire.RunSubagentStopped:
		fmt.Fprintf(&b, "%s stopped", cmp.Or(e.Agent, e.Session))
	case wire.RunSteeringWithdrawn:
		b.WriteString("message withdrawn")
	case wire.RunInputAsked:
		fmt.Fprintf(&b, "%s asks", e.Agent)
	case wire.RunInputGiven:
		fmt.Fprintf(&b, "input for %s", e.Agent)
	case wire.RunStepFailed:
		fmt.Fprintf(&b, "step %s of %s failed", e.Step, e.Agent)
	case wire.RunCompleted, wire.RunFailed, wire.RunCancelled, wire.RunInterrupted:
		b.WriteString(e.Event)
	default:
		return ""
	}
	if e.By != "" {
		b.WriteString(" by " + e.By)
	}
	if e.Via != "" {
		b.WriteString(" via " + e.Via)
	}
	if text := cmp.Or(cmp.Or(e.Message, e.Input), e.Text); text != "" {
		b.WriteString(": " + strings.Join(strings.Fields(text), " "))
	}
	return b.String()
}
