package scripted

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

const bytesPerToken = 4

// Stream yields the step that answers the request. It yields a [model.Error] of kind
// invalid_request if the request is invalid or no step matches. If the request is longer than the
// script's context, the kind is context_too_long.
func (m *scriptedModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if m.opts.Record != nil {
			copied := *req
			copied.Tools, copied.Messages = slices.Clone(req.Tools), slices.Clone(req.Messages)
			m.opts.Record(copied)
		}
		sc, err := newRequestView(req)
		if err != nil {
			yield(nil, refusal(err))
			return
		}
		if tokens := sc.bytes / bytesPerToken; m.script.Context > 0 && tokens > m.script.Context {
			yield(nil, &model.Error{
				Kind: model.ErrorTooLong, Provider: provider, Status: 400,
				Message: fmt.Sprintf("the request has about %d tokens; the context window has %d", tokens, m.script.Context),
			})
			return
		}
		i, err := m.script.next(sc)
		if err != nil {
			yield(nil, refusal(err))
			return
		}
		p := &stepRun{ctx: ctx, model: m, step: m.script.steps[i], request: sc, yield: yield}
		p.fails = m.fails(&p.step, sc)
		item, err := p.item(req)
		if err != nil {
			yield(nil, refusal(err))
			return
		}
		if p.emit(item) {
			yield(model.Answer{Item: item}, nil)
		}
	}
}

func refusal(err error) *model.Error {
	return &model.Error{Kind: model.ErrorInvalid, Provider: provider, Status: 400, Message: err.Error(), Err: err}
}

// fails reports whether the step fails this time, and counts the failure.
func (m *scriptedModel) fails(st *step, sc *requestView) bool {
	switch {
	case st.Error == nil:
		return false
	case st.Error.Times == 0:
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fmt.Sprintf("%s %d", st.mark, sc.items)
	m.failed[key]++
	return m.failed[key] <= st.Error.Times
}

// stepRun is the execution of one step.
type stepRun struct {
	ctx     context.Context
	model   *scriptedModel
	step    step
	request *requestView
	yield   func(model.Event, error) bool
	fails   bool

	chunks         int // yielded so far
	thinking, text strings.Builder
}

// item returns the complete answer.
func (p *stepRun) item(req *model.Request) (transcript.Item, error) {
	it := transcript.Item{Role: transcript.RoleAssistant, Model: p.model.script.Name, Finish: p.step.Finish}
	if p.step.Thinking != "" {
		it.Parts = append(it.Parts, transcript.Thinking{Text: p.step.Thinking})
	}
	if text := strings.ReplaceAll(p.step.Text, "{{last_result}}", p.request.lastResult()); text != "" {
		it.Parts = append(it.Parts, transcript.Text{Text: text})
	}
	prefix := ""
	for k, u := range p.step.uses {
		if u.ID == "" {
			if prefix == "" {
				prefix = usePrefix(p.step.mark, req)
			}
			u.ID = fmt.Sprintf("use_%s_%d", prefix, k+1)
		}
		it.Parts = append(it.Parts, u)
	}
	e, err := it.Encode()
	if err != nil {
		return it, err
	}
	parts := jsonscan.Object(e.JSON).Field("parts")
	if it.Finish == "" {
		it.Finish = transcript.FinishStop
		if len(p.step.uses) > 0 {
			it.Finish = transcript.FinishToolUse
		}
	}
	usage := transcript.Usage{Input: int64(p.request.bytes / bytesPerToken), Output: int64(len(parts) / bytesPerToken)}
	if p.step.Usage != nil {
		usage = *p.step.Usage
	}
	it.Usage = &usage
	native := append([]byte(`{"role":"assistant","step":`), jsonscan.AppendString(nil, p.step.mark)...)
	native = append(append(append(native, `,"parts":`...), parts...), '}')
	it.Native = &transcript.Native{API: apiName, JSON: native}
	return it, nil
}

// usePrefix returns a prefix for ids. The same step and request always get the same prefix; other
// requests get a different one.
func usePrefix(mark string, req *model.Request) string {
	h := sha256.New()
	h.Write([]byte(mark))
	for _, w := range req.Messages {
		h.Write(w.JSON)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// emit yields the deltas of an answer, and reports whether the answer was completed.
func (p *stepRun) emit(it transcript.Item) bool {
	d := p.model.script.Delay
	if p.step.Delay != nil {
		d = *p.step.Delay
	}
	if !p.wait(d.Before) {
		return false
	}
	if p.fails && p.step.Error.AfterChunks == 0 {
		return p.fail()
	}
	for ev := range p.deltas(it) {
		if p.chunks > 0 && !p.wait(d.Chunk) || !p.yield(ev, nil) {
			return false
		}
		switch ev := ev.(type) {
		case model.TextDelta:
			p.text.WriteString(ev.Text)
		case model.ThinkingDelta:
			p.thinking.WriteString(ev.Text)
		}
		p.chunks++
		if p.fails && p.chunks == p.step.Error.AfterChunks {
			return p.fail()
		}
	}
	if p.fails { // the answer has fewer chunks than AfterChunks
		return p.fail()
	}
	return true
}

// deltas splits an answer into deltas.
func (p *stepRun) deltas(it transcript.Item) iter.Seq[model.Event] {
	size := p.step.Chunk
	if size == 0 {
		size = p.model.script.Chunk
	}
	return func(yield func(model.Event) bool) {
		for _, part := range it.Parts {
			switch part := part.(type) {
			case transcript.Thinking:
				for piece := range pieces(part.Text, size) {
					if !yield(model.ThinkingDelta{Text: piece}) {
						return
					}
				}
			case transcript.Text:
				for piece := range pieces(part.Text, size) {
					if !yield(model.TextDelta{Text: piece}) {
						return
					}
				}
			case transcript.ToolUse:
				if !yield(model.ToolInputDelta{Use: part.ID, Tool: part.Name}) {
					return
				}
				for piece := range pieces(inputText(part), size) {
					if !yield(model.ToolInputDelta{Use: part.ID, Tool: part.Name, JSON: piece}) {
						return
					}
				}
			}
		}
	}
}

// inputText returns a tool use's input as the model writes it.
func inputText(u transcript.ToolUse) string {
	var s string
	if u.Extra != nil && json.Unmarshal(u.Input, &s) == nil {
		return s
	}
	return string(u.Input)
}

// pieces splits a text into pieces of size characters; 0 means one piece.
func pieces(s string, size int) iter.Seq[string] {
	return func(yield func(string) bool) {
		n, start := 0, 0
		for i := range s {
			if n > 0 && n == size {
				if !yield(s[start:i]) {
					return
				}
				n, start = 0, i
			}
			n++
		}
		if start < len(s) {
			yield(s[start:])
		}
	}
}

// wait waits; if ctx ends, it yields the error and returns false.
func (p *stepRun) wait(d time.Duration) bool {
	err := p.ctx.Err()
	if err == nil && d > 0 {
		err = p.model.opts.Sleep(p.ctx, d)
	}
	if err == nil {
		return true
	}
	if ended := p.ctx.Err(); ended != nil {
		err = ended
	}
	e := &model.Error{Kind: model.ErrorCancelled, Provider: provider, Message: err.Error(), Err: err}
	e.Partial = p.partial(transcript.FinishCancelled)
	p.yield(nil, e)
	return false
}

// fail yields the step's error and returns false.
func (p *stepRun) fail() bool {
	e := p.step.fail
	e.Partial = p.partial(transcript.FinishError)
	p.yield(nil, &e)
	return false
}

func (p *stepRun) partial(f transcript.Finish) *transcript.Item {
	if p.chunks == 0 {
		return nil
	}
	it := &transcript.Item{Role: transcript.RoleAssistant, Model: p.model.script.Name, Finish: f}
	if p.thinking.Len() > 0 {
		it.Parts = append(it.Parts, transcript.Thinking{Text: p.thinking.String()})
	}
	if p.text.Len() > 0 {
		it.Parts = append(it.Parts, transcript.Text{Text: p.text.String()})
	}
	if len(it.Parts) == 0 {
		return nil
	}
	return it
}
