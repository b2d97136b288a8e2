package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// statsDoc is the result of stats in JSON.
type statsDoc struct {
	Since string     `json:"since"` // the first day
	Days  []statsRow `json:"days"`  // one entry for each day and model with usage, newest day first
	Total statsRow   `json:"total"`
}

type statsRow struct {
	Day        string           `json:"day,omitempty"` // in local time
	Model      string           `json:"model,omitempty"`
	Sessions   int              `json:"sessions"` // without those of sub-agents
	ModelCalls int              `json:"model_calls"`
	ToolCalls  int              `json:"tool_calls"`
	Denials    int              `json:"denials"`
	Tokens     int64            `json:"tokens"`
	Usage      transcript.Usage `json:"usage"`
	CostUSD    float64          `json:"cost_usd"`
}

func (c *statsCmd) Run(ctx context.Context, p *command.Program) error {
	if c.Days < 1 {
		return outcome.Invalid("--days must be at least 1", "")
	}
	of := ""
	if !c.All {
		cwd, err := p.Folder(c.CWD)
		if err != nil {
			return err
		}
		if of, _, err = project.ID(cwd); err != nil {
			return err
		}
	}
	sessions, closeStore, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	now := p.Clock().Local()
	y, m, d := now.Date()
	t := &tally{since: time.Date(y, m, d-c.Days+1, 0, 0, 0, 0, now.Location()), rows: map[[2]string]*statsRow{}, seen: map[[3]string]bool{}, counted: map[string]bool{}}
	if err := t.readAll(ctx, sessions, of); err != nil {
		return err
	}
	doc := t.doc()
	if c.JSON {
		return p.Out.JSON(doc, p.Out.TTY)
	}
	if len(doc.Days) == 0 {
		p.Err.Line("no usage since %s", doc.Since)
		if !c.All {
			p.Err.Hint("holdfast stats --all")
		}
		return nil
	}
	c.table(p, doc)
	return nil
}

// tally adds up usage by day and model.
type tally struct {
	since    time.Time
	rows     map[[2]string]*statsRow // by day and model
	seen     map[[3]string]bool      // sessions that were counted, by day, model and id
	all      map[string]bool         // sessions with usage
	counted  map[string]bool         // sub-agents whose answers the logs of their runs count
	answered []answered              // answers in the logs of sub-agents
}

// answered are the charges for the answers in the log of a session that works for a run.
type answered struct {
	id, owner string
	charge    runlog.Charge
}

// readAll reads the sessions of a project that have changed since the first day; "" is any project.
func (t *tally) readAll(ctx context.Context, s *session.Sessions, of string) error {
	page, err := s.List(ctx, session.Query{Worktrees: true, Project: of, WithTrash: true})
	if err != nil {
		return err
	}
	t.all = map[string]bool{}
	for _, m := range page.Sessions {
		if m.UpdatedAt.Before(t.since) {
			continue
		}
		if err := t.read(ctx, s, m); err != nil && !errors.Is(err, session.ErrNotFound) && !errors.Is(err, session.ErrCorrupt) {
			return err
		}
	}
	for _, a := range t.answered {
		if t.counted[a.id] { // the tool calls and denials are in this log only
			a.charge.Usage, a.charge.CostUSD, a.charge.ModelCalls = transcript.Usage{}, 0, 0
		}
		t.add(a.id, a.owner, a.charge)
	}
	return nil
}

// read adds the records of a session itself; those that a fork shares belong to its parent.
func (t *tally) read(ctx context.Context, s *session.Sessions, m session.Meta) error {
	var meter runlog.Meter
	for r, err := range s.Records(ctx, m.ID, session.Range{After: m.ParentSeq}) {
		if err != nil {
			return err
		}
		c, ok := meter.Read(r)
		if !ok || r.Time.Before(t.since) {
			continue
		}
		if c.Agent != "" {
			t.counted[c.Agent] = true
		}
		c.Model = cmp.Or(c.Model, m.Model)
		if m.Owner != "" && c.Answer {
			t.answered = append(t.answered, answered{m.ID, m.Owner, c})
			continue
		}
		t.add(m.ID, m.Owner, c)
	}
	return nil
}

func (t *tally) add(id, owner string, c runlog.Charge) {
	if c.ModelCalls+c.ToolCalls+c.Denials == 0 && c.CostUSD == 0 {
		return
	}
	day, model := c.Time.In(t.since.Location()).Format(time.DateOnly), cmp.Or(modelName(c.Model), "-")
	row := t.rows[[2]string{day, model}]
	if row == nil {
		row = &statsRow{Day: day, Model: model}
		t.rows[[2]string{day, model}] = row
	}
	row.add(statsRow{ModelCalls: c.ModelCalls, ToolCalls: c.ToolCalls, Denials: c.Denials, Usage: c.Usage, CostUSD: c.CostUSD})
	run := cmp.Or(owner, id)
	t.all[run] = true
	if key := [3]string{day, model, run}; !t.seen[key] {
		t.seen[key] = true
		row.Sessions++
	}
}

func (r *statsRow) add(d statsRow) {
	r.ModelCalls, r.ToolCalls, r.Denials = r.ModelCalls+d.ModelCalls, r.ToolCalls+d.ToolCalls, r.Denials+d.Denials
	r.Usage, r.CostUSD = r.Usage.Add(d.Usage), r.CostUSD+d.CostUSD
	r.Tokens = r.Usage.Total()
}

func (t *tally) doc() statsDoc {
	doc := statsDoc{Since: t.since.Format(time.DateOnly), Days: []statsRow{}, Total: statsRow{Sessions: len(t.all)}}
	for _, row := range t.rows {
		doc.Days = append(doc.Days, *row)
		doc.Total.add(*row)
	}
	slices.SortFunc(doc.Days, func(a, b statsRow) int {
		return cmp.Or(strings.Compare(b.Day, a.Day), cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens, a.Tokens), strings.Compare(a.Model, b.Model))
	})
	return doc
}

func (c *statsCmd) table(p *command.Program, doc statsDoc) {
	room, ofModel, format, narrow := 0, 60, time.DateOnly, false
	if p.Out.TTY {
		room, format = p.Out.Columns(), "Jan _2"
		narrow = room < 75
		ofModel = max(10, room-60) // the other columns take at most 60
		if narrow {
			ofModel = max(10, room-44)
		}
	}
	cells := [][]string{{"DAY", "MODEL", "SESSIONS", "CALLS"}}
	if !narrow {
		cells[0] = append(cells[0], "TOOLS", "DENIED")
	}
	cells[0] = append(cells[0], "TOKENS", "COST", "")
	add := func(day, model string, r statsRow) {
		row := []string{day, term.Truncate(model, ofModel), fmt.Sprint(r.Sessions), fmt.Sprint(r.ModelCalls)}
		if !narrow {
			row = append(row, fmt.Sprint(r.ToolCalls), fmt.Sprint(r.Denials))
		}
		cells = append(cells, append(row, tokens(r.Tokens), cost(r.CostUSD), ""))
	}
	last := ""
	for _, r := range doc.Days {
		day := ""
		if r.Day != last {
			t, _ := time.Parse(time.DateOnly, r.Day) // always valid
			day = t.Format(format)
		}
		last = r.Day
		add(day, r.Model, r)
	}
	add("total", "", doc.Total)
	lines := layout(cells, room)
	for i, l := range lines {
		switch i {
		case 0:
			l = p.Out.Dim(l)
		case len(lines) - 1:
			l = p.Out.Bold(l)
		}
		p.Out.Line("%s", l)
	}
}
