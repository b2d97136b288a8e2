package cli

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/doctor"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// doctorCmd is `holdfast doctor`.
type doctorCmd struct {
	Net bool
	CWD string
	storeFlags
	jsonFlag
}

func (c *doctorCmd) declare(b *builder) {
	b.flag(&c.Net, "net", "", "", "Also ask the model's server whether it answers.")
	b.flag(&c.CWD, "cwd", "", "FOLDER", "The folder to look at; default the current one.")
	b.include(&c.storeFlags)
	b.include(&c.jsonFlag)
}

func (c *doctorCmd) run(ctx context.Context, p *Program) error {
	r := doctor.Examine(ctx, p.environment(), &doctor.Options{Store: c.Store, Cwd: c.CWD, Net: c.Net})
	if c.JSON {
		if err := p.out.JSON(r, p.out.TTY); err != nil {
			return err
		}
	} else {
		p.findings(r)
	}
	return end(r.Outcome())
}

// findings prints a doctor's report.
func (p *Program) findings(r *doctor.Report) {
	t := p.out.Style
	p.out.Line("%s", t.Dim(fmt.Sprintf("holdfast %s, %s/%s, %s", r.Version.Version, r.Version.OS, r.Version.Arch, r.Version.Go)))
	for _, k := range r.Checks {
		word := t.Green("ok  ")
		switch k.State {
		case "warn":
			word = t.Yellow("warn")
		case "fail":
			word = t.Red("fail")
		}
		p.out.Line("%s  %s %s", word, term.Column(k.Name, 10), term.Escape(term.OneLine(k.Detail)))
		if k.Hint != "" {
			p.out.Line("                 hint: %s", term.Escape(term.OneLine(k.Hint)))
		}
	}
}
