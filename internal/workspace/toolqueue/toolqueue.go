// Package toolqueue tracks tool uses for drivers whose protocol announces a tool use before asking for permission.
// It follows the rules of [vendor.Sink].
//
//	protocol: use begins ──► AddUse      (nothing is emitted yet)
//	protocol: may it run? ─► Ask         Item(use), Permit ─► reply
//	protocol: it runs ─────► Run         Running(use), Item(use)
//	protocol: it has ended ► Result      Item(result)
//	protocol: the model continues ► Settle, Advance: uses that still run get a result that says so
//
//	t := toolqueue.New(ctx, sink)
//	defer t.Close()
//	t.AddUse(&toolqueue.Use{ID: "call_1", Name: "Bash", Input: input})
//	err := t.Ask("request 7", vendor.Permission{Use: "call_1"}, reply)
//
// The package does not depend on a protocol. Only one goroutine, the driver's, may call the
// methods; Ask replies on another one.
package toolqueue

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Use is a tool use, as the protocol has announced it.
type Use struct {
	ID, Name string
	Input    json.RawMessage
	// Sub marks a tool use of a sub-agent. It is a part of the tool use that runs the sub-agent.
	Sub    bool
	Parent string // id of the tool use that runs the sub-agent, if it is known

	state       state
	settled     bool // true if the model has answered since the use started
	detached    bool // true if the use got a result while it was still running
	permissions int
	order       int
	open        atomic.Int32 // number of undecided permission requests for the use
	denied      atomic.Bool
}

type state uint8

const (
	pending   state = iota // nothing was emitted for it
	announced              // the sink has received the item
	ended                  // and its result
	absorbed               // part of another use, under which it was decided
)

// Turn is one turn of a driver.
type Turn struct {
	sink vendor.Sink
	ctx  context.Context
	stop context.CancelFunc

	thinking  []transcript.Part
	uses      map[string]*Use
	announced map[string]bool
	notices   int

	waiting  sync.WaitGroup
	mu       sync.Mutex
	requests map[string]context.CancelFunc
}

// New returns the tool queue of one turn.
func New(ctx context.Context, s vendor.Sink) *Turn {
	ctx, stop := context.WithCancel(ctx)
	return &Turn{
		sink: s, ctx: ctx, stop: stop,
		uses: map[string]*Use{}, announced: map[string]bool{}, requests: map[string]context.CancelFunc{},
	}
}

// Close withdraws pending permission requests and waits for them.
func (s *Turn) Close() {
	s.stop()
	s.waiting.Wait()
}

// Think keeps a thought for the next item.
func (s *Turn) Think(text string) {
	if text != "" {
		s.thinking = append(s.thinking, transcript.Thinking{Text: text})
	}
}

// Emit emits an item of the assistant.
func (s *Turn) Emit(parts ...transcript.Part) error {
	parts = append(s.thinking, parts...)
	s.thinking = nil
	if len(parts) == 0 {
		return nil
	}
	return s.sink.Item(transcript.Item{Role: transcript.RoleAssistant, Parts: parts})
}

// Use returns the use with an id, or nil. Its exported fields may be changed until it is emitted.
func (s *Turn) Use(id string) *Use { return s.uses[id] }

// Find returns the first pending use that matches, or nil.
func (s *Turn) Find(fits func(*Use) bool) *Use {
	for _, u := range s.ordered() {
		if u.IsPending() && fits(u) {
			return u
		}
	}
	return nil
}

// IsPending reports whether nothing was emitted for a use yet.
func (u *Use) IsPending() bool { return u.state == pending }

// Ended reports whether a use already has its result, or needs none.
func (u *Use) Ended() bool { return u.state >= ended }

// Detached reports whether a use got its result while it was still running.
func (u *Use) Detached() bool { return u.detached }

// AddUse adds a use. A use that is already known is updated as long as it is pending.
func (s *Turn) AddUse(u *Use) {
	old := s.uses[u.ID]
	switch {
	case old == nil:
		s.uses[u.ID] = &Use{ID: u.ID, Name: u.Name, Input: u.Input, Sub: u.Sub, Parent: u.Parent, order: len(s.uses)}
	case old.IsPending():
		old.Name, old.Input = u.Name, u.Input
	}
}

func (s *Turn) announce(u *Use, running bool) error {
	u.state = announced
	if running {
		if err := s.sink.Running(u.ID); err != nil {
			return err
		}
	}
	return s.Emit(transcript.ToolUse{ID: u.ID, Name: u.Name, Input: u.Input})
}

// Run reports that a use runs. If no permission was requested for the use, it is reported as running without
// permission.
func (s *Turn) Run(id string) error {
	u := s.uses[id]
	if u == nil || !u.IsPending() || u.Sub {
		return nil
	}
	return s.announce(u, true)
}

// Result ends a use.
func (s *Turn) Result(id string, content []transcript.Part, isError bool) error {
	u := s.uses[id]
	switch {
	case u == nil || u.Ended():
		return nil
	case u.IsPending() && u.Sub:
		u.state = absorbed
		return nil
	}
	if err := s.Run(id); err != nil {
		return err
	}
	u.state = ended
	return s.sink.Item(transcript.Item{Role: transcript.RoleTool, Parts: []transcript.Part{
		transcript.ToolResult{UseID: id, Content: content, IsError: isError},
	}})
}

// running returns the newest use that was announced and has no result, or nil.
func (s *Turn) running() *Use {
	var newest *Use
	for _, u := range s.uses {
		if u.state == announced && (newest == nil || u.order > newest.order) {
			newest = u
		}
	}
	return newest
}

// Ask requests the decision about a use, and replies on a new goroutine. The request is the id that
// the protocol gives to the permission request, for [Turn.Withdraw]. If permission for the use was
// already requested, or the use runs, the request is for an additional permission.
func (s *Turn) Ask(request string, p vendor.Permission, reply func(vendor.Answer)) error {
	u := s.uses[p.Use]
	switch {
	case u == nil: // this decision also applies to later reports of the use
		s.uses[p.Use] = &Use{ID: p.Use, Name: p.Tool, Input: p.Input, state: absorbed, order: len(s.uses)}
		if p.Parent == "" {
			if above := s.running(); above != nil {
				p.Parent = above.ID
			}
		}
	case u.IsPending() && u.Sub && s.parentUse(u) != nil:
		u.state, p.Parent = absorbed, s.parentUse(u).ID
		p.Tool, p.Input = u.Name, u.Input
	case u.IsPending():
		p.Tool, p.Input = u.Name, u.Input
		if err := s.announce(u, false); err != nil {
			return err
		}
	default:
		u.permissions++
		p.Parent = u.ID
		p.Use = u.ID + "/" + strconv.Itoa(u.permissions)
	}
	s.requestDecision(request, p, u, reply)
	return nil
}

// parentUse returns the running use of which a sub-agent's use is a part: the one that Parent
// names, or else the newest one. It returns nil if no use is running.
func (s *Turn) parentUse(u *Use) *Use {
	if p := s.uses[u.Parent]; p != nil && p.state == announced {
		return p
	}
	return s.running()
}

func (s *Turn) requestDecision(request string, p vendor.Permission, u *Use, reply func(vendor.Answer)) {
	if u != nil {
		u.open.Add(1)
	}
	ctx, stop := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.requests[request] = stop
	s.mu.Unlock()
	s.waiting.Go(func() {
		defer stop()
		a, err := s.sink.Permit(ctx, p)
		if u != nil {
			u.open.Add(-1)
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return // no one waits for the answer
		}
		if err != nil {
			a = vendor.Answer{Message: err.Error()}
		}
		s.mu.Lock()
		delete(s.requests, request)
		s.mu.Unlock()
		if u != nil && p.Use == u.ID && !a.Allow {
			u.denied.Store(true)
		}
		reply(a)
	})
}

// Withdraw withdraws a permission request, because no one waits for its answer.
func (s *Turn) Withdraw(request string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.requests[request]; stop != nil {
		stop()
		delete(s.requests, request)
	}
}

// RunAll reports that every use without a pending permission request runs.
func (s *Turn) RunAll() error {
	for _, u := range s.ordered() {
		if err := s.Run(u.ID); err != nil {
			return err
		}
	}
	return nil
}

// Settle marks the model's answer as complete: a use that still runs at the model's next answer runs in the
// background.
func (s *Turn) Settle() {
	for _, u := range s.uses {
		u.settled = u.settled || u.state == announced && u.open.Load() == 0
	}
}

// Advance marks the beginning of the model's next answer. If the model did not wait for a use, the
// use gets a result that says so.
func (s *Turn) Advance(sofar func(*Use) string) error {
	for _, u := range s.ordered() {
		if u.state != announced || !u.settled {
			continue
		}
		if u.denied.Load() { // it never ran, and the denial was already reported
			u.state = ended
			continue
		}
		text := "still running in the background"
		if out := sofar(u); out != "" {
			text += "; so far:\n" + out
		}
		if err := s.Result(u.ID, Text(text), false); err != nil {
			return err
		}
		u.detached = true
	}
	return nil
}

// Finish emits what was held back, at the end of a turn.
func (s *Turn) Finish() error {
	if err := s.RunAll(); err != nil {
		return err
	}
	return s.Emit()
}

func (s *Turn) ordered() []*Use {
	all := make([]*Use, len(s.uses))
	for _, u := range s.uses {
		all[u.order] = u
	}
	return all
}

// maxNotices is the maximum number of notices about unknown messages.
const maxNotices = 100

// Notice sends a notice to the user.
func (s *Turn) Notice(text string) error {
	s.notices++
	switch {
	case text == "" || s.notices > maxNotices:
		return nil
	case s.notices == maxNotices:
		text = "more notices were omitted"
	}
	return s.sink.Notice(text)
}

// NoticeOnce sends a notice once.
func (s *Turn) NoticeOnce(text string) error {
	if s.announced[text] {
		return nil
	}
	s.announced[text] = true
	return s.Notice(text)
}

// Text returns content with one text part. If the text is empty, it returns no content.
func Text(text string) []transcript.Part {
	if text == "" {
		return nil
	}
	return []transcript.Part{transcript.Text{Text: text}}
}
