package render

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
	"github.com/holdfast-dev/holdfast/policy"
)

// Status is what the status line shows. Empty parts are left out.
type Status struct {
	Model, Mode     string
	Context, Window int     // tokens; the window is 0 if it is not known
	CostUSD         float64 // of the run
	DayUSD          float64 // of all runs of the day; 0 if it is not known
	BudgetUSD       float64
	Sandbox         string // "none" needs attention
	Daemon          bool   // the run continues when the user leaves
	Branch          string
	Queue           int // messages
	Questions       int
}

// field is a part of the status line, from its long to its short forms; the last one can be empty.
type field struct {
	forms []string
	role  paint.Role
}

// Status returns the status line. In a narrow terminal its parts become shorter and disappear in a fixed order.
func (r *Renderer) Status(s Status, width int) string {
	width = max(width, minWidth)
	branch := paint.Line(s.Branch)
	fields := map[string]*field{
		"questions": questionsField(s.Questions),
		"mode":      {[]string{paint.Clip(paint.Line(s.Mode), 20)}, modeRole(s.Mode)},
		"model":     modelField(s.Model),
		"context":   r.contextField(s.Context, s.Window),
		"cost":      costField(&s),
		"sandbox":   {[]string{paint.Clip(paint.Line(s.Sandbox), 24), ""}, paint.Dim},
		"branch":    {[]string{paint.Clip(branch, 24), paint.Clip(branch, 12), ""}, paint.Dim},
		"queue":     {[]string{"", ""}, paint.Dim},
		"daemon":    {[]string{"no daemon", ""}, paint.Dim},
	}
	if s.Queue > 0 {
		fields["queue"].forms[0] = fmt.Sprintf("%d queued", s.Queue)
	}
	if s.Sandbox == "none" {
		fields["sandbox"] = &field{[]string{"no sandbox"}, paint.Warn}
	}
	if s.Daemon {
		fields["daemon"].forms[0] = ""
	}
	order := []string{"questions", "mode", "model", "context", "cost", "sandbox", "branch", "queue", "daemon"}
	// the steps that make room, the least important part first
	for _, name := range []string{"", "model", "branch", "context", "cost", "context", "branch", "daemon", "sandbox", "cost", "model", "queue", "cost", "model", "questions"} {
		if f := fields[name]; f != nil && len(f.forms) > 1 {
			f.forms = f.forms[1:]
		}
		line := ""
		for _, name := range order {
			if text := fields[name].forms[0]; text != "" {
				if line != "" {
					line += r.paint(paint.Dim, r.between())
				}
				line += r.paint(fields[name].role, text)
			}
		}
		if paint.Width(line) <= width || name == "questions" {
			return r.finish([]string{line}, width)[0]
		}
	}
	return ""
}

// modeRole gives the modes that ask less or do nothing a color.
func modeRole(mode string) paint.Role {
	switch policy.Mode(mode) {
	case policy.ModeBypass:
		return paint.Bad
	case policy.ModePlan:
		return paint.Info
	case policy.ModeAcceptEdits, policy.ModeAuto:
		return paint.Special
	}
	return paint.None
}

func questionsField(n int) *field {
	switch n {
	case 0:
		return &field{[]string{""}, paint.Warn}
	case 1:
		return &field{[]string{"1 question waits", "1?"}, paint.Warn}
	}
	return &field{[]string{fmt.Sprintf("%d questions wait", n), fmt.Sprintf("%d?", n)}, paint.Warn}
}

// modelField shortens "anthropic/claude-opus-4-5" to "claude-opus-4-5".
func modelField(model string) *field {
	model = paint.Line(model)
	short := model[strings.LastIndexByte(model, '/')+1:]
	return &field{[]string{paint.Clip(model, 40), paint.Clip(short, 24), paint.Clip(short, 12), ""}, paint.None}
}

const barCells = 8

func (r *Renderer) contextField(used, window int) *field {
	switch used = max(used, 0); {
	case window <= 0 && used == 0:
		return &field{[]string{""}, paint.Dim}
	case window <= 0:
		return &field{[]string{term.Tokens(int64(used)), ""}, paint.Dim}
	}
	left := max(0, 100-(used*100+window/2)/window)
	full := min(barCells, (min(used, window)*barCells+window/2)/window)
	role := paint.Dim
	switch {
	case left < 10:
		role = paint.Bad
	case left < 25:
		role = paint.Warn
	}
	text := fmt.Sprintf("%d%% context left", left)
	bar := strings.Repeat("▰", full) + strings.Repeat("▱", barCells-full) + " "
	if r.Plain {
		bar = ""
	}
	return &field{[]string{bar + text, text, fmt.Sprintf("%d%% left", left)}, role}
}

func costField(s *Status) *field {
	if s.CostUSD <= 0 && s.DayUSD <= 0 {
		return &field{[]string{""}, paint.Dim}
	}
	run := term.Dollars(s.CostUSD)
	role := paint.Dim
	if s.BudgetUSD > 0 {
		run += " of " + term.Dollars(s.BudgetUSD)
		if s.CostUSD > s.BudgetUSD*0.8 {
			role = paint.Warn
		}
	}
	long := run
	if s.DayUSD > 0 {
		long += ", " + term.Dollars(s.DayUSD) + " today"
	}
	return &field{[]string{long, run, term.Dollars(s.CostUSD), ""}, role}
}
