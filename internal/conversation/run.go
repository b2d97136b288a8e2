package conversation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// runEvent has the fields of a [wire.RunEvent] that a conversation shows.
type runEvent struct {
	Event    string             `json:"event"`
	By       string             `json:"by"`
	Via      string             `json:"via"`
	Resumed  bool               `json:"resumed"`
	StepName string             `json:"step_name"`
	Agent    string             `json:"agent"`
	Input    string             `json:"input"`
	Text     string             `json:"text"`
	Message  string             `json:"message"`
	Steering []string           `json:"steering"`
	Images   []transcript.Media `json:"images"`
	Usage    *transcript.Usage  `json:"usage"`
	Cost     float64            `json:"cost_usd"`
	Result   struct {
		Type string `json:"type"`
	} `json:"result"`
	Strategy struct {
		Sole string `json:"sole"`
		Mode string `json:"mode"`
	} `json:"strategy"`
	Spec struct {
		Permissions struct {
			Mode string `json:"mode"`
		} `json:"permissions"`
		Limits struct {
			MaxBudgetUSD float64 `json:"max_budget_usd"`
		} `json:"limits"`
	} `json:"spec"`
}

// who returns the client that sent a request, and how.
func (e *runEvent) who() string {
	if e.By == "" || e.Via == "" || e.Via == e.By {
		return cmp.Or(e.By, e.Via)
	}
	return e.By + " (" + e.Via + ")"
}

// runEvent applies a record of the daemon about the run.
func (c *Conversation) runEvent(r source, e runEvent) {
	switch e.Event {
	case wire.RunStarted:
		c.started(r, &e)
	case wire.RunSteered:
		c.queue(&e)
	case wire.RunSteeringDelivered:
		for i := range c.state.Queue {
			q := &c.state.Queue[i]
			q.Delivered = q.Delivered || slices.Contains(e.Steering, q.ID)
		}
	case wire.RunSteeringWithdrawn:
		c.state.Queue = slices.DeleteFunc(c.state.Queue, func(q Queued) bool { return slices.Contains(e.Steering, q.ID) })
		if e.Message != "" {
			c.note(r, true, "a queued message was not sent: %s", e.Message)
		}
	case wire.RunSubagentSteered:
		c.note(r, false, "message to %s: %s", cmp.Or(e.Agent, "a sub-agent"), e.Text)
	case wire.RunSubagentStopped:
		c.note(r, false, "%s was stopped by %s", cmp.Or(e.Agent, "a sub-agent"), cmp.Or(e.who(), "the user"))
	case wire.RunStepStarted:
		if c.run.many {
			c.note(r, false, "step %s: %s", e.StepName, e.Agent)
		}
	case wire.RunStepFailed:
		if c.run.many {
			c.note(r, true, "step %s of %s failed: %s", e.StepName, e.Agent, e.Message)
		}
	case wire.RunInputAsked:
		c.note(r, false, "%s asks: %s", e.Agent, e.Text)
	case wire.RunInputGiven:
		c.block(r, Block{Kind: User, Text: e.Text, By: e.who()})
	case wire.RunCompleted, wire.RunFailed, wire.RunCancelled, wire.RunInterrupted:
		c.runEnded(r, &e)
	}
}

// started applies the start of a run, or of its next part.
func (c *Conversation) started(r source, e *runEvent) {
	s := &c.state
	c.run = run{daemon: true, many: e.Strategy.Sole == "", typed: e.Input, by: e.who()}
	s.Mode = cmp.Or(s.Mode, policy.Mode(cmp.Or(e.Spec.Permissions.Mode, e.Strategy.Mode)), policy.ModeDefault)
	s.Usage.BudgetUSD = max(0, e.Spec.Limits.MaxBudgetUSD)
	s.Agents = slices.DeleteFunc(s.Agents, func(a *Agent) bool {
		a.listed = !a.Ended
		return a.Ended
	})
	c.work(r)
	if e.Resumed { // Input is that of the interrupted part
		c.run.typed = ""
		c.note(r, false, "the interrupted run continues")
		c.queue(e)
	}
}

// work sets the state of a run that works.
func (c *Conversation) work(r source) {
	s := &c.state
	s.Working, s.Since, s.Doing = true, r.Time, c.waits()
	c.run.closed, c.run.turn = false, event.Result{SessionID: s.Session}
}

// works corrects the state if the log is read from the middle of a turn.
func (c *Conversation) works(r source) {
	if !c.state.Working && !c.run.closed {
		turn := c.run.turn
		c.work(r)
		c.run.turn = turn
	}
}

// waits is what an agent does that waits for its model.
func (c *Conversation) waits() string {
	if c.state.Model == "" {
		return "waiting for the model"
	}
	return "waiting for " + c.state.Model
}

// queue adds a message that waits for the agent. A message without an id is from an old daemon,
// which does not record the delivery.
func (c *Conversation) queue(e *runEvent) {
	for _, id := range e.Steering {
		if !slices.ContainsFunc(c.state.Queue, func(q Queued) bool { return q.ID == id }) {
			text, _ := record.CutCommands(e.Text)
			c.state.Queue = append(c.state.Queue, Queued{ID: id, Text: text, Images: e.Images, By: e.who(), raw: e.Text})
		}
	}
}

func (c *Conversation) turnStarted(r source) {
	if !c.run.daemon || !c.state.Working {
		c.work(r)
	}
}

// turnFinished ends the turn of a run outside a daemon. In a daemon the record of the run's end has
// the result.
func (c *Conversation) turnFinished(r source, e event.TurnFinished) {
	if c.run.daemon || c.run.closed || r.agent != "" {
		return
	}
	res := c.result(r, e.Reason)
	res.Turn, res.Err = e.Turn, e.Err
	c.finish(r, res, "")
}

// runEnded applies the end of a run. If its record has the result of the agent, that is applied as
// an event.
func (c *Conversation) runEnded(r source, e *runEvent) {
	c.run.by = e.who()
	if e.Event == wire.RunInterrupted {
		c.lostCalls(r)
	}
	if c.run.closed || e.Result.Type != "" && e.Event != wire.RunInterrupted {
		return
	}
	reason := map[string]event.Reason{
		wire.RunCompleted: event.ReasonCompleted, wire.RunFailed: event.ReasonFailed,
		wire.RunCancelled: event.ReasonInterrupted, wire.RunInterrupted: event.ReasonInterrupted,
	}[e.Event]
	res := c.result(r, reason)
	if e.Usage != nil {
		res.Usage, res.CostUSD = *e.Usage, e.Cost
	}
	if e.Message != "" && e.Event != wire.RunCancelled {
		res.Err = &event.Error{Message: e.Message}
		if e.Event == wire.RunInterrupted {
			res.Err = &event.Error{Message: e.Message, Advice: "send a message to continue"}
		}
	}
	c.finish(r, res, c.stopper(e.Event))
}

// stopper returns who stopped the run; "" for a run that ended by itself.
func (c *Conversation) stopper(how string) string {
	if how == wire.RunCancelled {
		return c.run.by
	}
	return ""
}

// ended applies the result of the agent.
func (c *Conversation) ended(r source, e event.Result) {
	if c.run.closed {
		return
	}
	if e.RunCostUSD > 0 {
		c.state.Usage.CostUSD = e.RunCostUSD
	}
	c.state.Usage.BudgetUSD = cmp.Or(e.BudgetUSD, c.state.Usage.BudgetUSD)
	by := ""
	if e.Reason == event.ReasonInterrupted {
		by = c.run.by
	}
	c.finish(r, e, by)
}

// result returns a result with the sums of the turn.
func (c *Conversation) result(r source, reason event.Reason) event.Result {
	res := c.run.turn
	res.Reason, res.SessionID = reason, c.state.Session
	res.RunCostUSD, res.BudgetUSD = c.state.Usage.CostUSD, c.state.Usage.BudgetUSD
	if c.state.Working && !c.state.Since.IsZero() {
		res.Duration = max(0, r.Time.Sub(c.state.Since))
	}
	return res
}

// finish reports the end of a turn.
func (c *Conversation) finish(r source, res event.Result, by string) {
	c.discard()
	res.Text = ""
	c.block(r, Block{Kind: Ended, Result: &res, By: by})
	c.state.Working, c.state.Doing, c.state.Since = false, "", time.Time{}
	c.run = run{many: c.run.many, closed: true}
	clear(c.waiting)
}

func (c *Conversation) policyChanged(r source, p policy.Change) {
	if text := runtext.PolicyChanged(p); text != "" {
		c.note(r, false, "%s", text)
	}
}

func (c *Conversation) hookRan(r source, e event.HookRan) {
	for _, text := range runtext.KeepsWorking(e.Ran) {
		c.note(r, false, "%s", text)
	}
	for _, n := range e.Ran.Messages {
		text := "hook " + runtext.HookLabel(n.Hook) + ": " + strings.TrimSpace(n.Text)
		switch {
		case !runtext.HookFailed(e.Ran, n):
			c.note(r, false, "%s", text)
		case c.first(text):
			c.note(r, true, "%s", text)
		default:
			c.note(r, true, "hook %s: failed again with the same error", runtext.HookLabel(n.Hook))
		}
	}
}
