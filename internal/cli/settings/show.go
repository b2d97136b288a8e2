package settings

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/foreign"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// showDoc is what `holdfast settings show --json` prints.
type showDoc struct {
	Folder   string               `json:"folder"`
	Project  string               `json:"project"`
	Layers   []settings.Layer     `json:"layers"`
	Settings []settings.Effective `json:"settings"`
	NoEffect []settings.Foreign   `json:"no_effect"`
	Ignored  []settings.Ignored   `json:"ignored"`
}

func (c *showCmd) Run(_ context.Context, p *command.Program) error {
	s, err := c.Load(p, false)
	if err != nil {
		return err
	}
	d := showDoc{Folder: s.Cwd(), Project: s.Project, Layers: s.Layers, Settings: s.Effective(), NoEffect: s.Foreign, Ignored: s.Ignored}
	if c.JSON {
		return p.Out.JSON(notNil(d), p.Out.TTY)
	}
	print(p, &d)
	return nil
}

// notNil has empty lists in the place of those that are not there.
func notNil(d showDoc) showDoc {
	d.Layers, d.Settings = append([]settings.Layer{}, d.Layers...), append([]settings.Effective{}, d.Settings...)
	d.NoEffect, d.Ignored = append([]settings.Foreign{}, d.NoEffect...), append([]settings.Ignored{}, d.Ignored...)
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
	p.Out.Line("%s", p.Out.Bold("files, the strongest first:"))
	for _, l := range d.Layers {
		more := ""
		if l.Untrusted {
			more = t.Yellow("  not trusted: it may forbid and ask, not allow")
		}
		p.Out.Line("  %s  %s%s", term.Column(settings.LayerOf(&l), 20), term.Escape(l.File), more)
	}
	if len(d.Layers) == 0 {
		p.Out.Line("  none: the defaults count")
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
		p.Out.Line("  %s  %s  %s%s", term.Column(v.Key, width), term.Escape(term.OneLine(v.Value)), t.Dim(term.Escape(settings.Where(v.Origin))), state)
	}
	heading("does not count, since the folder is not trusted", len(d.Ignored))
	for _, i := range d.Ignored {
		p.Out.Line("  %s  %s", term.Escape(i.What), t.Dim(term.Escape(settings.Where(i.Origin))))
	}
	if len(d.Ignored) > 0 {
		p.Out.Line("  %s holdfast trust", t.Dim("hint:"))
	}
	printLeft(p, "has no effect here", d.NoEffect)
}

// printLeft prints settings of other programs that have no equal.
func printLeft(p *command.Program, text string, list []settings.Foreign) {
	if len(list) == 0 {
		return
	}
	t := p.Out.Style
	p.Out.Line("")
	p.Out.Line("%s", p.Out.Bold(text+":"))
	for _, f := range list {
		p.Out.Line("  %s  %s  %s", term.Column(f.Key, 28), term.Escape(term.OneLine(f.Why)), t.Dim(term.Escape(settings.Where(f.Origin))))
	}
}

// of names the program of a setting that comes from another one.
func of(name string) string { return foreign.Program(name).String() }
