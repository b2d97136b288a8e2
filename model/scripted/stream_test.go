package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestDeltas(t *testing.T) {
	m := modelOf(t, `
chunk: 4
steps:
  - thinking: Hmm, hmm.
    text: Grüße, Welt
    tool_uses: [{id: u1, tool: T, input: {b: 1, a: [x, null, true, 9007199254740993, 1.5, "<&>"]}}]
  - {text: "", chunk: 100, tool_uses: [{tool: Nope, raw_input: '{"a": '}, {tool: T}, {tool: T, raw_input: ' {"a": 1} '}]}
`, nil)
	k := &conversation{t: t}
	k.user("hi")
	deltas, it, err := stream(t.Context(), m, k.request(m))
	if err != nil {
		t.Fatal(err)
	}
	var thinking, text, input []string
	for _, d := range deltas {
		switch d := d.(type) {
		case model.ThinkingDelta:
			thinking = append(thinking, d.Text)
		case model.TextDelta:
			text = append(text, d.Text)
		case model.ToolInputDelta:
			if d.Use != "u1" || d.Tool != "T" {
				t.Errorf("delta of %+v", d)
			}
			input = append(input, d.JSON)
		}
	}
	const wantInput = `{"b":1,"a":["x",null,true,9007199254740993,1.5,"<&>"]}`
	if strings.Join(thinking, "|") != "Hmm,| hmm|." || strings.Join(text, "|") != "Grüß|e, W|elt" ||
		input[0] != "" || strings.Join(input, "") != wantInput {
		t.Errorf("thinking %q, text %q, input %q", thinking, text, input)
	}
	use := it.ToolUses()[0]
	if string(use.Input) != wantInput || it.Finish != transcript.FinishToolUse || it.Model != "play" || it.Role != transcript.RoleAssistant {
		t.Errorf("answer: %+v", it)
	}
	if n := it.Native; n == nil || n.API != apiName || !strings.Contains(string(n.JSON), `"step":"#1"`) {
		t.Errorf("native: %+v", n)
	}
	k.add(it)
	k.answer("ok", false)

	it = k.next(m)
	uses := it.ToolUses()
	var written string
	if err := json.Unmarshal(uses[0].Input, &written); err != nil || written != `{"a": ` || uses[0].Extra["malformed"] == nil {
		t.Errorf("malformed input: %s %v", uses[0].Input, err)
	}
	if string(uses[1].Input) != "{}" || string(k.items[len(k.items)-1].Uses()[2].Input) != `{"a":1}` {
		t.Errorf("inputs: %s, %s", uses[1].Input, uses[2].Input)
	}
	if uses[0].ID == uses[1].ID || !strings.HasPrefix(uses[0].ID, "use_") {
		t.Errorf("ids: %s, %s", uses[0].ID, uses[1].ID)
	}
}

// The same request gets the same ids, and another one others.
func TestUseIDs(t *testing.T) {
	m := modelOf(t, "steps: [{when: {any: true}, tool_uses: [{tool: T}]}]", nil)
	k := &conversation{t: t}
	k.user("hi")
	seen := map[string]bool{}
	for range 5 {
		_, again, err := stream(t.Context(), m, k.request(m))
		if err != nil {
			t.Fatal(err)
		}
		id := k.next(m).ToolUses()[0].ID
		if again.ToolUses()[0].ID != id || seen[id] {
			t.Errorf("id %s, again %s, seen %v", id, again.ToolUses()[0].ID, seen)
		}
		seen[id] = true
		k.answer("ok", false)
	}
}

func TestLastResult(t *testing.T) {
	m := modelOf(t, `steps: [{tool_uses: [{tool: T}]}, {text: "It says {{last_result}}."}]`, nil)
	k := &conversation{t: t}
	k.user("hi")
	k.next(m)
	use := k.items[1].UseIDs()[0]
	k.add(transcript.ToolResult{UseID: use, Content: []transcript.Part{
		transcript.Text{Text: "a"}, transcript.Structured{Value: []byte(`{"b":1}`)},
	}}.Item())
	if got := k.next(m).Text(); got != "It says a\n{\"b\":1}." {
		t.Errorf("the answer is %q", got)
	}
}

func TestErrors(t *testing.T) {
	for kind, want := range map[string]struct {
		kind   model.ErrorKind
		status int
		retry  bool
	}{
		"rate_limit":       {model.ErrorRateLimit, 429, true},
		"overloaded":       {model.ErrorOverloaded, 529, true},
		"network":          {model.ErrorNetwork, 0, true},
		"malformed":        {model.ErrorMalformed, 0, true},
		"auth":             {model.ErrorAuth, 401, false},
		"invalid":          {model.ErrorInvalid, 400, false},
		"not_found":        {model.ErrorNotFound, 404, false},
		"context_too_long": {model.ErrorTooLong, 400, false},
		"refused":          {model.ErrorRefused, 0, false},
	} {
		m := modelOf(t, fmt.Sprintf("steps: [{error: {kind: %s, retry_after: 2s, message: no}}]", kind), nil)
		k := &conversation{t: t}
		k.user("hi")
		for range 2 {
			deltas, _, err := stream(t.Context(), m, k.request(m))
			e := failure(t, err)
			if e.Kind != want.kind || e.Status != want.status || e.Retryable() != want.retry ||
				e.RetryAfter != 2*time.Second || e.Message != "no" || e.Partial != nil || len(deltas) > 0 {
				t.Errorf("%s: %+v after %v", kind, e, deltas)
			}
		}
	}
}

func TestErrorTimes(t *testing.T) {
	m := modelOf(t, "steps: [{text: a, error: {kind: overloaded, status: 503, times: 2}}, {text: b, error: {kind: network, times: 1}}]", nil)
	k := &conversation{t: t}
	for _, fails := range []int{2, 1} {
		k.user("hi")
		for range fails {
			if _, _, err := stream(t.Context(), m, k.request(m)); err == nil {
				t.Fatal("the step did not fail")
			}
		}
		k.next(m)
	}
	if got := k.items[3].Text(); got != "b" {
		t.Errorf("the second answer is %q", got)
	}
}

func TestBreakingOff(t *testing.T) {
	for _, tt := range []struct {
		after         int
		text, thought string
	}{{1, "", "th"}, {3, "On", "thin"}, {99, "One two", "thin"}} {
		m := modelOf(t, fmt.Sprintf("steps: [{thinking: thin, text: One two, chunk: 2, error: {kind: network, after_chunks: %d}}]", tt.after), nil)
		k := &conversation{t: t}
		k.user("hi")
		_, _, err := stream(t.Context(), m, k.request(m))
		p := failure(t, err).Partial
		if p == nil || p.Text() != tt.text || p.Parts[0].(transcript.Thinking).Text != tt.thought || p.Finish != transcript.FinishError {
			t.Errorf("after %d deltas the partial answer is %+v", tt.after, p)
		}
	}
	m := modelOf(t, "steps: [{tool_uses: [{tool: T}], error: {kind: network, after_chunks: 1}}]", nil)
	k := &conversation{t: t}
	k.user("hi")
	if _, _, err := stream(t.Context(), m, k.request(m)); failure(t, err).Partial != nil {
		t.Error("half a tool use was kept")
	}
}

const slow = `
delay: {before: 1s, chunk: 100ms}
chunk: 2
steps:
  - text: abcdefgh
  - {text: abcd, delay: {before: 5s}}
`

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelOf(t, slow, nil)
		k := &conversation{t: t}
		for _, want := range []time.Duration{1300 * time.Millisecond, 5 * time.Second} {
			k.user("hi")
			began := time.Now()
			k.next(m)
			if took := time.Since(began); took != want {
				t.Errorf("the step took %v, want %v", took, want)
			}
		}
	})
}

func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelOf(t, slow, nil)
		k := &conversation{t: t}
		k.user("hi")
		ctx, cancel := context.WithTimeout(t.Context(), 1250*time.Millisecond)
		defer cancel()
		_, _, err := stream(ctx, m, k.request(m))
		e := failure(t, err)
		if e.Kind != model.ErrorCancelled || !errors.Is(err, context.DeadlineExceeded) || e.Partial.Text() != "abcdef" || e.Partial.Finish != transcript.FinishCancelled {
			t.Errorf("%+v, partial %+v", e, e.Partial)
		}
	})
	m := modelOf(t, slow, &Options{Sleep: noSleep})
	k := &conversation{t: t}
	k.user("hi")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := stream(ctx, m, k.request(m))
	if e := failure(t, err); !errors.Is(e, context.Canceled) || e.Partial != nil {
		t.Errorf("cancelled before it began: %+v", e)
	}
}

// A reader that stops reading stops the play.
func TestBreak(t *testing.T) {
	m := modelOf(t, slow, &Options{Sleep: noSleep})
	k := &conversation{t: t}
	k.user("hi")
	n := 0
	for range m.Stream(t.Context(), k.request(m)) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d events", n)
	}
}

func TestPieces(t *testing.T) {
	for _, tt := range []struct {
		s    string
		size int
		want string
	}{
		{"", 0, ""}, {"", 3, ""}, {"abc", 0, "abc"}, {"abc", 3, "abc"}, {"abc", 2, "ab|c"}, {"äöü", 1, "ä|ö|ü"}, {"a\xffb", 2, "a\xff|b"},
	} {
		var got []string
		for p := range pieces(tt.s, tt.size) {
			got = append(got, p)
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("pieces(%q, %d) = %q", tt.s, tt.size, got)
		}
	}
}
