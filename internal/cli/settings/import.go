package settings

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

func (c *importCmd) Run(_ context.Context, p *command.Program) error {
	layer, err := c.layer()
	if err != nil {
		return err
	}
	for _, name := range c.From {
		if !slices.Contains(settings.Importable(), name) {
			return outcome.Invalid(fmt.Sprintf("--from: unknown program %q", name), "use one of "+strings.Join(settings.Importable(), ", "))
		}
	}
	folder, err := p.Folder(c.CWD)
	if err != nil {
		return err
	}
	o, err := p.SettingsOptions(folder, nil)
	if err != nil {
		return err
	}
	before, loadErr := p.FolderSettings(folder) // errors in other files do not matter here
	done, err := settings.Import(&settings.ImportOptions{Options: o, Programs: c.From, Layer: layer, DryRun: c.DryRun})
	if err != nil {
		return err
	}
	counts := true
	if done.Written && loadErr == nil {
		s, err := p.SettingsAfter(folder, before, done.File)
		if err != nil {
			return err
		}
		counts = !slices.ContainsFunc(s.Layers, func(l settings.Layer) bool { return l.File == done.File && l.Untrusted })
	}
	if c.JSON {
		return p.Out.JSON(done, p.Out.TTY)
	}
	printImport(p, done)
	if !counts {
		p.Warn("%s", command.NotTrusted)
	}
	return nil
}

func (c *importCmd) layer() (string, error) {
	n, layer := 0, layernames.User
	for _, l := range []struct {
		set  bool
		name string
	}{{c.User, layernames.User}, {c.Project, layernames.Project}, {c.Local, layernames.Local}} {
		if l.set {
			n, layer = n+1, l.name
		}
	}
	if n > 1 {
		return "", outcome.Invalid("--user, --project and --local cannot be used together", "use one of them")
	}
	return layer, nil
}

func printImport(p *command.Program, d *settings.Imported) {
	t := p.Out.Style
	if len(d.Read) == 0 {
		p.Err.Line("found no settings of other agents to import")
		return
	}
	for _, file := range d.Read {
		p.Out.Line("%s %s", t.Dim("read"), term.Escape(file))
	}
	list := func(text string, values []settings.Effective) {
		if len(values) == 0 {
			return
		}
		p.Out.Line("")
		p.Out.Line("%s", p.Out.Bold(text+":"))
		for _, v := range values {
			p.Out.Line("  %s  %s  %s", term.Column(v.Key, 28), term.Escape(term.OneLine(v.Value)), t.Dim(term.Escape(programName(v.Program)+", "+settings.OriginText(v.Origin))))
		}
	}
	verb := "written to " + d.File
	if d.DryRun {
		verb = "would be written to " + d.File
	}
	list(verb, d.Imported)
	list("skipped: your own settings have another value", d.Conflicts)
	printUnsupported(p, "no equivalent", d.Unsupported)
	if len(d.Imported) == 0 {
		p.Err.Line("nothing to write: %s already has these settings", term.Escape(d.File))
	}
}
