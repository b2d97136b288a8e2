package conversation

import (
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/runtext"
)

// stream is the answer that a model writes. If several agents write at the same time, only the
// first one is streamed; the answers of the others are reported when they are complete.
type stream struct {
	agent    string // its name in the events
	begun    bool   // a delta was reported
	thinking bool
	text     strings.Builder // the reported pieces of the answer
}

// delta applies an event that has no record.
func (c *Conversation) delta(agent string, e event.Event) {
	r := c.provisional(agent)
	if e == nil {
		return
	}
	switch e := e.(type) {
	case event.ModelStarted:
		c.dropStream(agent)
		if e.Model != "" {
			c.setModel(e.Model)
		}
		c.state.Doing = c.waits()
	case event.TextDelta:
		c.piece(agent, Answer, e.Text)
		c.state.Doing = "writing"
	case event.ThinkingDelta:
		c.piece(agent, Thinking, e.Text)
		c.state.Doing = "thinking"
	case event.ToolOutputDelta:
		c.output(e.Use, e.Text)
	case event.SubagentEvent:
		c.subOutput(e)
	case event.ToolInputDelta:
		c.state.Doing = "writing a call of " + e.Tool
	case event.ModelRetrying:
		c.dropStream(agent)
		c.note(r, true, "%s", runtext.Retrying(e))
		c.state.Doing = "retrying"
	case event.ModelSwitched:
		c.dropStream(agent)
		c.note(r, true, "%s", runtext.Switched(e))
		c.setModel(e.To)
		c.state.Doing = c.waits()
	case event.CompactionStarted:
		c.state.Doing = "compacting"
	case event.TranscriptRewritten:
		if e.TokensAfter > 0 {
			c.state.Usage.Context = e.TokensAfter
		}
		c.state.Doing = c.waits()
	case event.Notification:
		c.note(r, e.Level == "warning" || e.Level == "error", "%s", runtext.Notified(e))
	case event.Notice:
		c.noteOnce(r, e.Text)
	}
}

// piece reports a piece of the answer.
func (c *Conversation) piece(agent string, kind Kind, text string) {
	s := &c.stream
	if text == "" || s.begun && s.agent != agent {
		return
	}
	s.agent, s.begun = agent, true
	if kind == Answer {
		s.text.WriteString(text)
	} else {
		s.thinking = true
	}
	c.out = append(c.out, Update{Delta: text, Kind: kind, Agent: c.label(agent)})
}

// label returns the name to show of an agent that has no separate session unless there are several.
func (c *Conversation) label(agent string) string {
	if c.run.many {
		return agent
	}
	return ""
}

// dropStream discards the pieces of an agent's answer.
func (c *Conversation) dropStream(agent string) {
	if c.stream.agent == agent {
		c.discard()
	}
}

// discard reports that the pieces of the answer are void.
func (c *Conversation) discard() {
	if c.stream.begun {
		c.out = append(c.out, Update{Discard: true, Agent: c.label(c.stream.agent)})
	}
	c.stream = stream{}
}

// complete ends the stream with the whole answer. It reports whether the pieces were all of it.
func (c *Conversation) complete(r source, blocks []Block) (streamed bool) {
	s := &c.stream
	if !s.begun || r.Session != "" && r.Agent != s.agent {
		return false
	}
	var text strings.Builder
	for i := range blocks {
		if blocks[i].Kind == Answer {
			text.WriteString(blocks[i].Text)
		}
	}
	if same(s.text.String(), text.String()) {
		c.stream = stream{}
		return true
	}
	c.discard()
	return false
}

// same reports whether two texts are the same but for white space between their words. The parts
// of an answer are joined by a new line that no delta has.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, y := strings.Fields(a), strings.Fields(b)
	return strings.Join(x, "") == strings.Join(y, "")
}

// provisional returns the source of an event without a record.
func (c *Conversation) provisional(agent string) source {
	return source{Record: &noRecord, agent: c.label(agent)}
}
