package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

func (c *psCmd) Run(ctx context.Context, p *command.Program) error {
	if c.Watch && (!p.Out.TTY || p.Out.Dumb) {
		return outcome.Invalid("--watch needs a terminal", "holdfast ps")
	}
	sessions, closeStore, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	o := &overview{sessions: sessions, clock: p.Clock}
	c.noticeOtherStore(ctx, p)
	if c.Watch {
		return c.watch(ctx, p, o)
	}
	list, all, err := o.rows(ctx, c.All)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(map[string]any{"sessions": list}, p.Out.TTY)
	}
	if len(list) == 0 {
		p.Err.Line("no sessions%s", c.within())
		if !c.All && len(all) > 0 {
			p.Err.Hint("holdfast ps --all")
		}
		return nil
	}
	for _, line := range c.lines(p, list, all) {
		p.Out.Line("%s", line)
	}
	if list[0].Group == needsYou {
		p.Err.Hint(strings.TrimSpace("answer: holdfast approvals list " + command.StoreArg(c.Store)))
	}
	return nil
}

// noticeOtherStore prints that the list has none of the daemon's runs, if the daemon serves another
// store.
func (c *psCmd) noticeOtherStore(ctx context.Context, p *command.Program) {
	d, other := dial.DaemonForStore(ctx, p, c.Store)
	if d != nil {
		d.Close()
	}
	if other != "" {
		p.Warn("the daemon serves another store, %s; its runs are not in this list", other)
	}
}

// within says which sessions an empty list would have had.
func (c *psCmd) within() string {
	if c.All {
		return ""
	}
	return " need you, work or were done in the last day"
}

// lines returns the lines of the list. At a terminal, none is wider than the terminal.
func (c *psCmd) lines(p *command.Program, list []*row, all []session.Meta) []string {
	short, room, ofState, ofModel := func(id string) string { return id }, 0, 60, 60
	if p.Out.TTY {
		short, room, ofState, ofModel = command.ShortIDsOf(all), p.Out.Columns(), 24, 20
		if room < 100 { // leave something for the title
			ofState, ofModel = 20, 12
		}
	}
	cells := [][]string{{"ID", "STATE", "AGE", "MODEL", "TOKENS", "COST", "TITLE"}}
	for _, r := range list {
		cells = append(cells, []string{
			term.Escape(short(r.ID)), term.Truncate(stateWord(r, p.Clock()), ofState), shortAge(p.Clock().Sub(r.UpdatedAt)), term.Truncate(modelName(r.Model), ofModel),
			term.Short(r.Tokens), cost(r.CostUSD), term.Truncate(cmp.Or(r.Title, r.FirstPrompt, "-"), 60),
		})
	}
	lines := layout(columns(cells, room), room)
	lines[0] = p.Out.Dim(lines[0])
	for i, r := range list {
		switch r.Group {
		case needsYou:
			lines[i+1] = p.Out.Yellow(lines[i+1])
		case working:
			lines[i+1] = p.Out.Bold(lines[i+1])
		}
	}
	return lines
}

// columns returns the columns to show at a width: without a cost if there is none, and in a narrow
// terminal without model and tokens, to leave something for the title.
func columns(cells [][]string, room int) [][]string {
	free := room > 0 && !slices.ContainsFunc(cells[1:], func(row []string) bool { return row[5] != "-" }) // no session has a cost
	names := cells[0]
	out := make([][]string, len(cells))
	for i, row := range cells {
		for j, cell := range row {
			if name := names[j]; name == "COST" && free || room > 0 && room < 75 && (name == "MODEL" || name == "TOKENS") {
				continue
			}
			out[i] = append(out[i], cell)
		}
	}
	return out
}

// layout returns the rows as lines of columns. Numbers are right-aligned. If room is not 0, the
// lines are cut at that width, so that only the last column loses text.
func layout(cells [][]string, room int) []string {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], term.Width(cell))
		}
	}
	var lines []string
	for _, row := range cells {
		var b strings.Builder
		for i, cell := range row {
			switch name := cells[0][i]; {
			case i == len(row)-1:
				b.WriteString(cell)
			case isNumber(name):
				b.WriteString(strings.Repeat(" ", widths[i]-term.Width(cell)) + cell + "  ")
			default:
				b.WriteString(term.Column(cell, widths[i]) + "  ")
			}
		}
		lines = append(lines, term.Clip(strings.TrimRight(b.String(), " "), room))
	}
	return lines
}

// isNumber reports whether a column contains numbers.
func isNumber(name string) bool {
	switch name {
	case "AGE", "TOKENS", "COST", "SESSIONS", "CALLS", "TOOLS", "DENIED":
		return true
	}
	return false
}

// stateWord returns what the session does, or what it needs.
func stateWord(r *row, now time.Time) string {
	switch {
	case r.Group == needsYou && len(r.Pending) > 0:
		what := r.Pending[0].Tool
		if n := len(r.Pending); n > 1 {
			what = fmt.Sprintf("%d calls", n)
		}
		return fmt.Sprintf("needs you %s: %s", shortAge(now.Sub(r.Pending[0].AskedAt)), what)
	case r.Group == needsYou:
		return "needs you: input"
	case r.Group == working:
		return working
	case r.State != runlog.Idle:
		return r.State
	case r.Run != "" && r.Run != "completed":
		return r.Run
	}
	return done
}

// modelName returns a model without its provider.
func modelName(model string) string {
	if model == "" {
		return "-"
	}
	return model[strings.LastIndexByte(model, '/')+1:]
}

// shortAge returns an age in at most four characters.
func shortAge(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// cost returns a cost, or "-" if there is none.
func cost(usd float64) string {
	if usd == 0 {
		return "-"
	}
	return term.Dollars(usd)
}
