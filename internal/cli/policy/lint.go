package policy

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

func (c *lintCmd) Run(_ context.Context, p *command.Program) error {
	cwd, err := p.Folder(c.CWD)
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
			if err := p.Out.JSON(f, false); err != nil {
				return err
			}
			continue
		}
		printProblem(p, f)
	}
	if !c.JSON {
		p.Err.Line("%s, %s", term.Count(fatal, "error"), term.Count(len(problems)-fatal, "warning"))
	}
	if fatal > 0 {
		return command.End(outcome.Failed)
	}
	return nil
}

func printProblem(p *command.Program, f settings.Problem) {
	t := p.Out.Style
	word := t.Yellow("warning")
	if f.Fatal {
		word = t.Red("error")
	}
	p.Out.Line("%s %s", word, term.Escape(term.OneLine(f.String())))
	if f.Hint != "" {
		p.Out.Line("      %s %s", t.Dim("hint:"), term.Escape(term.OneLine(f.Hint)))
	}
}

// problems checks each given file alone, or all layers together.
func (c *lintCmd) problems(p *command.Program, cwd string) ([]settings.Problem, error) {
	if len(c.Files) == 0 {
		o, err := p.SettingsOptions(cwd, nil)
		if err != nil {
			return nil, err
		}
		return loadWithProblems(o)
	}
	files, err := p.SettingsFiles(c.Files)
	if err != nil {
		return nil, err
	}
	var all []settings.Problem
	for _, f := range files {
		found, err := loadWithProblems(&settings.Options{User: p.UserHome(), Cwd: cwd, Files: []string{f}, FlagsOnly: true})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// loadWithProblems returns all problems, including those of files that cannot be read.
func loadWithProblems(o *settings.Options) ([]settings.Problem, error) {
	o.Tools = tools.KnownTools()
	_, problems, err := settings.Examine(o)
	if e, ok := errors.AsType[*settings.Error](err); ok {
		return e.Problems, nil
	}
	return problems, err
}
