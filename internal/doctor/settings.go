package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// settings lists the settings files in use, and settings of other programs that have no effect.
func (x *examination) settings() []Check {
	s, err := x.env.SettingsFor(x.o.Cwd)
	if err != nil {
		return []Check{failed("settings", err)}
	}
	var out []Check
	for i := range s.Layers {
		l := &s.Layers[i]
		c := Check{Name: "settings", State: "ok", Detail: fmt.Sprintf("%s (%s): %s", l.File, settings.LayerName(l), term.Count(l.Rules, "rule"))}
		if l.Untrusted {
			c.Detail, c.Hint = c.Detail+", not trusted: its allow rules are ignored", "read it, then run holdfast trust "+term.Quote(s.Project)
		}
		var names []string
		for _, f := range s.Foreign {
			if f.Origin.File != l.File {
				continue
			}
			names = append(names, f.Key)
			if !f.Silent {
				c.State = "warn"
			}
		}
		if len(names) > 0 {
			c.Detail += "; no effect here: " + strings.Join(names, ", ")
			if c.Hint == "" {
				c.Hint = "holdfast settings show"
			}
		}
		out = append(out, c)
	}
	for _, w := range s.Warnings {
		out = append(out, Check{"settings", "warn", w.String(), w.Hint})
	}
	for i := range s.Plugins {
		out = append(out, pluginCheck(&s.Plugins[i]))
	}
	for _, f := range s.Foreign { // settings in files that this program does not read
		layer := slices.ContainsFunc(s.Layers, func(l settings.Layer) bool { return l.File == f.Origin.File })
		if !layer && !slices.ContainsFunc(s.Plugins, func(p settings.Plugin) bool { return p.Root == f.Origin.File }) {
			out = append(out, Check{"settings", "warn", f.Origin.File + ": " + f.Reason, ""})
		}
	}
	return out
}

// pluginCheck names a plugin and its parts that are not used.
func pluginCheck(p *settings.Plugin) Check {
	c := Check{Name: "plugin", State: "ok", Detail: fmt.Sprintf("%s (%s): %s", p.Name, p.Origin.Layer, p.Root)}
	var names []string
	for _, u := range p.Unsupported {
		names = append(names, u.Part)
		if !u.Quiet {
			c.State = "warn"
		}
	}
	if len(names) > 0 {
		c.Detail, c.Hint = c.Detail+"; not used here: "+strings.Join(names, ", "), "holdfast plugins"
	}
	return c
}
