package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// Part is a part of the context window. Its size is an estimate.
type Part struct {
	Name   string
	Tokens int
}

// scaled returns parts that add up to a number of tokens, and their sum. Without that number, the
// parts stay as they are.
func scaled(parts []Part, tokens int) (list []Part, sum int) {
	list = slices.Clone(parts)
	for i := range list {
		list[i].Tokens = max(list[i].Tokens, 0)
		sum += list[i].Tokens
	}
	if tokens <= 0 || sum == 0 {
		return list, sum
	}
	largest, left := 0, tokens
	for i := range list {
		list[i].Tokens = int(float64(list[i].Tokens) * float64(tokens) / float64(sum))
		left -= list[i].Tokens
		if list[i].Tokens > list[largest].Tokens {
			largest = i
		}
	}
	list[largest].Tokens += left // from rounding
	return list, tokens
}

// partRoles and partSigns tell the parts apart; without colors the signs do.
var partRoles = []paint.Role{paint.Accent, paint.Special, paint.Info, paint.Good, paint.Warn, paint.Bad}

const (
	partSigns = "abcdefghijklmnopqrstuvwxyz"
	gridCells = 100 // a cell is 1 percent of the window
	gridRow   = 20

	besideWidth = 80 // from this width on, the parts are next to the cells
)

// Context returns a picture of what fills the context window: a cell for each percent, and the parts with their
// estimated sizes; if the window is not known, only the parts. counted is how many tokens the provider has counted, or 0; the parts are scaled to it.
func (r *Renderer) Context(parts []Part, counted, window, width int) []string {
	width = max(width, minWidth)
	parts, used := scaled(parts, counted)
	about := "~"
	if counted > 0 {
		about = ""
	}
	head := fmt.Sprintf("%s%s used; window size not known", about, term.Tokens(int64(used)))
	if window > 0 {
		head = fmt.Sprintf("%s%s of %s used, %d%% left", about, term.Short(int64(used)), term.Tokens(int64(window)), max(0, 100-percent(used, window)))
	}
	lines := []string{r.paint(paint.Bold, "Context") + "  " + head, ""}
	room := width - 19
	if width >= besideWidth && !r.Plain {
		room -= 2*gridRow + 2
	}
	legend := r.legend(parts, used, window, min(room, 40))
	switch grid := r.grid(parts, used, window); {
	case r.Plain || window <= 0: // a full picture would say that nothing is left
		lines = append(lines, legend...)
	case width >= besideWidth: // next to each other
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
	total := max(window, used, 1)
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

// legend lists the parts; their names have at most room columns. Without a window, the shares are those of what is used.
func (r *Renderer) legend(parts []Part, used, window, room int) (lines []string) {
	room = max(room, 8)
	of := window
	if of <= 0 {
		of = max(used, 1)
	}
	wide := len("free")
	for _, p := range parts {
		wide = max(wide, paint.Width(paint.Clip(paint.Line(p.Name), room)))
	}
	row := func(sign, name, about string, n int) {
		if r.Plain {
			sign = ""
		}
		share := float64(n) * 100 / float64(of)
		lines = append(lines, fmt.Sprintf("%s%s  %7s  %5.1f%%", sign, paint.Pad(name, wide), about+term.Short(int64(n)), share))
	}
	for i, p := range parts {
		role, sign := r.part(i)
		row(r.paint(role, sign)+" ", paint.Clip(paint.Line(p.Name), room), "~", p.Tokens)
	}
	if window > 0 {
		row(r.paint(paint.Dim, "░")+" ", "free", "", max(0, window-used))
	}
	return lines
}
