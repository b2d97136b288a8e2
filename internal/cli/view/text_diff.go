package view

import (
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// diffLines is the number of lines of a change shown without --verbose.
const diffLines = 24

// change returns the change that an editing call makes, as colored lines of a diff.
func (v *Text) change(e event.ToolStarted) []string {
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
		lines = term.Diff(in.Old, in.New)
	case "MultiEdit":
		for _, p := range in.Edits {
			lines = append(lines, term.Diff(p.Old, p.New)...)
		}
	default:
		return nil
	}
	limit := diffLines
	if v.Verbose {
		limit = len(lines)
	}
	return term.PaintDiff(v.Program.Err.Style, lines, limit)
}

type editPair struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
}
