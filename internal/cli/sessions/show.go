package sessions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

type showDoc struct {
	Session session.Meta      `json:"session"`
	State   string            `json:"state"`
	Items   []json.RawMessage `json:"items"`
	Notices []string          `json:"notices,omitempty"`
}

func (c *showCmd) Run(ctx context.Context, p *command.Program) error {
	if c.Tail < 0 {
		return outcome.Invalid("--tail must not be negative", "")
	}
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		switch {
		case c.Records:
			return c.records(ctx, p, s, m)
		case c.Rewrites:
			return c.rewrites(ctx, p, s, m)
		}
		if c.Before {
			if err := c.compaction(ctx, s, m); err != nil {
				return err
			}
		}
		loaded, err := c.load(ctx, s, m)
		if err != nil {
			return err
		}
		asking, err := s.OpenApprovals(ctx)
		if err != nil {
			return err
		}
		st, lease := runlog.State(ctx, s, m, asking)
		if c.JSON {
			d := showDoc{Session: loaded.Meta, State: st, Items: []json.RawMessage{}, Notices: loaded.Notices}
			for _, it := range loaded.Items {
				d.Items = append(d.Items, json.RawMessage(it.JSON))
			}
			return p.Out.JSON(d, p.Out.TTY)
		}
		c.head(p, loaded.Meta, st, lease)
		if err := c.runs(ctx, p, s, loaded.Meta); err != nil {
			return err
		}
		for _, it := range loaded.Items {
			c.item(p, it)
		}
		for _, n := range loaded.Notices {
			p.Warn("%s", n)
		}
		return nil
	})
}

func (c *showCmd) records(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta) error {
	var recs []session.Record
	r := session.Range{}
	if c.Tail > 0 {
		r = session.Range{Reverse: true, Limit: c.Tail}
	}
	var bad error
	for rec, err := range s.Records(ctx, m.ID, r) {
		if err != nil {
			if bad == nil {
				bad = err
			}
			if !errors.Is(err, session.ErrCorrupt) {
				return err
			}
			continue
		}
		if c.Tail > 0 {
			recs = append(recs, rec)
			continue
		}
		if err := c.record(p, rec); err != nil {
			return err
		}
	}
	for _, rec := range slices.Backward(recs) {
		if err := c.record(p, rec); err != nil {
			return err
		}
	}
	return bad
}

func (c *showCmd) record(p *command.Program, r session.Record) error {
	if c.JSON {
		return p.Out.JSON(newRecordDoc(r), false)
	}
	payload := string(r.Payload)
	switch {
	case r.Payload == nil:
		payload = "(erased)"
	case r.Kind == record.KindFileSaved && !c.Full:
		payload = savedLine(r.Payload)
	}
	if !c.Full {
		payload = term.Clip(payload, 160)
	}
	t := p.Out.Style
	p.Out.Line("%s  %s  %s  %s", t.Dim(fmt.Sprintf("%5d", r.Seq)), t.Dim(r.Time.Local().Format("15:04:05.000")), term.Column(string(r.Kind), 17), term.Escape(payload))
	return nil
}

func (c *showCmd) head(p *command.Program, m session.Meta, st string, lease *session.Lease) {
	t := p.Out.Style
	row := func(name, value string) {
		if value != "" {
			p.Out.Line("%s %s", t.Dim(term.Column(name, 9)), term.Escape(value))
		}
	}
	row("session", m.ID)
	row("title", m.Title)
	row("tag", m.Tag)
	if slug, _, ok := workspace.OfProject(m.Project); ok {
		row("workspace", slug)
	}
	row("folder", m.CWD)
	row("branch", m.GitBranch)
	row("model", m.Model)
	if m.Parent != "" {
		row("forked", fmt.Sprintf("from %s at seq %d", m.Parent, m.ParentSeq))
	}
	row("changed", m.UpdatedAt.Local().Format("2006-01-02 15:04:05"))
	row("holds", fmt.Sprintf("%s, %s, %s", term.Count(m.MessageCount, "item"), term.Count(int(m.Head), "record"), term.Size(m.Size)))
	if lease != nil {
		st += fmt.Sprintf(" in %s since %s", lease.Holder, lease.Since.Local().Format("15:04:05"))
	}
	row("state", st)
	row("run", m.Run)
	row("owner", m.Owner)
}

// item prints an item as a run prints it, below the item's id.
func (c *showCmd) item(p *command.Program, e transcript.Encoded) {
	it, err := e.Decode()
	if err != nil {
		p.Warn("item %s cannot be read: %v", e.ID(), err)
		return
	}
	t := p.Out.Style
	p.Out.Line("")
	p.Out.Line("%s %s", t.Bold(string(it.Role)), t.Dim(term.Escape(it.ID)))
	for _, part := range it.Parts {
		c.part(p, part)
	}
	switch it.Finish {
	case "", transcript.FinishStop, transcript.FinishToolUse:
	default:
		p.Out.Line("%s", t.Yellow("("+string(it.Finish)+")"))
	}
}

func (c *showCmd) part(p *command.Program, part transcript.Part) {
	t := p.Out.Style
	switch part := part.(type) {
	case transcript.Text:
		p.Out.Line("%s", term.Escape(strings.TrimRight(part.Text, "\n")))
	case transcript.Thinking:
		for l := range strings.Lines(cmp.Or(part.Text, "(hidden thinking)")) {
			p.Out.Line("%s", t.Dim("~ "+term.Escape(strings.TrimRight(l, "\n"))))
		}
	case transcript.ToolUse:
		var in bytes.Buffer
		if json.Compact(&in, part.Input) != nil {
			in.Reset()
			in.Write(part.Input)
		}
		p.Out.Line("%s %s  %s", t.Cyan("●"), t.Bold(term.Escape(part.Name)), term.Escape(in.String()))
	case transcript.ToolResult:
		word := t.Dim("  └ result")
		if part.IsError {
			word = t.Red("  └ error")
		}
		p.Out.Line("%s %s", word, t.Dim(term.Escape(part.UseID)))
		c.body(p, part.Text())
	case transcript.Media:
		p.Out.Line("%s", t.Dim(fmt.Sprintf("[%s, %s]", term.Escape(cmp.Or(part.Name, part.MIME)), term.Size(int64(len(part.Data))))))
	case transcript.File:
		p.Out.Line("%s", t.Dim(fmt.Sprintf("[file %s, %s]", term.Escape(part.Name), term.Size(int64(len(part.Data))))))
	case transcript.Structured:
		p.Out.Line("%s", term.Escape(string(part.Value)))
	case transcript.Custom:
		p.Out.Line("%s", t.Dim(fmt.Sprintf("[%s]", term.Escape(part.Kind))))
	}
}

// body prints a tool's output, shortened in the middle.
func (c *showCmd) body(p *command.Program, text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	if cut := len(lines) - 20; cut > 1 && !c.Full {
		lines = slices.Concat(lines[:12], []string{fmt.Sprintf("… %s more, --full shows them", term.Count(cut, "line"))}, lines[len(lines)-8:])
	}
	for _, l := range lines {
		p.Out.Line("    %s", term.Escape(l))
	}
}
