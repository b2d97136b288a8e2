package settings

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/importsettings"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// showDoc is the output of `holdfast settings show --json`.
type showDoc struct {
	Folder   string                        `json:"folder"`
	Project  string                        `json:"project"`
	Layers   []settings.Layer              `json:"layers"`
	Settings []settings.Effective          `json:"settings"`
	NoEffect []settings.UnsupportedSetting `json:"no_effect"`
	Ignored  []settings.Ignored            `json:"ignored"`
}

func (c *showCmd) Run(_ context.Context, p *command.Program) error {
	s, err := c.Load(p, false)
	if err != nil {
		return err
	}
	d := showDoc{Folder: s.Cwd(), Project: s.Project, Layers: s.Layers, Settings: s.Effective(), NoEffect: s.Foreign, Ignored: s.Ignored}
	if c.JSON {
		return p.Out.JSON(withEmptyLists(d), p.Out.TTY)
	}
	print(p, &d)
	return nil
}

// withEmptyLists replaces nil lists by empty ones.
func withEmptyLists(d showDoc) showDoc {
	d.Layers, d.Settings = append([]settings.Layer{}, d.Layers...), append([]settings.Effective{}, d.Settings...)
	d.NoEffect, d.Ignored = append([]settings.UnsupportedSetting{}, d.NoEffect...), append([]settings.Ignored{}, d.Ignored...)
	return d
}

func print(p *command.Program, d *showDoc) {
	t := p.Out.Style
	heading := func(text string, n int) {
		if n > 0 {
			p.Out.Line("")
			p.Out.Line("%s", p.Out.Bold(text+":"))
		}
	}
	p.Out.Line("%s", p.Out.Bold("files, highest precedence first:"))
	for _, l := range d.Layers {
		more := ""
		if l.Untrusted {
			more = t.Yellow("  not trusted: its allow rules are ignored")
		}
		p.Out.Line("  %s  %s%s", term.Column(settings.LayerName(&l), 20), term.Escape(l.File), more)
	}
	if len(d.Layers) == 0 {
		p.Out.Line("  none; defaults apply")
	}
	heading("in force", len(d.Settings))
	width := 20
	for _, v := range d.Settings {
		width = min(44, max(width, len(v.Key)))
	}
	for _, v := range d.Settings {
		state := ""
		if v.State != "" && v.State != string(settings.HookTrusted) && v.State != string(settings.MCPApproved) {
			state = t.Yellow("  " + v.State)
		}
		p.Out.Line("  %s  %s  %s%s", term.Column(v.Key, width), term.Escape(term.OneLine(v.Value)), t.Dim(term.Escape(settings.OriginText(v.Origin))), state)
	}
	heading("ignored because the folder is not trusted", len(d.Ignored))
	for _, i := range d.Ignored {
		p.Out.Line("  %s  %s", term.Escape(i.Setting), t.Dim(term.Escape(settings.OriginText(i.Origin))))
	}
	if len(d.Ignored) > 0 {
		p.Out.Line("  %s trust the folder with holdfast trust", t.Dim("hint:"))
	}
	printUnsupported(p, "has no effect here", d.NoEffect)
}

// printUnsupported prints the settings of other programs that have no equivalent in Holdfast.
func printUnsupported(p *command.Program, text string, list []settings.UnsupportedSetting) {
	if len(list) == 0 {
		return
	}
	t := p.Out.Style
	p.Out.Line("")
	p.Out.Line("%s", p.Out.Bold(text+":"))
	for _, f := range list {
		p.Out.Line("  %s  %s  %s", term.Column(f.Key, 28), term.Escape(term.OneLine(f.Reason)), t.Dim(term.Escape(settings.OriginText(f.Origin))))
	}
}

// programName returns the name of the program that a setting comes from.
func programName(name string) string { return importsettings.Program(name).String() }
