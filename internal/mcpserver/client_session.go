package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ErrClosed means that the session accepts no more calls.
var ErrClosed = errors.New("the server is closing")

var errInterrupted = errors.New("interrupted")

// Agent is the part of [agent.Agent] that a session uses.
type Agent interface {
	Run(ctx context.Context, input ...transcript.Part) iter.Seq2[event.Event, error]
	Interrupt()
	Close() error
}

// ClientSession passes the calls of one client to its agent. It takes the place of the agent's model.
type ClientSession struct {
	client string // name of the client
	ctx    context.Context
	stop   context.CancelCauseFunc
	done   chan struct{} // closed when the agent has been closed
	wake   chan struct{} // signaled when a call arrives

	mu      sync.Mutex
	waiting []*call          // in the order of their arrival
	running map[string]*call // calls of the running round, by tool use
	failed  error            // why the session has ended
	rounds  int              // used only by the goroutine that runs work
	session string
	agent   Agent
}

// call is a tools/call that waits for its result.
type call struct {
	use       transcript.ToolUse
	onWait    func(string) // called with what the call waits for; may be nil
	result    chan transcript.ToolResult
	abandoned bool // the client no longer waits
}

// NewClientSession returns the session of a named client. open creates the agent with the session
// as its model. It is called when the first call arrives. The caller closes the session.
func NewClientSession(client string, open func(ctx context.Context, m model.Model) (Agent, error)) *ClientSession {
	ctx, stop := context.WithCancelCause(context.Background())
	d := &ClientSession{
		client: client, ctx: ctx, stop: stop, done: make(chan struct{}), wake: make(chan struct{}, 1), running: map[string]*call{},
	}
	go d.work(open)
	return d
}

// Close ends the running calls and the agent.
func (d *ClientSession) Close() {
	d.stop(ErrClosed)
	<-d.done
}

// Session returns the id of the agent's session, or "" if there is none yet.
func (d *ClientSession) Session() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.session
}

// Call runs a tool call and waits for its result. If ctx ends, a call that waits is dropped, and a
// call that runs is interrupted. The function tell is called on another goroutine with a text that
// says what the call waits for.
func (d *ClientSession) Call(ctx context.Context, name string, input json.RawMessage, tell func(string)) (transcript.ToolResult, error) {
	c := &call{
		use:    transcript.ToolUse{ID: "mcp_" + ulid.Make().String(), Name: name, Input: input},
		onWait: tell, result: make(chan transcript.ToolResult, 1),
	}
	d.mu.Lock()
	if d.failed != nil {
		defer d.mu.Unlock()
		return transcript.ToolResult{}, d.failed
	}
	d.waiting = append(d.waiting, c)
	d.mu.Unlock()
	d.notify()
	select {
	case r, ok := <-c.result:
		if !ok {
			return r, d.endReason()
		}
		return r, nil
	case <-ctx.Done():
		d.abandon(c)
		return transcript.ToolResult{}, context.Cause(ctx)
	}
}

func (d *ClientSession) notify() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *ClientSession) endReason() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed != nil {
		return d.failed
	}
	return ErrClosed
}

// abandon drops a call whose client no longer waits. A round without waiting clients is interrupted.
func (d *ClientSession) abandon(c *call) {
	d.mu.Lock()
	c.abandoned = true
	d.waiting = slices.DeleteFunc(d.waiting, func(e *call) bool { return e == c })
	a := d.agent
	for _, e := range d.running {
		if !e.abandoned {
			a = nil
		}
	}
	if _, runs := d.running[c.use.ID]; !runs {
		a = nil
	}
	d.mu.Unlock()
	if a != nil {
		a.Interrupt()
	}
}

// work runs the agent while there are calls.
func (d *ClientSession) work(open func(context.Context, model.Model) (Agent, error)) {
	defer close(d.done)
	var a Agent
	err := d.await(d.ctx)
	if err == nil {
		if a, err = open(d.ctx, d); err == nil {
			d.mu.Lock()
			d.agent = a
			d.mu.Unlock()
		}
	}
	for err == nil {
		err = d.turn(a)
		d.drop(errInterrupted)
		if err == nil {
			err = d.await(d.ctx)
		}
	}
	d.mu.Lock()
	d.failed = err
	d.mu.Unlock()
	d.drop(err)
	if a != nil {
		_ = a.Close()
	}
}

// turn runs one turn of the agent. The turn lasts as long as the client is connected, unless it is
// interrupted.
func (d *ClientSession) turn(a Agent) error {
	before := d.rounds
	for e, err := range a.Run(d.ctx, transcript.Text{Text: d.client + " calls tools over MCP."}) {
		if err != nil {
			return fmt.Errorf("the session cannot continue: %w", err)
		}
		switch e := e.(type) {
		case event.SessionOpened:
			d.mu.Lock()
			d.session = e.ID
			d.mu.Unlock()
		case event.ApprovalAsked:
			d.emit(e.Request.Use, "waiting for approval: holdfast approvals show "+e.Request.ID)
		case event.Result:
			if d.ctx.Err() == nil && e.Err != nil && (e.Reason == event.ReasonFailed || d.rounds == before) {
				return e.Err
			}
		}
	}
	if d.ctx.Err() == nil && d.rounds == before {
		return errors.New("the session accepts no calls")
	}
	return context.Cause(d.ctx)
}

func (d *ClientSession) emit(use, what string) {
	d.mu.Lock()
	c := d.running[use]
	d.mu.Unlock()
	if c != nil && c.onWait != nil {
		go c.onWait(what)
	}
}

// drop ends the calls of an interrupted round. If the session has ended, the waiting calls end as
// well.
func (d *ClientSession) drop(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, c := range d.running {
		c.result <- transcript.ToolResult{UseID: id, IsError: true, Content: []transcript.Part{transcript.Text{Text: why.Error()}}}
		delete(d.running, id)
	}
	if d.failed == nil {
		return
	}
	for _, c := range d.waiting {
		close(c.result)
	}
	d.waiting = nil
}

// await returns when a call is waiting.
func (d *ClientSession) await(ctx context.Context) error {
	for {
		d.mu.Lock()
		n := len(d.waiting)
		d.mu.Unlock()
		if n > 0 {
			return nil
		}
		select {
		case <-d.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// wireForm is the encoding of items for a session: the items themselves.
const wireForm = "mcp"

// Info implements [model.Model].
func (d *ClientSession) Info() model.Info {
	return model.Info{Provider: wireForm, Model: "client", API: wireForm}
}

// Encode implements [model.Model].
func (d *ClientSession) Encode(item transcript.Encoded) (model.EncodedItem, error) {
	return model.EncodedItem{Role: string(item.Role()), JSON: item.JSON}, nil
}

// Stream implements [model.Model]. It delivers results to their callers. It answers with the calls
// that have arrived in the meantime, or waits for the next call and answers with that.
func (d *ClientSession) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		err := d.deliver(req.Messages)
		if err == nil {
			err = d.await(ctx)
		}
		if err != nil {
			yield(nil, &model.Error{Kind: model.ErrorCancelled, Provider: wireForm, Message: err.Error(), Err: err})
			return
		}
		yield(model.Answer{Item: transcript.Item{
			Role: transcript.RoleAssistant, Model: d.client, Finish: transcript.FinishToolUse, Usage: &transcript.Usage{}, Parts: d.nextRound(),
		}}, nil)
	}
}

// deliver passes the results after the last answer to their callers.
func (d *ClientSession) deliver(messages []model.EncodedItem) error {
	for _, m := range slices.Backward(messages) {
		if m.Role == string(transcript.RoleAssistant) {
			break
		}
		var e transcript.Encoded
		if err := e.Parse(m.JSON); err != nil {
			return err
		}
		item, err := e.Decode()
		if err != nil {
			return err
		}
		for _, p := range item.Parts {
			if r, is := p.(transcript.ToolResult); is {
				d.answer(r)
			}
		}
	}
	return nil
}

func (d *ClientSession) answer(r transcript.ToolResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.running[r.UseID]; c != nil {
		delete(d.running, r.UseID)
		c.result <- r
	}
}

// nextRound returns the waiting calls as a round.
func (d *ClientSession) nextRound() []transcript.Part {
	d.mu.Lock()
	defer d.mu.Unlock()
	var parts []transcript.Part
	for _, c := range d.waiting {
		d.running[c.use.ID] = c
		parts = append(parts, c.use)
	}
	d.waiting = nil
	d.rounds++
	return parts
}
