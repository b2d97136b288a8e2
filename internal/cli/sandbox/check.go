package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

type checkDoc struct {
	Decision string `json:"decision"` // allow or deny
	Reason   string `json:"reason,omitempty"`
	Setting  string `json:"setting,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Path     string `json:"path,omitempty"` // canonical
	File     string `json:"file,omitempty"` // the setting's location
	Hint     string `json:"hint,omitempty"`
}

func (c *checkCmd) Run(ctx context.Context, p *command.Program) error {
	asked := 0
	for _, given := range []bool{c.Read != "", c.Write != "", c.Batch != "", len(c.Command) > 0} {
		if given {
			asked++
		}
	}
	if asked != 1 {
		return outcome.Invalid("choose one thing to check: --read PATH, --write PATH, --batch FILE or -- COMMAND", "holdfast sandbox check -- rm -rf build")
	}
	cwd, err := p.FolderArg(c.CWD)
	if err != nil {
		return err
	}
	if c.Batch != "" {
		return c.batch(ctx, p, cwd)
	}
	list, err := compileLayers(p, c.Settings, cwd)
	if err != nil {
		return err
	}
	where, denied := checkLayers(list, func(s *sandbox.Checker) error {
		switch {
		case c.Read != "":
			return s.CheckPath(c.Read, cwd, policy.OpRead)
		case c.Write != "":
			return s.CheckPath(c.Write, cwd, policy.OpWrite)
		}
		return s.CheckConfined(command.Line(c.Command), cwd)
	})
	return c.print(p, newCheckDoc(denied, where))
}

func newCheckDoc(denied error, where string) checkDoc {
	if denied == nil {
		return checkDoc{Decision: "allow"}
	}
	d, ok := errors.AsType[*sandbox.Denial](denied)
	if !ok {
		return checkDoc{Decision: "deny", Reason: denied.Error(), File: where}
	}
	return checkDoc{Decision: "deny", Reason: d.Reason, Setting: d.Setting, Rule: d.Rule, Path: d.Path, File: where, Hint: d.Hint()}
}

func (c *checkCmd) print(p *command.Program, d checkDoc) error {
	out := command.End(outcome.OK)
	if d.Decision == "deny" {
		out = command.End(outcome.Denied)
	}
	if c.JSON {
		return errors.Join(p.Out.JSON(d, p.Out.TTY), out)
	}
	t := p.Out.Style
	if d.Decision == "allow" {
		p.Out.Line("%s", t.Green("allowed"))
		return nil
	}
	p.Out.Line("%s  %s", t.Red("denied"), term.Escape(term.OneLine(d.Reason)))
	by := d.Setting
	if d.Rule != "" {
		by += ": " + d.Rule
	}
	if by != "" {
		p.Out.Line("        by %s %s", term.Escape(by), t.Dim("("+term.Escape(d.File)+")"))
	}
	if d.Hint != "" {
		p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(term.OneLine(d.Hint)))
	}
	return out
}

// settingsFailure returns an error with the location of the invalid setting.
func settingsFailure(err error, source []byte, file string) error {
	e, ok := errors.AsType[*sandbox.Error](err)
	if !ok {
		return err
	}
	where := file
	if e.Offset > 0 {
		before := source[:min(e.Offset, len(source))]
		where = fmt.Sprintf("%s:%d:%d", file, bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
	}
	return outcome.Invalid(where+": "+e.Error(), e.Hint())
}
