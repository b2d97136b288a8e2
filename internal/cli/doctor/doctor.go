package doctor

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/doctor"
	"github.com/holdfast-dev/holdfast/internal/term"
)

func (c *doctorCmd) Run(ctx context.Context, p *command.Program) error {
	r := doctor.Examine(ctx, p.Environment(), &doctor.Options{Store: c.Store, Cwd: c.CWD, Net: c.Net})
	if c.JSON {
		if err := p.Out.JSON(r, p.Out.TTY); err != nil {
			return err
		}
	} else {
		printReport(p, r)
	}
	return command.End(r.Outcome())
}

// printReport prints a doctor's report.
func printReport(p *command.Program, r *doctor.Report) {
	t := p.Out.Style
	p.Out.Line("%s", t.Dim(fmt.Sprintf("holdfast %s, %s/%s, %s", r.Version.Version, r.Version.OS, r.Version.Arch, r.Version.Go)))
	for _, k := range r.Checks {
		word := t.Green("ok  ")
		switch k.State {
		case "warn":
			word = t.Yellow("warn")
		case "fail":
			word = t.Red("fail")
		}
		p.Out.Line("%s  %s %s", word, term.Column(k.Name, 10), term.Escape(term.OneLine(k.Detail)))
		if k.Hint != "" {
			p.Out.Line("                 hint: %s", term.Escape(term.OneLine(k.Hint)))
		}
	}
}
