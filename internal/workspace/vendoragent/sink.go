package vendoragent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// use is a vendor agent's tool use in progress.
type use struct {
	id, name string // the vendor's id; loopID is different if the transcript already contains that id
	loopID   string
	input    []byte

	asked  chan *request // receives the vendor's permission request for this tool use
	nested chan *request // receives requests for calls that are made within this tool use
	denied chan struct{} // closed when the loop has denied the tool use
	done   chan struct{} // closed when there is a result

	running bool   // true if the vendor runs the tool without asking
	asking  bool   // the vendor has asked
	allowed bool   // true if the vendor was allowed to run the tool
	begun   bool   // loopID has started
	refusal string // set before the channel denied is closed
	result  transcript.ToolResult
}

// request is a vendor's permission request. Its context ends when no one waits for the answer.
type request struct {
	ctx    context.Context
	p      vendor.Permission
	answer chan vendor.Answer // receives one answer
}

func newUse(id string) *use {
	return &use{
		id: id, asked: make(chan *request, 1), nested: make(chan *request),
		denied: make(chan struct{}), done: make(chan struct{}),
	}
}

// These are the limits for what a vendor can make the host store.
const (
	maxName     = 512     // length of a session's id in bytes
	maxNotices  = 100     // of a turn
	maxRequests = 1000    // pending at once
	useSize     = 1 << 10 // estimated size of a tool use in bytes, without its arguments
)

// errSink is the error that a driver gets if it violates the protocol.
var errSink = errors.New("the agent violated its protocol")

// sink passes a driver's output to a turn.
type sink struct{ x *vendorTurn }

func (s sink) SessionStarted(session string) error {
	if len(session) > maxName || strings.ContainsFunc(session, unicode.IsControl) {
		return fmt.Errorf("%w: invalid session name", errSink)
	}
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	s.x.session = session
	return nil
}

func (s sink) Delta(d vendor.Delta) error {
	return s.x.put(message{delta: &d, size: len(d.Text) + len(d.Thinking) + 64})
}

// Notice forwards notices up to a limit, so that an unknown protocol cannot flood the user.
func (s sink) Notice(text string) error {
	s.x.mu.Lock()
	s.x.notices++
	n := s.x.notices
	s.x.mu.Unlock()
	switch {
	case text == "" || n > maxNotices:
		return nil
	case n == maxNotices:
		text = "more notices were omitted"
	}
	return s.x.put(message{notice: text, size: len(text) + 64})
}

func (s sink) Running(id string) error {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	s.x.newUse(id).running = true
	return nil
}

// newUse returns the tool use with one of the vendor's ids. If the last use with this id already
// has its result, it returns a new use. The caller holds x.mu.
func (x *vendorTurn) newUse(id string) *use {
	u := x.uses[id]
	if u != nil {
		select {
		case <-u.done:
			u = nil
		default:
		}
	}
	if u == nil {
		u = newUse(id)
		x.uses[id] = u
	}
	return u
}

// Item removes the results from an item and queues the rest.
func (s sink) Item(it transcript.Item) error {
	var parts []transcript.Part
	size := 64
	for _, p := range it.Parts {
		switch p := p.(type) {
		case transcript.ToolResult:
			if why := s.x.resulted(p); why != "" {
				if err := s.Notice(why); err != nil {
					return err
				}
			}
			continue
		case transcript.ToolUse:
			loopID, err := s.x.used(p)
			if err != nil {
				return err
			}
			p.ID = loopID
			parts = append(parts, p)
			size += len(p.Input) + useSize
			continue
		case transcript.Text:
			size += len(p.Text)
		case transcript.Thinking:
			size += len(p.Text) + len(p.Data)
		}
		parts = append(parts, p)
	}
	if it.Role != transcript.RoleAssistant || len(parts) == 0 {
		return nil
	}
	it.Parts = parts
	return s.x.put(message{item: &it, size: size})
}

// used records a tool use, and returns the id under which the loop knows it.
func (x *vendorTurn) used(p transcript.ToolUse) (loopID string, err error) {
	if p.ID == "" {
		return "", fmt.Errorf("%w: a tool use without an id", errSink)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	u := x.newUse(p.ID)
	if u.loopID != "" {
		return "", fmt.Errorf("%w: the tool use %s appears twice", errSink, p.ID)
	}
	u.name, u.input, u.loopID = p.Name, slices.Clone(p.Input), p.ID
	if x.taken[u.loopID] {
		u.loopID = p.ID + "-" + x.newID()
	}
	x.taken[u.loopID] = true
	x.byID[u.loopID] = u
	return u.loopID, nil
}

// resulted records the result of a tool use. why describes an irregularity.
func (x *vendorTurn) resulted(r transcript.ToolResult) (why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	u := x.uses[r.UseID]
	if u == nil || u.loopID == "" {
		return "received a result for an unknown tool use: " + r.UseID
	}
	select {
	case <-u.done:
		return "received a second result for the tool use " + r.UseID
	default:
	}
	x.active = true
	u.result = r
	close(u.done)
	early := u.asking && !u.allowed && u.refusal == "" && !r.IsError // the vendor did not wait for the answer
	if !u.asking || early {
		u.running = true
		x.abortRefused(u)
	}
	return ""
}

var ended = vendor.Answer{Message: "not allowed: the tool use that this call belongs to has ended"}

// Permit waits for the decision about a tool use, or about a call that is made within one.
func (s sink) Permit(ctx context.Context, p vendor.Permission) (vendor.Answer, error) {
	x := s.x
	q := &request{ctx: ctx, p: p, answer: make(chan vendor.Answer, 1)}
	x.mu.Lock()
	x.active = true
	x.requests++
	defer x.requestDone()
	u := x.uses[p.Use]
	below := u == nil || u.loopID == ""
	other := !below && p.Tool != "" && p.Tool != u.name
	if below {
		u = x.findParent(p.Parent)
	} else {
		u.asking = true
	}
	many := x.requests > maxRequests
	x.mu.Unlock()
	switch {
	case u == nil:
		return vendor.Answer{Message: "not allowed: the tool use that this call belongs to is unknown"}, nil
	case other:
		return vendor.Answer{Message: "not allowed: the tool use was announced as a call of " + u.name}, nil
	case many:
		return vendor.Answer{Message: "not allowed: too many permission requests are pending"}, nil
	}
	to := u.asked
	if below {
		to = u.nested
	}
	select {
	case to <- q:
	case <-u.denied:
		return x.denial(u), nil
	case <-u.done:
		return ended, nil
	case <-ctx.Done():
		return vendor.Answer{}, context.Cause(ctx)
	case <-x.ctx.Done():
		return vendor.Answer{}, context.Cause(x.ctx)
	}
	select {
	case a := <-q.answer:
		return a, nil
	case <-u.denied:
		return x.denial(u), nil
	case <-u.done: // no one receives the request any longer
		return ended, nil
	case <-ctx.Done():
		return vendor.Answer{}, context.Cause(ctx)
	case <-x.ctx.Done():
		return vendor.Answer{}, context.Cause(x.ctx)
	}
}

func (x *vendorTurn) requestDone() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.requests--
}

func (x *vendorTurn) denial(u *use) vendor.Answer {
	x.mu.Lock()
	defer x.mu.Unlock()
	return vendor.Answer{Message: u.refusal}
}

// findParent finds the tool use to which a request belongs. This is the use that the request names, or
// else the only use that is running. The caller holds x.mu.
func (x *vendorTurn) findParent(id string) *use {
	if u := x.uses[id]; id != "" && u != nil && u.loopID != "" {
		return u
	}
	var only *use
	for _, u := range x.byID {
		select {
		case <-u.done:
			continue
		default:
		}
		if only != nil {
			return nil
		}
		only = u
	}
	return only
}
