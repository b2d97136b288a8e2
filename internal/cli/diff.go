package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/holdfast-dev/holdfast/event"
)

// diffLines is how much of a change is shown without --verbose.
const diffLines = 24

// change shows what an editing call changes, as coloured diff lines.
func (v *textView) change(e event.ToolStarted) []string {
	var in struct {
		Content string     `json:"content"`
		Old     string     `json:"old_string"`
		New     string     `json:"new_string"`
		Edits   []editPair `json:"edits"`
	}
	if json.Unmarshal(e.Input, &in) != nil {
		return nil
	}
	var lines []string
	switch e.Tool {
	case "Write":
		for l := range strings.Lines(in.Content) {
			lines = append(lines, "+"+l)
		}
	case "Edit":
		lines = hunk(in.Old, in.New)
	case "MultiEdit":
		for _, p := range in.Edits {
			lines = append(lines, hunk(p.Old, p.New)...)
		}
	default:
		return nil
	}
	limit := diffLines
	if v.verbose {
		limit = len(lines)
	}
	return paint(v.p.err.term, lines, limit)
}

type editPair struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
}

// hunk is a unified diff of two texts without its headers.
func hunk(old, fresh string) []string {
	for _, s := range []*string{&old, &fresh} {
		if *s != "" && !strings.HasSuffix(*s, "\n") {
			*s += "\n"
		}
	}
	var lines []string
	n := 0
	for l := range strings.Lines(udiff.Unified("a", "b", old, fresh)) {
		if n++; n > 2 && !strings.HasPrefix(l, "@@") { // after "--- a" and "+++ b"
			lines = append(lines, l)
		}
	}
	return lines
}

// paint colours diff lines and counts what does not fit.
func paint(t terminal, lines []string, limit int) []string {
	var out []string
	for i, l := range lines {
		if i == limit {
			out = append(out, t.dim(fmt.Sprintf("… %s more, --verbose shows them", count(len(lines)-i, "line"))))
			break
		}
		l = shown(strings.TrimRight(l, "\r\n"))
		switch {
		case strings.HasPrefix(l, "+"):
			l = t.green(l)
		case strings.HasPrefix(l, "-"):
			l = t.red(l)
		default:
			l = t.dim(l)
		}
		out = append(out, l)
	}
	return out
}
