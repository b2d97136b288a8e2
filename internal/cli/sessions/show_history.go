package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/rewind"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// load returns the transcript in its current form, or in an earlier one.
func (c *showCmd) load(ctx context.Context, s *session.Sessions, m session.Meta) (*session.Loaded, error) {
	if c.Seq == 0 {
		return s.Load(ctx, m.ID, &session.LoadOptions{Limit: c.Tail})
	}
	was, err := s.StateAt(ctx, m.ID, c.Seq)
	if err != nil {
		return nil, err
	}
	items := was.Items
	if c.Tail > 0 {
		items = items[max(0, len(items)-c.Tail):]
	}
	return &session.Loaded{Meta: m, Items: items, Notices: []string{fmt.Sprintf("transcript as of record %d", c.Seq)}}, nil
}

// compaction finds the newest compaction.
func (c *showCmd) compaction(ctx context.Context, s *session.Sessions, m session.Meta) error {
	all, err := rewind.Rewrites(ctx, s, m.ID)
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(all) {
		if r.Reason == "compaction" {
			c.Seq = r.Seq - 1
			return nil
		}
	}
	hint := "the transcript was never rewritten"
	if len(all) > 0 {
		hint = "list the rewrites: holdfast sessions show --rewrites " + m.ID
	}
	return outcome.Invalid("the session was not compacted", hint)
}

// rewrites lists the rewrites of the transcript.
func (c *showCmd) rewrites(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta) error {
	all, err := rewind.Rewrites(ctx, s, m.ID)
	if err != nil {
		return err
	}
	if c.Tail > 0 {
		all = all[max(0, len(all)-c.Tail):]
	}
	t := p.Out.Style
	for _, r := range all {
		if c.JSON {
			if err := p.Out.JSON(r, false); err != nil {
				return err
			}
			continue
		}
		line := fmt.Sprintf("%s  %d → %s", term.Column(r.Reason, 12), r.Before, term.Count(r.After, "item"))
		if r.By != "" && r.By != r.Reason {
			line += ", by " + r.By
		}
		if len(r.Notes) > 0 {
			line += ": " + strings.Join(r.Notes, "; ")
		}
		p.Out.Line("%s  %s  %s", t.Dim(fmt.Sprintf("%5d", r.Seq)), t.Dim(r.Time.Local().Format("2006-01-02 15:04:05")), term.Escape(term.Clip(line, 160)))
	}
	if !c.JSON && len(all) > 0 {
		p.Err.Line("to undo one: holdfast sessions rewind %s--to-rewrite %d %s", command.StoreArg(c.Store), all[len(all)-1].Seq, term.Quote(m.ID))
	}
	return nil
}

// savedLine describes a file.saved record.
func savedLine(payload json.RawMessage) string {
	var f record.FileSaved
	if json.Unmarshal(payload, &f) != nil {
		return string(payload)
	}
	line := f.Path
	switch {
	case !f.Existed:
		line += ", did not exist"
	case f.Data != "":
		line += fmt.Sprintf(", %s, stored in %s", term.Size(f.Size), term.Size(int64(len(f.Data))))
	case f.SameAs != 0:
		line += fmt.Sprintf(", %s, stored in record %d", term.Size(f.Size), f.SameAs)
	default:
		line += fmt.Sprintf(", %s, not stored: %s", term.Size(f.Size), f.Omitted)
	}
	if f.Rewind != nil {
		line += fmt.Sprintf("; then rewound to its state after record %d by %s", f.Rewind.Seq, f.Rewind.By)
	}
	return line
}
