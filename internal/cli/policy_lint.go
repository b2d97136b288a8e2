package cli

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// policyLintCmd is `holdfast policy lint`.
type policyLintCmd struct {
	Files []string
	CWD   string
	jsonFlag
}

func (c *policyLintCmd) declare(b *builder) {
	b.optional(&c.Files, "files", "Settings files, each for itself; default all that apply in this folder.")
	b.flag(&c.CWD, "cwd", "", "FOLDER", "The folder whose settings are looked at; default the current one.")
	b.include(&c.jsonFlag)
}

// Help says more than one line.
func (c *policyLintCmd) Help() string {
	return `Each problem is printed with file, line and column. The exit code is 1 when one of
them keeps the settings from being used, and 0 when there are only warnings: rules
that can never match, shadow each other or name a tool that there is not.

  holdfast policy lint
  holdfast policy lint .holdfast/settings.json`
}

func (c *policyLintCmd) run(_ context.Context, p *Program) error {
	cwd, err := p.folder(c.CWD)
	if err != nil {
		return err
	}
	problems, err := c.problems(p, cwd)
	if err != nil {
		return err
	}
	fatal := 0
	for _, f := range problems {
		if f.Fatal {
			fatal++
		}
		if c.JSON {
			if err := p.out.JSON(f, false); err != nil {
				return err
			}
			continue
		}
		p.problem(f)
	}
	if !c.JSON {
		p.err.Line("%s, %s", term.Count(fatal, "error"), term.Count(len(problems)-fatal, "warning"))
	}
	if fatal > 0 {
		return ended{outcome.Failed}
	}
	return nil
}

func (p *Program) problem(f settings.Problem) {
	t := p.out.Style
	word := t.Yellow("warning")
	if f.Fatal {
		word = t.Red("error")
	}
	p.out.Line("%s %s", word, term.Escape(term.OneLine(f.String())))
	if f.Hint != "" {
		p.out.Line("      %s %s", t.Dim("hint:"), term.Escape(term.OneLine(f.Hint)))
	}
}

// problems looks at each file for itself, or at all layers together.
func (c *policyLintCmd) problems(p *Program, cwd string) ([]settings.Problem, error) {
	if len(c.Files) == 0 {
		o, err := p.settingsOptions(cwd, nil)
		if err != nil {
			return nil, err
		}
		return examine(o)
	}
	files, err := p.settingsFiles(c.Files)
	if err != nil {
		return nil, err
	}
	var all []settings.Problem
	for _, f := range files {
		found, err := examine(&settings.Options{User: p.userHome(), Cwd: cwd, Files: []string{f}, Alone: true})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// examine returns all problems, also those of files that cannot be read.
func examine(o *settings.Options) ([]settings.Problem, error) {
	o.Tools = tools.Known()
	_, problems, err := settings.Examine(o)
	if e, ok := errors.AsType[*settings.Error](err); ok {
		return e.Problems, nil
	}
	return problems, err
}
