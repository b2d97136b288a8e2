package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/term"
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
	t := &tally{since: time.Date(y, m, d-c.Days+1, 0, 0, 0, 0, now.Location()), rows: map[[2]string]*statsRow{}, seen: map[[3]string]bool{}, all: map[string]bool{}}
	read := runlog.Tally{Since: t.since, Add: t.add}
	if err := read.Read(ctx, sessions, of); err != nil {
		return err
	}
	for a := range read.Answers() {
		t.add(a.ID, a.Owner, a.Charge)
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
	since time.Time
	rows  map[[2]string]*statsRow // by day and model
	seen  map[[3]string]bool      // sessions that were counted, by day, model and id
	all   map[string]bool         // sessions with usage
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
		cells = append(cells, append(row, term.Short(r.Tokens), cost(r.CostUSD), ""))
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
