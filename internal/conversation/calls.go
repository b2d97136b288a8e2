package conversation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

func (c *Conversation) toolStarted(r source, e event.ToolStarted) {
	c.works(r)
	call := &Call{Use: e.Use, Tool: e.Tool, Agent: r.agent, Input: e.Input, Started: r.Time}
	if call.Input == nil {
		call.Input = c.waiting[e.Use].Input
	}
	delete(c.waiting, e.Use)
	c.state.Calls = append(c.state.Calls, call)
	c.state.Doing = ""
}

// call returns the running call of a tool use, or nil.
func (c *Conversation) call(use string) *Call {
	for _, call := range c.state.Calls {
		if call.Use == use {
			return call
		}
	}
	return nil
}

// take removes a call from the running ones. It returns a call without a start if the log is read
// from its middle.
func (c *Conversation) take(r source, use, tool string) *Call {
	if call := c.call(use); call != nil {
		c.state.Calls = slices.DeleteFunc(c.state.Calls, func(o *Call) bool { return o == call })
		return call
	}
	call := &Call{Use: use, Tool: tool, Agent: r.agent}
	if u, ok := c.waiting[use]; ok {
		call.Tool, call.Input = cmp.Or(tool, u.Name), u.Input
		delete(c.waiting, use)
	}
	return call
}

func (c *Conversation) toolFinished(r source, e event.ToolFinished) {
	if c.lost[e.Use] { // its end was reported when its program stopped
		delete(c.lost, e.Use)
		return
	}
	call := c.take(r, e.Use, e.Tool)
	if e.Content != nil {
		call.Output = transcript.ToolResult{Content: e.Content}.Text()
	}
	call.IsError, call.ExitCode, call.Took, call.Notes = e.IsError, e.ExitCode, e.Duration(), e.Notes
	switch e.Outcome {
	case record.OutcomeUnknown:
		call.Unknown = true
	case record.OutcomeNotRun:
		call.Denied = NotRun
	}
	c.called(r, call)
}

// called reports the end of a call.
func (c *Conversation) called(r source, call *Call) {
	if call.Denied == "" && !call.Unknown && !call.IsError {
		call.Diff = diffOf(call, c.saved[call.Use])
		c.todos(call)
	}
	delete(c.saved, call.Use)
	c.block(r, Block{Kind: Called, Agent: call.Agent, Call: call})
	if len(c.state.Calls) == 0 && c.state.Working {
		c.state.Doing = c.waits()
	}
}

// results applies an item with results of calls that did not run, and of calls that continue in the
// background. The results of other calls come with the event of their end.
func (c *Conversation) results(r source, it transcript.Encoded) {
	for _, use := range it.ResultIDs() {
		call := c.call(use)
		_, waits := c.waiting[use]
		switch {
		case call != nil && !call.Background:
			call.Background = true
			shown := *call
			shown.Running = true
			c.block(r, Block{Kind: Called, Agent: call.Agent, Call: &shown})
		case waits:
			call = c.take(r, use, "")
			call.Output, call.IsError = resultOf(it, use)
			c.called(r, call)
		}
	}
}

// resultOf returns the result of a tool use.
func resultOf(e transcript.Encoded, use string) (text string, isError bool) {
	it, err := e.Decode()
	if err != nil {
		return "", false
	}
	for _, p := range it.Parts {
		if res, ok := p.(transcript.ToolResult); ok && res.UseID == use {
			return res.Text(), res.IsError
		}
	}
	return "", false
}

// decided reports a denied call. A call that runs reports itself what was denied to it.
func (c *Conversation) decided(r source, d policy.Decision) {
	if d.Effect != policy.Deny || c.call(d.Use) != nil {
		return
	}
	call := c.take(r, d.Use, d.Tool)
	call.Denied = cmp.Or(d.Reason, d.By)
	c.called(r, call)
}

// lostCalls reports the calls whose program stopped. When the run continues, their ends are recorded
// as unknown.
func (c *Conversation) lostCalls(r source) {
	for _, call := range slices.Clone(c.state.Calls) {
		c.take(r, call.Use, call.Tool)
		call.Unknown = true
		c.lost[call.Use] = true
		c.called(r, call)
	}
	for _, a := range c.state.Agents {
		if !a.Ended {
			a.end(r.Time, true)
		}
	}
}

// Crashed reports that the process of the run has ended without a record of it.
func (c *Conversation) Crashed() []Update {
	c.out = nil
	r := source{Record: &api.Record{Seq: c.state.Seq, Time: c.o.Now()}}
	c.lostCalls(r)
	c.state.Working, c.state.Doing = false, ""
	c.note(r, true, "the process of this run has ended; send a message to continue")
	return c.out
}

// resolved closes an approval request and reports its answer.
func (c *Conversation) resolved(r source, e event.ApprovalResolved) {
	if len(c.answers) >= maxTold {
		clear(c.answers)
	}
	c.answers[e.ID] = true // a list of open requests may be older
	i := slices.IndexFunc(c.state.Questions, func(q Question) bool { return q.ID == e.ID })
	if i < 0 {
		return
	}
	q := c.state.Questions[i].Request
	c.state.Questions = slices.Delete(c.state.Questions, i, i+1)
	late := e.Answer.Actor == "timeout"
	if record.ByNobody(e.Answer.Actor) && !late || record.ByProgram(e.Answer.Actor) {
		return // the run has ended, or the call is gone
	}
	agent := ""
	if q.Asker != "" || c.run.many {
		agent = q.Agent
	}
	c.block(r, Block{Kind: Answered, Agent: agent, Request: &q, Reply: &e.Answer})
}

// maxOutput is how much output of a running call is kept, in bytes.
const maxOutput = 64 << 10

// output adds output to a running call.
func (c *Conversation) output(use, text string) {
	call := c.call(use)
	if call == nil {
		return
	}
	call.Output += text
	if over := len(call.Output) - maxOutput; over > 0 {
		call.Output = strings.ToValidUTF8(call.Output[over:], "")
	}
}
