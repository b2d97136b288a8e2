package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// maxUser is the number of lines of a user's message above which its middle is left out.
const (
	maxUser  = 20
	userHead = 8
	userTail = 4
)

// Block returns the lines of a finished block, shortened for the scrollback.
func (r *Renderer) Block(b *conversation.Block, width int) []string { return r.block(b, width, false) }

// Full returns the lines of a block with everything that Block leaves out.
func (r *Renderer) Full(b *conversation.Block, width int) []string { return r.block(b, width, true) }

func (r *Renderer) block(b *conversation.Block, width int, full bool) []string {
	width = max(width, minWidth)
	var lines []string
	switch b.Kind {
	case conversation.User:
		lines = r.user(b, width, full)
	case conversation.Answer:
		lines = r.answer(b.Text, width)
	case conversation.Thinking:
		lines = r.thinking(b.Text, width, full)
	case conversation.Called:
		if b.Call != nil {
			lines = r.call(b.Call, width, full)
		}
	case conversation.Note:
		lines = r.note(b, width)
	case conversation.Answered:
		if b.Reply != nil {
			lines = r.answered(b.Request, b.Reply, width)
		}
	case conversation.Ended:
		if b.Result != nil {
			lines = r.ended(b, width)
		}
	}
	return r.finish(lines, width)
}

func (r *Renderer) user(b *conversation.Block, width int, full bool) []string {
	text, by := strings.TrimRight(b.Text, "\n"), r.by(b)
	if r.Plain {
		return append([]string{"User" + by + ":"}, paint.Wrap(text, width)...)
	}
	lines := paint.Wrap(text, width-2)
	cut := -1
	if n := len(lines) - userHead - userTail; len(lines) > maxUser && !full {
		cut = userHead
		lines = append(append(lines[:userHead:userHead], fmt.Sprintf("… %d more lines (ctrl-o)", n)), lines[userHead+n:]...)
	}
	bar := r.paint(paint.Accent, "▌") + " "
	for i, l := range lines {
		role := paint.None
		switch {
		case i == cut:
			role = paint.Dim
		case len(lines) < userHead: // much bold text is hard to read
			role = paint.Bold
		}
		lines[i] = strings.TrimRight(bar+r.paint(role, l), " ")
	}
	if by != "" {
		lines = append(lines, bar+r.paint(paint.Dim, "sent"+by))
	}
	return lines
}

// by says who sent a message or stopped a run, if it was not the user of this terminal.
func (r *Renderer) by(b *conversation.Block) string {
	if b.By == "" || b.By == r.Me {
		return ""
	}
	return " by " + paint.Line(b.By)
}

func (r *Renderer) answer(text string, width int) []string {
	s := markdown.New(r.Markdown())
	s.Write(strings.TrimLeft(text, "\n"))
	lines := s.Close(width)
	if r.Plain {
		return append([]string{"Assistant:"}, lines...)
	}
	return lines
}

// thinking shows the first line of the model's thoughts.
func (r *Renderer) thinking(text string, width int, full bool) []string {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	first := r.sign(paint.Dim, "✻", "Thinking:")
	room := width - paint.Width(first)
	lines := paint.Wrap(text, room)
	if !full && len(lines) > 1 {
		more := "  (ctrl-o)"
		if r.Plain {
			more = "  (/transcript)"
		}
		return []string{first + r.paint(paint.Dim, paint.Clip(paint.Line(text), room-len(more))+more)}
	}
	for i := range lines {
		lines[i] = r.paint(paint.Dim, lines[i])
	}
	return indented(first, lines)
}

func (r *Renderer) note(b *conversation.Block, width int) []string {
	role, first := paint.Dim, r.sign(paint.Dim, "·", "Note:")
	if b.Warning {
		role, first = paint.Warn, r.sign(paint.Warn, "!", "Warning:")
	}
	lines := paint.Wrap(strings.TrimSpace(b.Text), width-paint.Width(first))
	for i := range lines {
		lines[i] = r.paint(role, lines[i])
	}
	return indented(first, lines)
}

// IsMe reports whether the user of this terminal did something.
func (r *Renderer) IsMe(actor, via string) bool { return actor+" ("+via+")" == r.Me }

// answered says who decided about which call, and for how long.
func (r *Renderer) answered(q *approval.Request, a *approval.Answer, width int) []string {
	first, word := r.sign(paint.Good, "✓", "Approval:"), "allowed"
	if !a.Decision.Allows() {
		first, word = r.sign(paint.Warn, "⊘", "Approval:"), "denied"
	}
	switch {
	case a.SaveTo == "user":
		word += " always"
	case a.SaveTo != "":
		word += " always in this project"
	case a.Decision.Session():
		word += " for this session"
	}
	if a.Scope != "" {
		word += ": " + a.Scope
	}
	if !r.IsMe(a.Actor, a.Via) {
		word += ", by " + cmp.Or(a.Actor, "an unknown user")
		if a.Via != "" {
			word += " (" + a.Via + ")"
		}
	}
	if a.Message != "" {
		word += ": " + a.Message
	}
	what := ""
	if q != nil {
		what = q.Tool
		if len(q.Requests) > 0 && q.Requests[0].Resource != q.Tool {
			what += "  " + strings.TrimPrefix(q.Requests[0].Resource, r.Cwd+"/")
		}
		if q.Asker != "" && q.Agent != "" {
			what = q.Agent + ": " + what
		}
	}
	lines := paint.Wrap(paint.Line(word), width-paint.Width(first))
	switch last, room := len(lines)-1, width-paint.Width(first); {
	case what == "":
	case paint.Width(lines[last])+2+paint.Width(paint.Line(what)) <= room:
		lines[last] += "  " + r.paint(paint.Dim, paint.Line(what))
	default:
		lines = append(lines, r.paint(paint.Dim, paint.Clip(paint.Line(what), room)))
	}
	return indented(first, lines)
}

// ended says why a turn did not complete, and what it has used.
func (r *Renderer) ended(b *conversation.Block, width int) (lines []string) {
	e := b.Result
	why := runtext.EndReason(*e)
	switch {
	case e.Reason == event.ReasonInterrupted:
		lines = indented(r.sign(paint.Warn, "■", "Ended:"), paint.Wrap(strings.Replace(why, "interrupted", "interrupted"+r.by(b), 1), width-9))
	case why != "":
		first := r.sign(paint.Bad, "✗", "Ended:")
		lines = indented(first, paint.Wrap(strings.TrimSpace(why), width-paint.Width(first)))
		if hint := outcome.Hint(e.Err); hint != "" {
			lines = append(lines, indented("  "+r.paint(paint.Bold, "hint:")+" ", paint.Wrap(strings.TrimSpace(hint), width-8))...)
		}
	}
	var facts []string
	if e.Duration > 0 {
		facts = append(facts, term.Elapsed(e.Duration))
	}
	if e.Turns > 0 {
		facts = append(facts, term.Count(e.Turns, "model call"))
	}
	if n := e.Usage.Input + e.Usage.CacheRead + e.Usage.CacheWrite + e.Usage.Output; n > 0 {
		facts = append(facts, term.Tokens(int64(n)))
	}
	if e.CostUSD > 0 {
		facts = append(facts, term.Dollars(e.CostUSD))
	}
	if n := len(e.Denials); n > 0 {
		facts = append(facts, term.Count(n, "denied call"))
	}
	if len(facts) > 0 {
		first := r.sign(paint.Dim, "──", "Turn:")
		line := r.paint(paint.Dim, strings.Join(facts, r.between()))
		if r.Plain { // nothing is cut
			return append(lines, indented(first, paint.Wrap(line, width-paint.Width(first)))...)
		}
		lines = append(lines, first+line)
	}
	return lines
}

// between separates facts in a line.
func (r *Renderer) between() string {
	if r.Plain {
		return ", "
	}
	return " · "
}
