package runmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// The system prompts, by which the model tells who asks.
const (
	systemOwn   = "own"
	systemChild = "child"
)

const cutOff = "the line broke"

// scriptModel is the model of all agents of a process. It answers what their programs say.
type scriptModel struct{ p *process }

func (*scriptModel) Info() model.Info {
	return model.Info{Provider: "fake", Model: "fake", API: "fake", Price: &model.Price{Input: 1e4}}
}

// dollar is the usage of every call.
var dollar = transcript.Usage{Input: 100}

func (*scriptModel) Encode(e transcript.Encoded) (model.EncodedItem, error) {
	return model.EncodedItem{Role: string(e.Role()), JSON: e.JSON}, nil
}

func (s *scriptModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		it, err := s.answer(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(model.Answer{Item: *it}, nil)
	}
}

func ended(err error) error {
	return &model.Error{Kind: model.ErrorCancelled, Provider: "fake", Message: "it ended", Err: err}
}

var promptOf = regexp.MustCompile(`program (p\d+) `)

// programOf finds the program that a request is about: that of the last prompt.
func (w *simulation) programOf(req *model.Request) *program {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := req.Messages[i]
		if found := promptOf.FindSubmatch(m.JSON); m.Role == string(transcript.RoleUser) && found != nil {
			return w.programs[string(found[1])]
		}
	}
	return nil
}

func (s *scriptModel) answer(ctx context.Context, req *model.Request) (*transcript.Item, error) {
	p, w := s.p, s.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.gone() {
		return nil, ended(errKilled)
	}
	if req.System != systemOwn && req.System != systemChild {
		return s.summary(req), nil
	}
	at := w.programOf(req)
	if at == nil {
		w.violate("a request of %s has no prompt", p.r.id)
		return nil, ended(errKilled)
	}
	at.at = p
	if at.background {
		if err := s.await(ctx, at); err != nil {
			return nil, err
		}
	}
	for _, c := range s.begun(req, at) {
		p.moving = c
		w.wait("a sub-agent in the background has begun", func() bool { return c.arrived || c.ended || p.gone() })
	}
	if b := p.r.budget; b > 0 && !at.parallel && p.r.paid-p.r.lost >= b && !p.taken {
		w.violate("a model call of %s is made when %d of %d dollars are spent (%d more may be off the record)", p.r.id, p.r.paid-p.r.lost, b, p.r.lost)
	}
	if at.unconfirmed = 0; at.kind == "" {
		p.r.unconfirmed = 0
	}
	w.finished(at)
	last := at.next >= len(at.steps)
	st := &step{}
	if !last {
		st = at.steps[at.next]
	}
	at.next++
	w.note("  %s of %s (%s) is asked for step %d", at.id, p.r.id, at.kind, at.next)
	w.mu.Unlock()
	p.happens(&st.interleaving)
	w.mu.Lock()
	if p.gone() {
		return nil, ended(errKilled)
	}
	p.r.paid++
	at.unconfirmed++
	at.since = len(p.r.states) - 1
	if st.cutOff {
		return nil, &model.Error{Kind: model.ErrorInvalid, Provider: "fake", Message: cutOff, Usage: &dollar, Partial: &transcript.Item{
			Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "begun"}},
		}}
	}
	it := &transcript.Item{Role: transcript.RoleAssistant, Usage: &dollar, Finish: transcript.FinishToolUse}
	switch {
	case last:
		w.say(p.r, at.last)
		it.Finish, it.Parts = transcript.FinishStop, []transcript.Part{transcript.Text{Text: "last " + at.last}}
	case len(st.calls) > 0:
		for _, c := range st.calls {
			w.say(p.r, c.in)
			it.Parts = append(it.Parts, use(c.tool, input{Call: c.id, Path: c.resource, Text: c.in}))
		}
	default:
		for _, c := range st.children {
			w.say(p.r, c.prompt, c.title)
			it.Parts = append(it.Parts, use("Agent", map[string]any{
				"description": c.title, "prompt": "program " + c.id + " " + c.prompt, "subagent_type": c.kind,
				"mode": string(c.mode), "run_in_background": c.background,
			}))
		}
	}
	return it, nil
}

func use(name string, in any) transcript.ToolUse {
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return transcript.ToolUse{Name: name, Input: raw}
}

var aWord = regexp.MustCompile(`[a-z]+word\d+q`)

// summary is the model's answer to a compaction: it repeats words of what it was given.
// mu is held.
func (s *scriptModel) summary(req *model.Request) *transcript.Item {
	p, w := s.p, s.p.w
	if b := p.r.budget; b > 0 && p.r.paid-p.r.lost >= b && !p.taken {
		w.violate("a compaction of %s asks the model when %d of %d dollars are spent", p.r.id, p.r.paid-p.r.lost, b)
	}
	p.r.paid++
	p.r.unconfirmed++
	var all strings.Builder
	for _, m := range req.Messages {
		all.Write(m.JSON)
	}
	words := aWord.FindAllString(all.String(), 2)
	w.note("  %s compacts, the summary has %v", p.r.id, words)
	return &transcript.Item{Role: transcript.RoleAssistant, Usage: &dollar, Finish: transcript.FinishStop, Parts: []transcript.Part{
		transcript.Text{Text: fmt.Sprint("so far: ", strings.Join(words, " "))},
	}}
}

// await has an agent in the background wait until it may move. mu is held.
func (s *scriptModel) await(ctx context.Context, at *program) error {
	w := s.p.w
	at.arrived, at.unconfirmed = true, 0
	w.moved.Broadcast()
	free := at.free
	w.mu.Unlock()
	select {
	case <-free:
	case <-ctx.Done():
	case <-s.p.ctx.Done():
	}
	w.mu.Lock()
	if ctx.Err() != nil || s.p.gone() {
		at.ended = true
		return ended(context.Canceled)
	}
	return nil
}

// begun are the sub-agents of the last step that go on in the background. mu is held.
func (s *scriptModel) begun(req *model.Request, at *program) (list []*program) {
	if at.next == 0 || at.next > len(at.steps) {
		return nil
	}
	for _, c := range at.steps[at.next-1].children {
		if c.background && !c.arrived && !c.ended && strings.Contains(string(req.Messages[len(req.Messages)-1].JSON), "Background task started") {
			list = append(list, c)
		}
	}
	return list
}

// finished looks whether the calls of the last step came out as the policy says. mu is held.
func (w *simulation) finished(at *program) {
	cut := at.cut
	at.cut = false
	if at.next == 0 || at.next > len(at.steps) {
		return
	}
	for _, c := range at.steps[at.next-1].calls {
		if c.doubt = nil; cut {
			continue
		}
		if c.ran || c.asked {
			if c.asked && c.answered.Allows() && !c.ran && !w.denied(at, c) {
				w.violate("%s was allowed, and did not run", c.id)
			}
			continue
		}
		if !w.denied(at, c) {
			w.violate("%s(%s) of %s neither ran nor was asked about, and the policy of the run does not deny it: %+v", c.tool, c.resource, at.id, at.run.state())
		}
	}
}

// denied reports whether a call was to be denied at some moment since its answer. mu is held.
func (w *simulation) denied(at *program, c *call) bool {
	for _, st := range at.run.states[at.since:] {
		if st.decide(at.held(), c.tool, c.resource) == policy.Deny {
			return true
		}
	}
	return false
}
