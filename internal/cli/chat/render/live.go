package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// Frame is how long a frame of the spinner is shown. A program that redraws more often writes nothing new.
const Frame = 200 * time.Millisecond

const spinner, asciiSpinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", `|/-\`

// section is a part of the live block that can be shown in fewer lines.
type section struct {
	full int                  // how many lines it has
	draw func(n int) []string // at most n of them, n > 0
}

// Live returns the lines of the live block: what runs now, the sub-agents, the tasks and the queued messages. In a
// low terminal each part is shown in fewer lines, and the parts that matter least are left out.
func (r *Renderer) Live(s *conversation.State, width, height int, now time.Time) []string {
	width = max(width, minWidth)
	spin := r.spin(now)
	sections := []section{ // as they are shown
		r.lost(s, width),
		r.working(s, width, now, &spin),
		r.calls(s, width, now, &spin),
		r.agents(s, width, now),
		r.tasks(s, width),
		r.queue(s, width),
	}
	var lines []string
	for i, n := range share(sections, []int{0, 2, 1, 5, 3, 4}, height) {
		if n > 0 {
			lines = append(lines, sections[i].draw(n)...)
		}
	}
	return r.finish(lines, width)
}

// share gives each section a line, the most important first, and then more lines in the same order.
func share(sections []section, order []int, height int) []int {
	rows := make([]int, len(sections))
	for _, i := range order {
		if sections[i].full > 0 && height > 0 {
			rows[i], height = 1, height-1
		}
	}
	for _, i := range order {
		if rows[i] > 0 {
			more := min(sections[i].full-1, height)
			rows[i], height = rows[i]+more, height-more
		}
	}
	return rows
}

// fixed is a section that is shown in one form.
func fixed(lines ...string) section {
	return section{len(lines), func(n int) []string { return lines[:n] }}
}

// spin returns the sign for something that runs. Only the first line of the live block moves.
func (r *Renderer) spin(now time.Time) string {
	frames := []rune(spinner)
	switch {
	case r.Plain:
		return ""
	case r.ASCII:
		frames = []rune(asciiSpinner)
	}
	n := now.UnixMilli() / Frame.Milliseconds() % int64(len(frames))
	return r.paint(paint.Accent, string(frames[max(n, 0)])) + " "
}

func (r *Renderer) lost(s *conversation.State, width int) section {
	if s.Lost == nil {
		return section{}
	}
	first := r.sign(paint.Warn, "!", "Warning:")
	text := paint.Line(fmt.Sprintf("no connection to the daemon, trying again: %v", s.Lost))
	return fixed(first + r.paint(paint.Warn, paint.Clip(text, width-paint.Width(first))))
}

// working says what the model does while no call says it.
func (r *Renderer) working(s *conversation.State, width int, now time.Time, spin *string) section {
	waits := len(s.Questions) > 0 || slices.ContainsFunc(s.Calls, func(c *conversation.Call) bool { return !c.Background })
	if !s.Working || s.Doing == "" && waits {
		return section{}
	}
	doing := "working"
	if s.Doing != "" {
		doing = brief(s.Doing)
	}
	facts := []string{}
	if !s.Since.IsZero() {
		facts = append(facts, running(now.Sub(s.Since)))
	}
	facts = append(facts, "esc interrupts")
	tail := "  " + strings.Join(facts, r.between())
	room := width - paint.Width(*spin) - paint.Width(tail)
	line := *spin + paint.Clip(doing, room) + r.paint(paint.Dim, tail)
	*spin = ""
	return fixed(line)
}

// maxLiveOutput is the number of the last lines of output that a running call shows; of several calls, one each.
const maxLiveOutput = 3

func (r *Renderer) calls(s *conversation.State, width int, now time.Time, spin *string) section {
	list := slices.Clone(s.Calls) // those in the background last
	slices.SortStableFunc(list, func(a, b *conversation.Call) int { return bit(a.Background) - bit(b.Background) })
	heads := make([]string, len(list))
	outputs := make([][]string, len(list))
	keep := maxLiveOutput
	if len(s.Calls) > 1 {
		keep = 1
	}
	full := len(heads)
	for i, c := range list {
		switch {
		case c.Background:
			heads[i] = r.running(c, r.sign(paint.Accent, "○", "Running in the background:"), width, now)
			continue
		case *spin != "":
			heads[i] = r.running(c, *spin, width, now)
			*spin = ""
		default:
			heads[i] = r.running(c, r.sign(paint.Accent, "●", "Running:"), width, now)
		}
		outputs[i] = r.under(r.lastLines(c.Output, keep, width-4))
		full += len(outputs[i])
	}
	return section{full, func(n int) (lines []string) {
		heads, rest := heads, 0
		if len(heads) > n {
			rest = len(heads) - n
			heads = heads[:n]
		}
		spare := n - len(heads)
		for i, h := range heads {
			if rest > 0 && i == len(heads)-1 {
				h = paint.Clip(h, width-14) + r.paint(paint.Dim, fmt.Sprintf("  and %d more", rest))
			}
			lines = append(lines, h)
			show := outputs[i]
			if k := len(show); k > spare { // the newest ones
				show = r.under(r.lastLines(list[i].Output, spare, width-4))
			}
			lines, spare = append(lines, show...), spare-len(show)
		}
		return lines
	}}
}

// running draws the head of a call that runs.
func (r *Renderer) running(c *conversation.Call, sign string, width int, now time.Time) string {
	facts := ""
	if !c.Started.IsZero() {
		facts = "  " + running(now.Sub(c.Started))
	}
	if c.Background && !r.Plain {
		facts = "  in the background" + facts
	}
	name := paint.Clip(paint.Line(c.Tool), max(width/3, 8))
	room := width - paint.Width(sign) - paint.Width(name) - 2 - paint.Width(facts)
	line := sign + r.paint(paint.Bold, name)
	if title := r.title(c); title != "" && room >= 4 {
		line += "  " + paint.Clip(title, room)
	}
	return line + r.paint(paint.Dim, facts)
}

// lastLines returns the last lines of output that are not empty. It looks only at the end of the output, because it is
// called for each frame.
func (r *Renderer) lastLines(output string, keep, width int) (lines []string) {
	if keep <= 0 {
		return nil
	}
	if over := len(output) - 4096; over > 0 {
		output = output[over:]
		output = output[strings.IndexByte(output, '\n')+1:] // a cut line can begin inside a character
	}
	all := slices.DeleteFunc(strings.Split(paint.Text(output), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	for _, l := range all[max(0, len(all)-keep):] {
		lines = append(lines, r.paint(paint.Dim, clipTabs(l, width)))
	}
	return lines
}
