package render

import (
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// RewindFiles says what a rewind does with each file.
func (r *Renderer) RewindFiles(plan *api.RewindResult, width int) (lines []string) {
	if len(plan.Files) == 0 {
		return r.finish([]string{r.paint(paint.Dim, "no tool has changed a file since then")}, width)
	}
	for _, f := range plan.Files {
		role, more := paint.None, ""
		switch f.Action {
		case "conflict", "blocked":
			role = paint.Bad
		case "same", "left":
			role = paint.Dim
		case "delete":
			role = paint.Warn
		case "restore", "recreate":
			more = "  " + term.Size(f.Size)
		}
		line := r.paint(role, paint.Pad(paint.Clip(paint.Line(f.Action), 8), 8)) + "  " + paint.Line(strings.TrimPrefix(f.Path, r.Cwd+"/"))
		lines = append(lines, line+r.paint(paint.Dim, more))
		for _, text := range []string{f.Reason, f.Note} {
			if text == "" {
				continue
			}
			for _, l := range paint.Wrap(paint.Line(text), max(width, minWidth)-10) {
				lines = append(lines, strings.Repeat(" ", 10)+r.paint(paint.Dim, l))
			}
		}
	}
	return r.finish(lines, width)
}
