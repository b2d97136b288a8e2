package chat

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// preferences returns the user's settings of the terminal. They are read before the first frame,
// which takes one small file. Invalid settings are reported when the session is opened.
func preferences(p *command.Program) settings.Terminal {
	o, err := p.SettingsOptions("", nil)
	if err != nil {
		return settings.Terminal{}
	}
	t, err := settings.LoadTerminal(o)
	if err != nil {
		return settings.Terminal{}
	}
	return *t
}

// off reports whether the user has turned something off.
func off(v settings.Value[*bool]) bool { return v.Value != nil && !*v.Value }

// use applies the user's settings.
func (u *ui) use(t settings.Terminal) {
	u.terminal = t
	u.notify.silent, u.notify.quiet = off(t.Bell), off(t.Notifications)
	u.box.SetVi(t.Editor.Value == "vim")
	u.look.Sides = t.Diff.Value
	u.paint(t.Theme.Value)
}

// paint changes the colors. With the theme auto or "", they follow the terminal.
func (u *ui) paint(theme string) {
	u.look.Style = styleOf(u.p)
	switch theme {
	case "plain":
		u.look.Style = markdown.Plain
	case "light":
		u.look.Light = true
	case "dark":
		u.look.Light = false
	default:
		u.look.Light = u.bright
	}
	u.terminal.Theme.Value = theme
}

// background is called when the terminal tells its background.
func (u *ui) background(light bool) {
	if u.bright = light; u.terminal.Theme.Value == "" || u.terminal.Theme.Value == "auto" {
		u.look.Light = light
	}
}

var themeHelp = map[string]string{
	"auto": "ask the terminal for its background", "light": "for a light background", "dark": "for a dark background", "plain": "no colors",
}

// theme chooses the colors and saves the choice.
func (u *ui) theme(name string) {
	switch {
	case name == "":
		var items []pick.Item
		for _, t := range settings.Themes {
			items = append(items, pick.Item{Text: t, Detail: themeHelp[t]})
		}
		u.choose("theme", items, func(it pick.Item) { u.theme(it.Text) })
	case !slices.Contains(settings.Themes, name):
		u.say("usage: /theme " + strings.Join(settings.Themes, ", "))
	default:
		u.paint(name)
		u.keep("theme", name)
	}
}

// vim changes the keys of the box and saves the choice.
func (u *ui) vim(string) {
	name := "vim"
	if u.box.Mode() != "" {
		name = "emacs"
	}
	u.box.SetVi(name == "vim")
	u.keep("editor", name)
}

// keep saves a setting of the terminal in the user's settings.
func (u *ui) keep(key, value string) {
	w, err := saverule.SetText(u.p.Environment(), []string{"terminal", key}, value)
	if err != nil {
		u.fail(key+" "+value+" is not saved", err)
		return
	}
	u.say(key + " " + value + ": saved in " + w.File)
}
