package conversation

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/transcript"
)

// block reports a finished block.
func (c *Conversation) block(r source, b Block) {
	b.Seq = r.Seq
	if b.Agent == "" {
		b.Agent = r.agent
	}
	c.out = append(c.out, Update{Block: &b, Kind: b.Kind, Agent: b.Agent})
}

// note reports a notice.
func (c *Conversation) note(r source, warning bool, format string, args ...any) {
	c.block(r, Block{Kind: Note, Warning: warning, Text: fmt.Sprintf(format, args...)})
}

// maxTold is how many notices are remembered.
const maxTold = 500

// noteOnce reports a notice that each start of the run repeats.
func (c *Conversation) noteOnce(r source, text string) {
	if c.first(text) {
		c.note(r, false, "%s", text)
	}
}

// first reports whether a text was not reported yet.
func (c *Conversation) first(text string) bool {
	if c.told[text] {
		return false
	}
	if len(c.told) >= maxTold {
		clear(c.told)
	}
	c.told[text] = true
	return true
}

// Ask adds an open approval request. The program that follows a log from its middle adds the
// requests from before, after [client.Event].CaughtUp. A request that is known or answered is
// ignored.
func (c *Conversation) Ask(q approval.Request) {
	if c.answers[q.ID] {
		return
	}
	for i := range c.state.Questions {
		if c.state.Questions[i].ID == q.ID {
			return
		}
	}
	if _, known := c.waiting[q.Use]; !known && q.Asker == "" && len(q.Requests) > 0 {
		c.waiting[q.Use] = transcript.ToolUse{ID: q.Use, Name: q.Tool, Input: q.Requests[0].Input}
	}
	c.state.Doing = ""
	c.state.Questions = append(c.state.Questions, Question{Request: q, Asked: c.o.Now()})
}
