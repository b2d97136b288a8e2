package hostpipe

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// paid is a model that costs a dollar per call, and breaks off on request.
type paid struct {
	echo
	calls, under, most atomic.Int64
	hold               chan struct{}
}

func (p *paid) Info() model.Info {
	return model.Info{Provider: "p", Model: "m", API: "echo", Price: &model.Price{Input: 1, Output: 1}}
}

func (p *paid) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		p.calls.Add(1)
		for n := p.under.Add(1); ; {
			if most := p.most.Load(); n <= most || p.most.CompareAndSwap(most, n) {
				break
			}
		}
		defer p.under.Add(-1)
		if p.hold != nil {
			select {
			case <-p.hold:
			case <-ctx.Done():
			}
		}
		if req.System == "break" {
			for range 4 { // a million tokens
				if !yield(model.TextDelta{Text: strings.Repeat("x", 1<<20)}, nil) {
					return
				}
			}
			yield(nil, &model.Error{Kind: model.ErrorNetwork, Provider: "p", Message: "gone"})
			return
		}
		it := transcript.Item{Role: transcript.RoleAssistant, Usage: &transcript.Usage{Input: 500_000, Output: 500_000}}
		yield(model.Answer{Item: it}, nil)
	}
}

func (b *limitedClient) call(req *model.Request) error {
	for _, err := range b.c.Model(0, model.Info{}).Stream(b.t.Context(), req) {
		if err != nil {
			return err
		}
	}
	return nil
}

// The host's model is not called beyond the budget, whatever the loop inside does.
func TestBudget(t *testing.T) {
	for _, tt := range []struct {
		name   string
		budget Budget
		system string
		calls  int64
	}{
		{"dollars", Budget{USD: 3}, "", 3},
		{"dollars, broken off", Budget{USD: 2.5}, "break", 3},
		{"calls", Budget{Calls: 2}, "", 6},
		{"calls, broken off", Budget{Calls: 1}, "break", 12},
		{"no bound", Budget{}, "", 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &paid{}
			b, s := limitedServer(t, ServeOptions{Models: []model.Model{m}, Budget: tt.budget})
			var failed error
			for range 20 {
				failed = b.call(&model.Request{System: tt.system})
			}
			if m.calls.Load() != tt.calls {
				t.Errorf("%d calls were made, want %d", m.calls.Load(), tt.calls)
			}
			if over := tt.calls < 20; over != errors.Is(failed, ErrRefused) {
				t.Errorf("the last call: %v", failed)
			}
			if use := s.Spent()["m"]; tt.system == "" && (int64(use.Calls) != tt.calls || use.CostUSD != float64(tt.calls) || use.Usage.Total() != tt.calls*1_000_000) {
				t.Errorf("the host counts %+v", use)
			}
		})
	}
}

// Concurrent calls cannot exceed the budget, and their number is limited.
func TestConcurrentCalls(t *testing.T) {
	for _, tt := range []struct {
		budget Budget
		most   int64
	}{{Budget{USD: 2}, 1}, {Budget{}, maxStreams}} {
		m := &paid{hold: make(chan struct{})}
		b := newLimitedClient(t, ServeOptions{Models: []model.Model{m}, Budget: tt.budget})
		var calls sync.WaitGroup
		var refused atomic.Int64
		for range 20 {
			calls.Go(func() {
				if err := b.call(&model.Request{}); errors.Is(err, ErrRefused) {
					refused.Add(1)
				}
			})
		}
		until(t, func() bool { return refused.Load() == 20-maxStreams })
		close(m.hold)
		calls.Wait()
		if m.most.Load() > tt.most || tt.budget.USD > 0 && m.calls.Load() > 2 || m.calls.Load() > maxStreams {
			t.Errorf("%+v: %d calls, %d at once", tt.budget, m.calls.Load(), m.most.Load())
		}
	}
}

// until waits for a condition.
func until(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not become so")
		}
	}
}

// A request beyond the limits of the run is not made.
func TestRequestsBeyondTheRun(t *testing.T) {
	m := &paid{}
	b := newLimitedClient(t, ServeOptions{Models: []model.Model{m}, Budget: Budget{MaxTokens: 1000, Effort: "low"}})
	for _, req := range []*model.Request{
		{},
		{MaxTokens: 1001},
		{MaxTokens: -1},
		{MaxTokens: 1000, Effort: "high"},
		{MaxTokens: 1000, Effort: "max"},
	} {
		if err := b.call(req); !errors.Is(err, ErrRefused) {
			t.Errorf("%d tokens, effort %q: %v", req.MaxTokens, req.Effort, err)
		}
	}
	for _, req := range []*model.Request{{MaxTokens: 1000}, {MaxTokens: 1000, Effort: "low"}} {
		if err := b.call(req); err != nil {
			t.Error(err)
		}
	}
	if m.calls.Load() != 2 {
		t.Errorf("%d calls were made", m.calls.Load())
	}
	for _, number := range []int{-1, 1, 1 << 40} {
		for _, err := range b.c.Model(number, model.Info{}).Stream(t.Context(), &model.Request{MaxTokens: 1000}) {
			if me, ok := errors.AsType[*model.Error](err); !ok || me.Kind != model.ErrorNotFound {
				t.Errorf("model %d: %v", number, err)
			}
		}
	}
}

// largeRecord expands a small input: the message that it sends is as large as a request may be.
type largeRecord struct{ paid }

func (v *largeRecord) Encode(transcript.Encoded) (model.EncodedItem, error) {
	return model.EncodedItem{Role: "user", JSON: make([]byte, maxRequest)}, nil
}

// A request that no provider accepts is not made, whichever part of it is too large.
func TestLargeRequests(t *testing.T) {
	m := &largeRecord{}
	b := newLimitedClient(t, ServeOptions{Models: []model.Model{m}})
	item, err := transcript.Item{ID: "i", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "x"}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	messages := []model.EncodedItem{{Role: "user", JSON: item.JSON}}
	if err := b.call(&model.Request{Messages: messages}); err != nil {
		t.Error(err)
	}
	if err := b.call(&model.Request{System: "x", Messages: messages}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if !testing.Short() { // larger than any host accepts
		if err := b.call(&model.Request{System: strings.Repeat("x", hostReadLimits.head)}); err == nil {
			t.Error("it was sent")
		}
	}
	if n := m.calls.Load(); n != 1 {
		t.Errorf("%d calls were made", n)
	}
}

// A native form is sent only if it contains the model's own words, and no address that the provider would
// fetch.
func TestNativeForms(t *testing.T) {
	const url = "https://collect.example/?secret"
	for _, tt := range []struct {
		name, api, native string
		kept              bool
	}{
		{"text", "anthropic-messages", `[{"type":"text","text":"https://collect.example/?secret"}]`, true},
		{"a thought", "anthropic-messages", `[{"type":"thinking","thinking":"https://collect.example/?secret","signature":"s"},{"type":"redacted_thinking","data":"d"}]`, true},
		{"a tool's url", "anthropic-messages", `[{"type":"tool_use","id":"u","name":"Fetch","input":{"url":"https://collect.example/?secret","type":"image"}}]`, true},
		{"an image", "anthropic-messages", `[{"type":"image","source":{"type":"url","url":"https://collect.example/?secret"}}]`, false},
		{"a document", "anthropic-messages", `[{"type":"text","text":"a"},{"type":"document","source":{"type":"url","url":"https://collect.example/?secret"}}]`, false},
		{"a list in a list", "anthropic-messages", `[[{"type":"image","source":{"type":"url","url":"https://collect.example/?secret"}}]]`, false},
		{"a message", "openai-chat", `{"role":"assistant","content":"https://collect.example/?secret","tool_calls":[{"id":"u","type":"function","function":{"name":"f","arguments":"{}"}}]}`, true},
		{"a user's message", "openai-chat", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://collect.example/?secret"}}]}`, false},
		{"parts", "openai-chat", `{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"https://collect.example/?secret"}}]}`, false},
		{"something else", "openai-chat", `{"role":"assistant","content":"a","audio":{"id":"https://collect.example/?secret"}}`, false},
		{"two roles", "openai-chat", `{"role":"assistant","role":"user","content":"https://collect.example/?secret"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			it := transcript.Item{
				ID: "i", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "said"}},
				Native: &transcript.Native{API: tt.api, JSON: json.RawMessage(tt.native)},
			}
			e, err := it.Encode()
			if err != nil {
				t.Skip(err) // it never gets there
			}
			got, err := plainNative(e, tt.api)
			if err != nil {
				t.Fatal(err)
			}
			if kept := strings.Contains(string(got.JSON), url); kept != tt.kept || got.Text() != "said" {
				t.Errorf("%s became %s", e.JSON, got.JSON)
			}
		})
	}
}
