package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term/keymap"
	"github.com/holdfast-dev/holdfast/internal/term/live"
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

// disabled reports whether the user has turned something off.
func disabled(v settings.Value[*bool]) bool { return v.Value != nil && !*v.Value }

// use applies the user's settings.
func (u *ui) use(t settings.Terminal) {
	u.terminal = t
	u.notify.silent, u.notify.quiet = disabled(t.Bell), disabled(t.Notifications)
	u.box.SetVi(t.Editor.Value == "vim")
	u.look.Sides = t.Diff.Value
	u.keys, _ = keymap.New(t.ChosenKeys()) // the settings report problems
	u.look.Keys, u.inbox.Keys = u.keys, u.keys
	u.shade = shadeOf(u.p.Getenv("COLORFGBG"))
	u.applyTheme(t.Theme.Value)
}

// applyTheme changes the colors. With the theme auto or "", they are for the background of the terminal, if
// it is known; otherwise they are the 16 colors of its palette, which fit every background.
func (u *ui) applyTheme(theme string) {
	u.terminal.Theme.Value = theme
	shade := theme
	if u.auto() {
		shade = u.shade
	}
	style := markdown.Plain
	if u.p.Out.Color && theme != "plain" {
		style = markdown.ANSI16
		if shade != "" {
			style = fixedColors(u.p.Env)
		}
	}
	if light := shade == "light"; style != u.look.Style || light != u.look.Light {
		u.look.Style, u.look.Light = style, light
		u.past.layOutAgain()
	}
}

// fixedColors returns the richest colors that the terminal has.
func fixedColors(env []string) markdown.Style {
	switch n := live.Colors(env); {
	case n > 256:
		return markdown.TrueColor
	case n == 256:
		return markdown.ANSI256
	}
	return markdown.ANSI16
}

// auto reports whether the colors are for the background of the terminal.
func (u *ui) auto() bool { return u.terminal.Theme.Value == "" || u.terminal.Theme.Value == "auto" }

// asksBackground reports whether the terminal should be asked for its background. The console of
// Linux prints such a question.
func (u *ui) asksBackground() bool {
	return u.auto() && u.p.Out.Color && u.p.Getenv("TERM") != "linux"
}

// background is called when the terminal tells its background.
func (u *ui) background(light bool) {
	u.shade = "dark"
	if light {
		u.shade = "light"
	}
	u.applyTheme(u.terminal.Theme.Value)
}

// shadeOf returns "light" or "dark" from the variable COLORFGBG, which some terminals set, or "". Its
// last number is the background, one of the 16 colors.
func shadeOf(colors string) string {
	n, err := strconv.Atoi(colors[strings.LastIndexByte(colors, ';')+1:])
	switch {
	case err != nil || n < 0 || n > 15:
		return ""
	case n == 7 || n > 8:
		return "light"
	}
	return "dark"
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
		u.applyTheme(name)
		u.saveSetting("theme", name)
	}
}

// vim changes the keys of the box and saves the choice.
func (u *ui) vim(string) {
	name := "vim"
	if u.box.Mode() != "" {
		name = "emacs"
	}
	u.box.SetVi(name == "vim")
	u.saveSetting("editor", name)
}

// saveSetting saves a setting of the terminal in the user's settings.
func (u *ui) saveSetting(key, value string) {
	u.later(func(context.Context) func() {
		w, err := saverule.SetText(u.p.Environment(), []string{"terminal", key}, value)
		return func() {
			if err != nil {
				u.fail(key+" "+value+" is not saved", err)
				return
			}
			u.say(key + " " + value + ": saved in " + w.File)
		}
	})
}
