package render

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// Part is a part of the context window.
type Part struct {
	Name   string
	Tokens int
}

// partRoles and partSigns tell the parts apart; without colors the signs do.
var partRoles = []paint.Role{paint.Accent, paint.Special, paint.Info, paint.Good, paint.Warn, paint.Bad}

const (
	partSigns = "abcdefghijklmnopqrstuvwxyz"
	gridCells = 100 // a cell is 1 percent of the window
	gridRow   = 20
)

// Context returns a picture of what fills the context window: a cell for each percent, and the parts with their sizes.
func (r *Renderer) Context(parts []Part, window, width int) []string {
	width = max(width, minWidth)
	used := 0
	for _, p := range parts {
		used += max(p.Tokens, 0)
	}
	if window <= 0 {
		window = max(used, 1)
	}
	head := fmt.Sprintf("%s of %s used, %d%% left", count(int64(used)), tokens(int64(window)), max(0, 100-percent(used, window)))
	lines := []string{r.paint(paint.Bold, "Context") + "  " + head, ""}
	legend := r.legend(parts, used, window)
	switch grid := r.grid(parts, used, window); {
	case r.Plain:
		lines = append(lines, legend...)
	case width >= 80: // next to each other
		for i := range max(len(grid), len(legend)) {
			left, right := "", ""
			if i < len(grid) {
				left = grid[i]
			}
			if i < len(legend) {
				right = legend[i]
			}
			lines = append(lines, strings.TrimRight(paint.Pad(left, 2*gridRow+2)+right, " "))
		}
	default:
		lines = append(append(append(lines, grid...), ""), legend...)
	}
	return r.finish(lines, width)
}

func percent(n, of int) int { return int((float64(n)*100 + float64(of)/2) / float64(of)) }

func (r *Renderer) part(i int) (paint.Role, string) {
	if r.palette().Paint(paint.Bold, "x") == "x" {
		return paint.None, partSigns[i%len(partSigns) : i%len(partSigns)+1]
	}
	return partRoles[i%len(partRoles)], "▉"
}

// grid draws the cells; a part that has tokens has at least one.
func (r *Renderer) grid(parts []Part, used, window int) (lines []string) {
	total := max(window, used)
	var cells []string
	for i, p := range parts {
		role, sign := r.part(i)
		n := percent(p.Tokens, total)
		if p.Tokens > 0 {
			n = max(n, 1)
		}
		for range n {
			cells = append(cells, r.paint(role, sign))
		}
	}
	for len(cells) < gridCells {
		cells = append(cells, r.paint(paint.Dim, "░"))
	}
	for i := 0; i < gridCells; i += gridRow {
		lines = append(lines, strings.Join(cells[i:i+gridRow], " "))
	}
	return lines
}

func (r *Renderer) legend(parts []Part, used, window int) (lines []string) {
	wide := len("free")
	for _, p := range parts {
		wide = max(wide, paint.Width(paint.Clip(paint.Line(p.Name), 24)))
	}
	row := func(sign, name string, n int) {
		if r.Plain {
			sign = ""
		}
		share := float64(n) * 100 / float64(window)
		lines = append(lines, fmt.Sprintf("%s%s  %7s  %5.1f%%", sign, paint.Pad(name, wide), count(int64(n)), share))
	}
	for i, p := range parts {
		role, sign := r.part(i)
		row(r.paint(role, sign)+" ", paint.Clip(paint.Line(p.Name), 24), p.Tokens)
	}
	row(r.paint(paint.Dim, "░")+" ", "free", max(0, window-used))
	return lines
}
