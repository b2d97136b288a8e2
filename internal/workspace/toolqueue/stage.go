// Package toolqueue keeps the rules of a sink for drivers whose wires know of tool uses
// before it is known whether they will be asked about.
//
//	wire: use begins ──► Hold            (nothing is said yet)
//	wire: may it run? ─► Ask             Item(use), Permit ─► reply
//	wire: it runs ─────► Run             Running(use), Item(use)
//	wire: it has ended ► Result          Item(result)
//	wire: the model went on ► Settle, Advance: what still runs gets a result that says so
//
//	st := stage.New(ctx, sink)
//	defer st.Close()
//	st.Hold(&stage.Use{ID: "call_1", Name: "Bash", Input: input})
//	err := st.Ask("request 7", vendor.Permission{Use: "call_1"}, reply)
//
// It knows no wire. All methods are for the driver's one goroutine, but what Ask starts.
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

// Use is a tool use as the wire announced it.
type Use struct {
	ID, Name string
	Input    json.RawMessage
	// Sub says that a sub-agent wants it. It is part of what runs, where something runs.
	Sub    bool
	Parent string // the use that it is a part of, where that is known

	state       state
	settled     bool // the model has answered since it began to run
	detached    bool // a result was given while it ran on
	permissions int
	order       int
	open        atomic.Int32 // questions about it that nobody has decided yet
	refused     atomic.Bool
}

type state uint8

const (
	held      state = iota // nothing was said of it
	announced              // the sink has the item
	ended                  // and its result
	absorbed               // it was judged as a part of another
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

	waiting   sync.WaitGroup
	mu        sync.Mutex
	questions map[string]context.CancelFunc
}

// New returns a stage for one turn.
func New(ctx context.Context, s vendor.Sink) *Turn {
	ctx, stop := context.WithCancel(ctx)
	return &Turn{
		sink: s, ctx: ctx, stop: stop,
		uses: map[string]*Use{}, announced: map[string]bool{}, questions: map[string]context.CancelFunc{},
	}
}

// Close withdraws the questions that wait, and waits for them.
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

// Emit tells an item of the assistant.
func (s *Turn) Emit(parts ...transcript.Part) error {
	parts = append(s.thinking, parts...)
	s.thinking = nil
	if len(parts) == 0 {
		return nil
	}
	return s.sink.Item(transcript.Item{Role: transcript.RoleAssistant, Parts: parts})
}

// Use returns the use with an id, or nil. Its exported fields may be changed while it is
// held.
func (s *Turn) Use(id string) *Use { return s.uses[id] }

// Find returns the first held use that fits, or nil.
func (s *Turn) Find(fits func(*Use) bool) *Use {
	for _, u := range s.ordered() {
		if u.IsPending() && fits(u) {
			return u
		}
	}
	return nil
}

// IsPending reports whether nothing was said of a use yet.
func (u *Use) IsPending() bool { return u.state == held }

// Ended reports whether a use has its result, or needs none.
func (u *Use) Ended() bool { return u.state >= ended }

// Detached reports whether a use was given its result while it ran on.
func (u *Use) Detached() bool { return u.detached }

// AddUse notes a use. One that is known already is changed as long as it is held.
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

// Run says that a use runs. One that was not asked about is told as such.
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

// running is the newest use that was announced and has no result, or nil.
func (s *Turn) running() *Use {
	var newest *Use
	for _, u := range s.uses {
		if u.state == announced && (newest == nil || u.order > newest.order) {
			newest = u
		}
	}
	return newest
}

// Ask has a use decided, and replies on a goroutine of its own. The request is the wire's
// name of the question, for [Turn.Withdraw]. Another question about a use that was asked
// about, or runs, is about something that it wants besides.
func (s *Turn) Ask(request string, p vendor.Permission, reply func(vendor.Answer)) error {
	u := s.uses[p.Use]
	switch {
	case u == nil: // whatever is said of it later was judged with this question
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
	s.question(request, p, u, reply)
	return nil
}

// parentUse is what a sub-agent's use is a part of, when that runs.
func (s *Turn) parentUse(u *Use) *Use {
	if p := s.uses[u.Parent]; p != nil && p.state == announced {
		return p
	}
	return s.running()
}

func (s *Turn) question(request string, p vendor.Permission, u *Use, reply func(vendor.Answer)) {
	if u != nil {
		u.open.Add(1)
	}
	ctx, stop := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.questions[request] = stop
	s.mu.Unlock()
	s.waiting.Go(func() {
		defer stop()
		a, err := s.sink.Permit(ctx, p)
		if u != nil {
			u.open.Add(-1)
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return // nobody waits for the answer
		}
		if err != nil {
			a = vendor.Answer{Message: err.Error()}
		}
		s.mu.Lock()
		delete(s.questions, request)
		s.mu.Unlock()
		if u != nil && p.Use == u.ID && !a.Allow {
			u.refused.Store(true)
		}
		reply(a)
	})
}

// Withdraw takes a question back: nobody waits for its answer.
func (s *Turn) Withdraw(request string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.questions[request]; stop != nil {
		stop()
		delete(s.questions, request)
	}
}

// RunAll says that all uses run that nobody has asked about.
func (s *Turn) RunAll() error {
	for _, u := range s.ordered() {
		if err := s.Run(u.ID); err != nil {
			return err
		}
	}
	return nil
}

// Settle notes that the model's answer is complete: what runs now and is running when the
// model speaks again runs in the background.
func (s *Turn) Settle() {
	for _, u := range s.uses {
		u.settled = u.settled || u.state == announced && u.open.Load() == 0
	}
}

// Advance says that the model speaks again. Uses that it did not wait for get a result
// that says so.
func (s *Turn) Advance(sofar func(*Use) string) error {
	for _, u := range s.ordered() {
		if u.state != announced || !u.settled {
			continue
		}
		if u.refused.Load() { // it never ran, and whoever refused it knows
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

// Finish tells what was kept back, at the end of a turn.
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

// maxNotices bounds what is told of a wire that is full of strange things.
const maxNotices = 100

// Notice tells a person something.
func (s *Turn) Notice(text string) error {
	s.notices++
	switch {
	case text == "" || s.notices > maxNotices:
		return nil
	case s.notices == maxNotices:
		text = "there is more that is not told"
	}
	return s.sink.Notice(text)
}

// NoticeOnce tells a person something one time.
func (s *Turn) NoticeOnce(text string) error {
	if s.announced[text] {
		return nil
	}
	s.announced[text] = true
	return s.Notice(text)
}

// Text is a content of one text; none when it is empty.
func Text(text string) []transcript.Part {
	if text == "" {
		return nil
	}
	return []transcript.Part{transcript.Text{Text: text}}
}
