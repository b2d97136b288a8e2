package render

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// Start is what the banner shows.
type Start struct {
	Version, Model, Cwd string
	Mode                string
	Sandbox             string
	Hints               []string // what a new user can do; at most two are shown
}

// Banner returns what the conversation begins with, at most five lines.
func (r *Renderer) Banner(s *Start, width int) []string {
	width = max(width, minWidth)
	bar := r.paint(paint.Accent, "▌") + " "
	if r.Plain {
		bar = ""
	}
	room := width - paint.Width(bar)
	var facts []string
	for _, f := range []string{s.Model, s.Mode, s.Sandbox} {
		if f != "" {
			facts = append(facts, paint.Line(f))
		}
	}
	lines := []string{bar + paint.Clip(r.paint(paint.Bold, "Holdfast")+" "+r.paint(paint.Dim, paint.Line(s.Version)), room)}
	if len(facts) > 0 {
		lines = append(lines, bar+paint.Clip(strings.Join(facts, r.between()), room))
	}
	if s.Cwd != "" {
		lines = append(lines, bar+r.paint(paint.Dim, paint.Clip(paint.Line(s.Cwd), room)))
	}
	for _, h := range s.Hints[:min(len(s.Hints), 2)] {
		if r.Plain {
			lines = append(lines, paint.Wrap(paint.Line(h), width)...)
			continue
		}
		lines = append(lines, bar+r.paint(paint.Dim, paint.Clip(paint.Line(h), room)))
	}
	return r.finish(lines, width)
}
