package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// agents draws the tree of sub-agents as long as one of them works.
func (r *Renderer) agents(s *conversation.State, width int, now time.Time) section {
	working := func(a *conversation.Agent) bool { return !a.Ended }
	if !slices.ContainsFunc(s.Agents, working) {
		return section{}
	}
	return section{len(s.Agents), func(n int) []string {
		shown, rest := s.Agents, ""
		if len(shown) > n { // those that work, then the newest of the others
			if n > 1 {
				n--
			}
			order := slices.Clone(shown)
			slices.Reverse(order)
			slices.SortStableFunc(order, func(a, b *conversation.Agent) int { return bit(a.Ended) - bit(b.Ended) })
			kept, left := order[:n], order[n:]
			shown = slices.DeleteFunc(slices.Clone(shown), func(a *conversation.Agent) bool { return !slices.Contains(kept, a) })
			ended := 0
			for _, a := range left {
				ended += bit(a.Ended)
			}
			rest = fmt.Sprintf("… %d more: %d working, %d done", len(left), len(left)-ended, ended)
		}
		lines := r.tree(shown, width, now)
		switch {
		case rest == "":
		case len(lines) > 0 && len(lines) == n && len(shown) == 1 && len(s.Agents) > 1 && n == 1:
			lines[0] = paint.Clip(lines[0], width-14) + r.paint(paint.Dim, fmt.Sprintf("  and %d more", len(s.Agents)-1))
		default:
			lines = append(lines, r.paint(paint.Dim, paint.Clip(rest, width)))
		}
		return lines
	}}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tree draws agents below their callers.
func (r *Renderer) tree(list []*conversation.Agent, width int, now time.Time) (lines []string) {
	children := map[string][]*conversation.Agent{}
	known := map[string]bool{}
	for _, a := range list {
		known[a.Session] = true
	}
	for _, a := range list {
		parent := a.Parent
		if !known[parent] || parent == a.Session {
			parent = ""
		}
		children[parent] = append(children[parent], a)
	}
	var draw func(parent, indent string)
	draw = func(parent, indent string) {
		below := children[parent]
		delete(children, parent) // an agent that calls itself must not end the program
		for i, a := range below {
			branch, next := "├ ", "│ "
			if i == len(below)-1 {
				branch, next = "└ ", "  "
			}
			if r.Plain {
				branch, next = "", ""
			}
			lines = append(lines, r.agent(a, indent+branch, width, now))
			if a.Session != "" {
				draw(a.Session, indent+next)
			}
		}
	}
	draw("", "")
	return lines
}

func (r *Renderer) agent(a *conversation.Agent, branch string, width int, now time.Time) string {
	facts := agentFacts(a, now)
	sign, doing := r.sign(paint.Accent, "●", "Agent:"), a.Doing
	switch {
	case a.Failed:
		sign, doing = r.sign(paint.Bad, "✗", "Agent, failed:"), "failed"
	case a.Ended:
		sign, doing = r.sign(paint.Good, "✓", "Agent, done:"), "done"
	}
	tail := strings.Join(facts, r.between())
	if width < 70 && len(facts) > 0 { // the newest fact matters most
		tail = facts[len(facts)-1]
	}
	if tail != "" {
		tail = "  " + tail
	}
	branch = paint.Clip(branch, width/3)
	name := paint.Clip(paint.Line(a.Name), max(width/4, 8))
	line := r.paint(paint.Dim, branch) + sign + r.paint(paint.Bold, name)
	room := width - paint.Width(line) - paint.Width(tail) - 2
	if doing == "" {
		doing = a.Prompt
	}
	if room >= 4 {
		line += "  " + paint.Clip(brief(doing), room)
	}
	return line + r.paint(paint.Dim, tail)
}

// agentFacts returns how much an agent did, and how long it has taken.
func agentFacts(a *conversation.Agent, now time.Time) (facts []string) {
	took := a.Took
	if !a.Ended && !a.Started.IsZero() {
		took = now.Sub(a.Started).Truncate(time.Second)
	}
	if a.Calls > 0 {
		facts = append(facts, term.Count(a.Calls, "call"))
	}
	if a.Tokens > 0 {
		facts = append(facts, term.Tokens(a.Tokens))
	}
	if took > 0 {
		facts = append(facts, running(took))
	}
	return facts
}

// Agent describes the state of an agent in one line: whether it works, how much it did and cost, and
// what it does.
func (r *Renderer) Agent(a *conversation.Agent, now time.Time) string {
	facts := []string{"working"}
	switch {
	case a.Failed:
		facts[0] = "failed"
	case a.Ended:
		facts[0] = "done"
	}
	facts = append(facts, agentFacts(a, now)...)
	if a.CostUSD > 0 {
		facts = append(facts, fmt.Sprintf("$%.4f", a.CostUSD))
	}
	if !a.Ended && a.Doing != "" {
		facts = append(facts, a.Doing)
	} else if a.Prompt != "" {
		facts = append(facts, a.Prompt)
	}
	return paint.Line(strings.Join(facts, r.between()))
}

// maxTasks is the number of tasks that are shown.
const maxTasks = 6

// tasks draws the task list around the first task that is not completed.
func (r *Renderer) tasks(s *conversation.State, width int) section {
	done := 0
	for _, t := range s.Tasks {
		done += bit(t.Status == "completed")
	}
	if len(s.Tasks) == 0 || done == len(s.Tasks) && !s.Working {
		return section{}
	}
	full := min(len(s.Tasks), maxTasks)
	if len(s.Tasks) > maxTasks {
		full++ // for the rest
	}
	return section{full, func(n int) (lines []string) {
		show := min(n, len(s.Tasks))
		if show < len(s.Tasks) && n > 1 {
			show = min(n-1, maxTasks)
		}
		first := slices.IndexFunc(s.Tasks, func(t conversation.Task) bool { return t.Status == "in_progress" })
		if first < 0 {
			first = slices.IndexFunc(s.Tasks, func(t conversation.Task) bool { return t.Status != "completed" })
		}
		if show > 1 {
			first--
		}
		first = max(0, min(first, len(s.Tasks)-show))
		for _, t := range s.Tasks[first : first+show] {
			lines = append(lines, r.task(t, width))
		}
		switch rest := len(s.Tasks) - show; {
		case rest == 0:
		case n > 1:
			lines = append(lines, r.paint(paint.Dim, fmt.Sprintf("… %d more, %d of %d done", rest, done, len(s.Tasks))))
		default:
			lines[0] = paint.Clip(lines[0], width-18) + r.paint(paint.Dim, fmt.Sprintf("  %d of %d done", done, len(s.Tasks)))
		}
		return lines
	}}
}

func (r *Renderer) task(t conversation.Task, width int) string {
	sign, role := r.sign(paint.None, "☐", "To do:"), paint.None
	switch t.Status {
	case "completed":
		sign, role = r.sign(paint.Good, "☑", "Done:"), paint.Dim
	case "in_progress":
		sign, role = r.sign(paint.Accent, "◐", "In progress:"), paint.Bold
	}
	return sign + r.paint(role, paint.Clip(brief(t.Text), width-paint.Width(sign)))
}

// maxQueue is the number of queued messages that are shown.
const maxQueue = 4

// queue draws the messages that the model has not seen. Up takes the newest one back.
func (r *Renderer) queue(s *conversation.State, width int) section {
	full := min(len(s.Queue), maxQueue)
	if len(s.Queue) > maxQueue {
		full++
	}
	return section{full, func(n int) (lines []string) {
		show := min(n, len(s.Queue))
		if show < len(s.Queue) && n > 1 {
			show = min(n-1, maxQueue)
		}
		rest := len(s.Queue) - show
		if rest > 0 && n > 1 {
			lines = append(lines, r.paint(paint.Dim, fmt.Sprintf("… %d more queued", rest)))
		}
		for i, q := range s.Queue[rest:] {
			facts := "  queued"
			switch newest := i == show-1; {
			case rest > 0 && n == 1:
				facts = fmt.Sprintf("  %d queued", len(s.Queue))
			case newest && width >= 60:
				facts += r.between() + r.Keys.Label("editor.up") + " edits it"
			}
			first := r.sign(paint.Accent, "⏎", "Queued:")
			text := brief(q.Shown())
			if q.By != "" && q.By != r.Me {
				text = paint.Line(q.By) + ": " + text
			}
			lines = append(lines, first+paint.Clip(text, width-paint.Width(first)-paint.Width(facts))+r.paint(paint.Dim, facts))
		}
		return lines
	}}
}

// running is [term.Elapsed] for a clock that is redrawn: only whole seconds.
func running(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	}
	return term.Elapsed(d)
}
