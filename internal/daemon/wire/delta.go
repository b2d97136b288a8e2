package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// The events of an agent that leave no record, or that say more than theirs, as SSE's
// deltas name them.
const (
	deltaOpened        = "session_opened"
	deltaText          = "text_delta"
	deltaThinking      = "thinking_delta"
	deltaToolInput     = "tool_input_delta"
	deltaToolFinished  = "tool_finished"
	deltaRetrying      = "retrying"
	deltaModelSwitched = "model_switched"
	deltaModelStarted  = "model_started"
	deltaModelFinished = "model_finished"
	deltaUsage         = "usage_updated"
	deltaCompacting    = "compacting"
	deltaMutation      = "mutation_finished"
	deltaNotice        = "notice"
	deltaNotified      = "notified"
	deltaHookRan       = "hook_ran"
	deltaResult        = "result"
)

// Delta is an event of an agent that is told once and is on no record. Which fields
// there are depends on its type.
type Delta struct {
	Text string `json:"text,omitempty"` // of text_delta, thinking_delta, notice, result

	ID       string   `json:"id,omitempty"` // of session_opened
	Created  bool     `json:"created,omitempty"`
	Forked   string   `json:"forked,omitempty"`
	Items    int      `json:"items,omitempty"`
	Tools    []string `json:"tools,omitempty"`
	Notices  []string `json:"notices,omitempty"`
	CutBytes int64    `json:"cut_bytes,omitempty"` // a torn tail that was cut off the log
	CutKept  string   `json:"cut_kept,omitempty"`  // where it is kept

	Use      string   `json:"use_id,omitempty"` // of tool_input_delta, tool_finished
	Tool     string   `json:"tool,omitempty"`
	JSON     string   `json:"json,omitempty"`
	IsError  bool     `json:"is_error,omitempty"`
	ExitCode *int     `json:"exit_code,omitempty"`
	Notes    []string `json:"notes,omitempty"`

	Provider string            `json:"provider,omitempty"` // of model_started, model_finished
	Model    string            `json:"model,omitempty"`
	From     string            `json:"from,omitempty"` // of model_switched
	To       string            `json:"to,omitempty"`
	Attempt  int               `json:"attempt,omitempty"`
	DelayMS  int64             `json:"delay_ms,omitempty"` // of retrying
	TookMS   int64             `json:"took_ms,omitempty"`  // of model_finished, tool_finished, result
	ModelMS  int64             `json:"took_model_ms,omitempty"`
	Usage    *transcript.Usage `json:"usage,omitempty"`
	Total    *transcript.Usage `json:"total,omitempty"`
	Cost     float64           `json:"cost_usd,omitempty"`
	RunCost  float64           `json:"run_cost_usd,omitempty"` // of result: of the whole run so far
	Budget   float64           `json:"budget_usd,omitempty"`   // and its bound
	Finish   transcript.Finish `json:"finish,omitempty"`

	By           string       `json:"by,omitempty"`      // of mutation_finished, notified
	Trigger      string       `json:"trigger,omitempty"` // of compacting, too
	TokensBefore int          `json:"tokens_before,omitempty"`
	TokensAfter  int          `json:"tokens_after,omitempty"`
	Moment       agent.Moment `json:"moment,omitempty"`
	Before       int          `json:"before,omitempty"`
	After        int          `json:"after,omitempty"`
	Title        string       `json:"title,omitempty"` // of notified
	Body         string       `json:"body,omitempty"`
	Level        string       `json:"level,omitempty"`

	Ran      *hook.Ran   `json:"ran,omitempty"` // of hook_ran
	Said     []HookSaid  `json:"said,omitempty"`
	Terminal []string    `json:"terminal,omitempty"`
	Error    *DeltaError `json:"error,omitempty"`

	Turn    string                `json:"turn,omitempty"` // of result
	Reason  agent.Reason          `json:"reason,omitempty"`
	Turns   int                   `json:"turns,omitempty"`
	ByModel map[string]ModelShare `json:"by_model,omitempty"`
	Denials []policy.Decision     `json:"denials,omitempty"`
}

// HookSaid is what a hook says to the person.
type HookSaid struct {
	By   string `json:"by"`
	What string `json:"what"`
}

// ModelShare is one model's part of a result.
type ModelShare struct {
	Usage transcript.Usage `json:"usage"`
	Cost  float64          `json:"cost_usd,omitempty"`
	Calls int              `json:"calls"`
}

// DeltaError is an error of an agent: what it says, what to do about it, and how a
// program ends on it.
type DeltaError struct {
	Message string     `json:"message"`
	Advice  string     `json:"hint,omitempty"`
	Code    string     `json:"code"` // as in docs/cli.md
	Event   hook.Event `json:"hook_event,omitempty"`
	By      string     `json:"hook,omitempty"`
	Reason  string     `json:"hook_reason,omitempty"`
}

func (e *DeltaError) Error() string { return e.Message }

// Hint says what to do about it.
func (e *DeltaError) Hint() string { return e.Advice }

// Outcome is how a program ends on it.
func (e *DeltaError) Outcome() outcome.Outcome {
	for _, o := range outcome.All() {
		if o.Code == e.Code {
			return o
		}
	}
	return outcome.Failed
}

// EncodeDelta makes JSON of an agent's event, for SSE. The type is "" for events that
// are wholly on record: those are not told as deltas.
func EncodeDelta(e agent.Event) (typ string, event json.RawMessage, err error) {
	typ, d := deltaOf(e)
	if typ == "" {
		return "", nil, nil
	}
	event, err = json.Marshal(d)
	return typ, event, err
}

func deltaOf(e agent.Event) (typ string, d Delta) {
	switch e := e.(type) {
	case agent.SessionOpened:
		d = Delta{ID: e.ID, Created: e.Created, Forked: e.Forked, Items: e.Items, Tools: e.Tools, Notices: e.Notices}
		if e.Recovery != nil {
			d.CutBytes, d.CutKept = e.Recovery.Cut, e.Recovery.Kept
		}
		return deltaOpened, d
	case agent.TextDelta:
		return deltaText, Delta{Text: e.Text}
	case agent.ThinkingDelta:
		return deltaThinking, Delta{Text: e.Text}
	case agent.ToolInputDelta:
		return deltaToolInput, Delta{Use: e.Use, Tool: e.Tool, JSON: e.JSON}
	case agent.ToolFinished: // the content is on record
		return deltaToolFinished, Delta{
			Use: e.Use, Tool: e.Tool, IsError: e.Result.IsError, ExitCode: e.Result.ExitCode,
			Notes: e.Result.Notes, TookMS: e.Took.Milliseconds(),
		}
	case agent.Retrying:
		return deltaRetrying, Delta{Error: deltaError(e.Err), Attempt: e.Attempt, DelayMS: e.Delay.Milliseconds()}
	case agent.ModelSwitched:
		return deltaModelSwitched, Delta{From: e.From, To: e.To, Error: deltaError(e.Err)}
	case agent.ModelStarted:
		return deltaModelStarted, Delta{Provider: e.Provider, Model: e.Model, Attempt: e.Attempt}
	case agent.ModelFinished:
		return deltaModelFinished, Delta{
			Provider: e.Provider, Model: e.Model, Usage: e.Usage, Finish: e.Finish, TookMS: e.Took.Milliseconds(), Error: deltaError(e.Err),
		}
	case agent.UsageUpdated:
		return deltaUsage, Delta{Model: e.Model, Usage: &e.Usage, Total: &e.Total, Cost: e.CostUSD}
	case agent.Compacting:
		return deltaCompacting, Delta{Trigger: e.Trigger}
	case agent.MutationFinished:
		return deltaMutation, Delta{
			By: e.By, Moment: e.Moment, Before: e.Before, After: e.After,
			Trigger: e.Trigger, TokensBefore: e.TokensBefore, TokensAfter: e.TokensAfter,
		}
	case agent.Notice:
		return deltaNotice, Delta{Text: e.Text}
	case agent.Notified:
		return deltaNotified, Delta{Title: e.Title, Body: e.Body, Level: e.Level, By: e.By}
	case agent.HookRan:
		d = Delta{Ran: &e.Ran, Terminal: e.Terminal}
		for _, n := range e.Notices {
			d.Said = append(d.Said, HookSaid(n))
		}
		return deltaHookRan, d
	case agent.Result:
		return deltaResult, deltaOfResult(e)
	}
	return "", d
}

func deltaOfResult(r agent.Result) Delta {
	d := Delta{
		ID: r.SessionID, Turn: r.Turn, Reason: r.Reason, Text: r.Text, Error: deltaError(r.Err), Turns: r.Turns,
		Usage: &r.Usage, Cost: r.CostUSD, RunCost: r.RunCostUSD, Budget: r.BudgetUSD, Denials: r.Denials, TookMS: r.Took.Milliseconds(),
		ModelMS: r.TookModel.Milliseconds(), Finish: r.Finish,
	}
	for name, u := range r.ByModel {
		if d.ByModel == nil {
			d.ByModel = map[string]ModelShare{}
		}
		d.ByModel[name] = ModelShare{Usage: u.Usage, Cost: u.CostUSD, Calls: u.Calls}
	}
	return d
}

func deltaError(err error) *DeltaError {
	if err == nil {
		return nil
	}
	e := &DeltaError{Message: err.Error(), Advice: outcome.Hint(err), Code: outcome.Of(err).Code}
	if h, ok := errors.AsType[*agent.HookError](err); ok {
		e.Event, e.By, e.Reason = h.Event, h.By, h.Reason
	}
	return e
}

// errorOf is the error that a delta tells of: nil, a *agent.HookError or a *DeltaError.
func (d *Delta) errorOf() error {
	switch e := d.Error; {
	case e == nil:
		return nil
	case e.Event != "":
		return &agent.HookError{Event: e.Event, By: e.By, Reason: e.Reason}
	default:
		return e
	}
}

// DecodeDelta reads what [EncodeDelta] wrote. Errors that an event has come back as
// [*DeltaError], or as [*agent.HookError].
func DecodeDelta(typ string, event json.RawMessage) (agent.Event, error) {
	var d Delta
	if err := json.Unmarshal(event, &d); err != nil {
		return nil, fmt.Errorf("delta %s: %w", typ, err)
	}
	if e := d.event(typ); e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("there is no delta of type %q", typ)
}

func (d *Delta) event(typ string) agent.Event {
	millis := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	switch typ {
	case deltaOpened:
		e := agent.SessionOpened{ID: d.ID, Created: d.Created, Forked: d.Forked, Items: d.Items, Tools: d.Tools, Notices: d.Notices}
		if d.CutBytes > 0 {
			e.Recovery = &session.Recovery{Session: d.ID, Cut: d.CutBytes, Kept: d.CutKept}
		}
		return e
	case deltaText:
		return agent.TextDelta{Text: d.Text}
	case deltaThinking:
		return agent.ThinkingDelta{Text: d.Text}
	case deltaToolInput:
		return agent.ToolInputDelta{Use: d.Use, Tool: d.Tool, JSON: d.JSON}
	case deltaToolFinished:
		return agent.ToolFinished{
			Use: d.Use, Tool: d.Tool, Took: millis(d.TookMS),
			Result: tool.Result{IsError: d.IsError, ExitCode: d.ExitCode, Notes: d.Notes},
		}
	case deltaRetrying:
		return agent.Retrying{Err: d.errorOf(), Attempt: d.Attempt, Delay: millis(d.DelayMS)}
	case deltaModelSwitched:
		return agent.ModelSwitched{From: d.From, To: d.To, Err: d.errorOf()}
	case deltaModelStarted:
		return agent.ModelStarted{Provider: d.Provider, Model: d.Model, Attempt: d.Attempt}
	case deltaModelFinished:
		return agent.ModelFinished{
			Provider: d.Provider, Model: d.Model, Usage: d.Usage, Finish: d.Finish, Took: millis(d.TookMS), Err: d.errorOf(),
		}
	case deltaUsage:
		return agent.UsageUpdated{Model: d.Model, Usage: usageOf(d.Usage), Total: usageOf(d.Total), CostUSD: d.Cost}
	case deltaCompacting:
		return agent.Compacting{Trigger: d.Trigger}
	case deltaMutation:
		return agent.MutationFinished{
			By: d.By, Moment: d.Moment, Dirty: true, Before: d.Before, After: d.After,
			Trigger: d.Trigger, TokensBefore: d.TokensBefore, TokensAfter: d.TokensAfter,
		}
	case deltaNotice:
		return agent.Notice{Text: d.Text}
	case deltaNotified:
		return agent.Notified{Title: d.Title, Body: d.Body, Level: d.Level, By: d.By}
	case deltaHookRan:
		return d.hookRan()
	case deltaResult:
		return d.result()
	}
	return nil
}

func usageOf(u *transcript.Usage) transcript.Usage {
	if u == nil {
		return transcript.Usage{}
	}
	return *u
}

func (d *Delta) hookRan() agent.HookRan {
	e := agent.HookRan{Terminal: d.Terminal}
	if d.Ran != nil {
		e.Ran = *d.Ran
	}
	for _, s := range d.Said {
		e.Notices = append(e.Notices, hook.Said(s))
	}
	return e
}

func (d *Delta) result() agent.Result {
	r := agent.Result{
		SessionID: d.ID, Turn: d.Turn, Reason: d.Reason, Text: d.Text, Err: d.errorOf(), Turns: d.Turns,
		Usage: usageOf(d.Usage), CostUSD: d.Cost, RunCostUSD: d.RunCost, BudgetUSD: d.Budget, ByModel: map[string]agent.ModelUsage{}, Denials: d.Denials,
		Took: time.Duration(d.TookMS) * time.Millisecond, TookModel: time.Duration(d.ModelMS) * time.Millisecond, Finish: d.Finish,
	}
	for name, s := range d.ByModel {
		r.ByModel[name] = agent.ModelUsage{Usage: s.Usage, CostUSD: s.Cost, Calls: s.Calls}
	}
	return r
}
