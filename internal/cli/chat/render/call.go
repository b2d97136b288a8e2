package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/diff"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

const (
	maxOutput  = 5   // lines of a call's output in the scrollback
	maxDiff    = 20  // lines of a call's diff there
	sideBySide = 120 // the width at which diffs have two columns
)

// counted and quiet list the tools whose output only the model needs. Of the first, the number of lines is shown.
var (
	counted = []string{"Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch"}
	quiet   = []string{"Edit", "MultiEdit", "Write", "NotebookEdit", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList", "Skill", "ToolSearch"}
)

// hasBody reports whether a call takes more than one line.
func (r *Renderer) hasBody(c *conversation.Call) bool {
	return c != nil && (c.Denied != "" || c.Diff != "" || len(c.Notes) > 0 || r.showsOutput(c) && strings.TrimSpace(c.Output) != "")
}

func (r *Renderer) showsOutput(c *conversation.Call) bool {
	return c.IsError && c.Denied == "" || !slices.Contains(quiet, c.Tool) && !slices.Contains(counted, c.Tool)
}

// call draws a tool call that has ended.
func (r *Renderer) call(c *conversation.Call, width int, full bool) []string {
	output := strings.Trim(withoutNotes(paint.Text(c.Output), c.Notes), "\n")
	if at := strings.LastIndex(output, "\n[sub-agent "); at >= 0 && c.Tool == "Agent" && !full { // for the model
		output = strings.TrimRight(output[:at], "\n")
	}
	lines := []string{r.head(c, output, width, full)}
	if full {
		lines = append(lines, r.input(c, width)...)
	}
	var body []string
	if c.Denied != "" {
		for _, l := range paint.Wrap(strings.TrimSpace(c.Denied), width-4) {
			body = append(body, r.paint(paint.Warn, l))
		}
	}
	for _, n := range c.Notes {
		for _, l := range paint.Wrap(paint.Line(n), width-4) {
			body = append(body, r.paint(paint.Warn, l))
		}
	}
	body = append(body, r.change(c, width-4, full)...)
	switch {
	case output == "" || c.Denied != "":
	case full:
		for _, l := range paint.FoldText(output, width-4) {
			body = append(body, l)
		}
	case r.showsOutput(c):
		body = append(body, r.tail(output, maxOutput, width-4)...)
	}
	return append(lines, r.under(body)...)
}

// under puts lines below the head of a call.
func (r *Renderer) under(body []string) []string {
	first := r.paint(paint.Dim, "  └ ")
	if r.Plain {
		first = "    "
	}
	return indented(first, body)
}

// withoutNotes removes the lines that are shown as notes.
func withoutNotes(output string, notes []string) string {
	if len(notes) == 0 {
		return output
	}
	lines := strings.Split(output, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return slices.Contains(notes, l) }), "\n")
}

// state returns the sign and the words for how a call ended; no words if it succeeded.
func (r *Renderer) state(c *conversation.Call) (sign, words string, role paint.Role) {
	switch {
	case c.Denied == conversation.NotRun:
		return "⊘", "did not run", paint.Warn
	case c.Denied != "":
		return "⊘", "denied", paint.Warn
	case c.Unknown:
		return "?", "outcome unknown: the program stopped", paint.Warn
	case c.ExitCode != nil && *c.ExitCode != 0:
		return "✗", fmt.Sprintf("exit %d", *c.ExitCode), paint.Bad
	case c.IsError:
		return "✗", "failed", paint.Bad
	case c.Running:
		return "○", "continues in the background", paint.Accent
	case c.Background:
		return "●", "done in the background", paint.Good
	}
	return "●", "", paint.Good
}

// head draws the line that says what a call did.
func (r *Renderer) head(c *conversation.Call, output string, width int, full bool) string {
	sign, words, role := r.state(c)
	var facts []string
	plain := 0
	fact := func(role paint.Role, text string) {
		facts = append(facts, r.paint(role, text))
		plain += paint.Width(text) + 2
	}
	if words != "" {
		fact(role, words)
	}
	if c.Diff != "" {
		added, removed := diff.Count(c.Diff)
		if added > 0 {
			fact(paint.Good, fmt.Sprintf("+%d", added))
		}
		if removed > 0 {
			fact(paint.Bad, fmt.Sprintf("-%d", removed))
		}
	} else if words == "" && output != "" && slices.Contains(counted, c.Tool) {
		fact(paint.Dim, term.Count(strings.Count(output, "\n")+1, "line"))
	}
	if c.Took >= 100*time.Millisecond || full && c.Took > 0 {
		fact(paint.Dim, term.Elapsed(c.Took))
	}
	first := r.sign(role, sign, "Tool call:")
	name := paint.Clip(paint.Line(c.Tool), max(width/3, 8))
	room := width - paint.Width(first) - paint.Width(name) - 2 - plain
	line := first + r.paint(paint.Bold, name)
	if title := r.title(c); title != "" && room >= 4 {
		line += "  " + paint.Clip(title, room)
	}
	for _, f := range facts {
		line += "  " + f
	}
	return line
}

// Headline returns what a call does in one safe line.
func (r *Renderer) Headline(c *conversation.Call) string {
	return strings.TrimRight(paint.Line(c.Tool)+"  "+r.title(c), " ")
}

// maxTitle is the number of bytes of a text from which a line is made.
const maxTitle = 4096

// brief is [paint.Line] for a text of any length of which only the start is shown.
func brief(s string) string {
	if len(s) > maxTitle {
		s = strings.ToValidUTF8(s[:maxTitle], "")
	}
	return paint.Line(s)
}

// title returns the part of a call's input that describes it best, in one safe line.
func (r *Renderer) title(c *conversation.Call) string {
	title := runtext.Headline(c.Tool, c.Input, r.Cwd)
	if len(title) > maxTitle {
		return brief(title)
	}
	var fields map[string]json.RawMessage
	if title != string(c.Input) || json.Unmarshal(c.Input, &fields) != nil {
		return paint.Line(title)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := string(fields[name])
		if s := ""; json.Unmarshal(fields[name], &s) == nil {
			value = s
		}
		parts = append(parts, name+": "+value)
	}
	return paint.Line(strings.Join(parts, ", "))
}

// input draws the whole input of a call: a command as it is, anything else as JSON.
func (r *Renderer) input(c *conversation.Call, width int) (lines []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.Input, &fields) != nil {
		return indented("    ", paint.FoldText(paint.Text(string(c.Input)), width-4))
	}
	var command string
	if json.Unmarshal(fields["command"], &command) == nil {
		delete(fields, "command")
		for _, l := range paint.FoldText(term.EscapeStrict(command), width-6) {
			lines = append(lines, r.paint(paint.Accent, l))
		}
		lines = indented("    $ ", lines)
	}
	if c.Diff != "" { // it shows these
		for _, name := range []string{"content", "old_string", "new_string", "edits"} {
			delete(fields, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := string(fields[name])
		if s := ""; json.Unmarshal(fields[name], &s) == nil {
			value = s
		} else if b := new(bytes.Buffer); json.Indent(b, fields[name], "", "  ") == nil {
			value = b.String()
		}
		head := "    " + paint.Clip(paint.Line(name), width/3) + ": "
		text := term.EscapeStrict(value)
		if one := paint.FoldText(text, width-paint.Width(head)); len(one) == 1 {
			lines = append(lines, r.paint(paint.Dim, head)+one[0])
		} else {
			lines = append(lines, r.paint(paint.Dim, strings.TrimRight(head, " ")))
			for _, l := range paint.FoldText(text, width-6) {
				lines = append(lines, "      "+l)
			}
		}
	}
	return lines
}

// change draws the diff of a call.
func (r *Renderer) change(c *conversation.Call, width int, full bool) []string {
	if c.Diff == "" || c.Denied != "" {
		return nil
	}
	lines := r.Diff(c.Diff, width, r.Sides == "side" || r.Sides != "unified" && width+4 >= sideBySide)
	if full || len(lines) <= maxDiff {
		return lines
	}
	return append(lines[:maxDiff-1:maxDiff-1], r.more(len(lines)-maxDiff+1))
}

// Changes draws a unified diff as the user wants diffs, in the width of a page.
func (r *Renderer) Changes(text string, width int) []string {
	return r.Diff(text, width, r.Sides == "side" || r.Sides != "unified" && width >= sideBySide)
}

// Diff draws a unified diff.
func (r *Renderer) Diff(text string, width int, sideBySide bool) []string {
	return r.finish(diff.Lines(&diff.Options{Palette: r.palette()}, text, width, sideBySide && !r.Plain), width)
}

// tail returns the last lines of a safe text, each cut at the width.
func (r *Renderer) tail(text string, keep, width int) (lines []string) {
	all := strings.Split(text, "\n")
	if n := len(all) - keep; n > 0 {
		lines = append(lines, r.more(n))
		all = all[n:]
	}
	for _, l := range all {
		lines = append(lines, r.paint(paint.Dim, clipTabs(l, width)))
	}
	return lines
}

// clipTabs cuts a line and writes its tabs as spaces.
func clipTabs(l string, width int) string {
	if strings.Contains(l, "\t") {
		if parts := paint.FoldText(l, width); len(parts) == 1 {
			return parts[0]
		} else {
			return paint.Clip(parts[0]+"…", width)
		}
	}
	return paint.Clip(l, width)
}
