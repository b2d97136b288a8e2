package anthropic

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

const mark = `,"cache_control":{"type":"ephemeral"}`

func open(t testing.TB, name string, o *Options) *adapter {
	t.Helper()
	m, err := New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*adapter)
}

func w(role, json string) model.EncodedItem { return model.EncodedItem{Role: role, JSON: []byte(json)} }

func TestMessages(t *testing.T) {
	const (
		a       = `{"type":"text","text":"a"`
		b       = `{"type":"text","text":"b"`
		use     = `{"type":"tool_use","id":"u","name":"n","input":{"x":"}{"}`
		res     = `{"type":"tool_result","tool_use_id":"u"`
		thought = `{"type":"thinking","thinking":"},{","signature":"s"}`
		u       = `{"role":"user","content":[`
		s       = `{"role":"assistant","content":[`
	)
	for _, tt := range []struct {
		name  string
		wires []model.EncodedItem
		want  string
	}{
		{"none", nil, ``},
		{"zero wires", []model.EncodedItem{{}, {}}, ``},
		{"one", []model.EncodedItem{w("user", a+"}")}, u + a + mark + `}]}`},
		{"neighbours are one message", []model.EncodedItem{w("user", a+"}"), {}, w("user", b+"}")}, u + a + `},` + b + mark + `}]}`},
		{
			"the last two messages are marked",
			[]model.EncodedItem{w("user", a+"}"), w("assistant", b+"}"), w("user", a+"}")},
			u + a + `}]},` + s + b + mark + `}]},` + u + a + mark + `}]}`,
		},
		{
			"a tool round",
			[]model.EncodedItem{w("user", a+"}"), w("assistant", a+"},"+use+"}"), w("user", res+"}"), w("user", res+`,"is_error":true}`)},
			u + a + `}]},` + s + a + `},` + use + mark + `}]},` + u + res + `},` + res + `,"is_error":true` + mark + `}]}`,
		},
		{
			"thinking is not marked",
			[]model.EncodedItem{w("user", a+"}"), w("assistant", b+"},"+thought)},
			u + a + mark + `}]},` + s + b + mark + `},` + thought + `]}`,
		},
		{
			"nor is what is unknown, and the user begins",
			[]model.EncodedItem{w("assistant", thought+`,{"type":"future"}`)},
			u + `{"type":"text","text":"(earlier messages are omitted)"}]},` + s + thought + `,{"type":"future"}]}`,
		},
		{
			"a zero wire between",
			[]model.EncodedItem{w("user", a+"}"), w("assistant", b+"}"), {}, w("user", a+"}"), {}},
			u + a + `}]},` + s + b + mark + `}]},` + u + a + mark + `}]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := make([]string, len(tt.wires))
			for i, w := range tt.wires {
				before[i] = string(w.JSON)
			}
			m := open(t, "claude-sonnet-4-6", nil)
			body := m.body(&model.Request{Messages: tt.wires})
			want := `{"model":"claude-sonnet-4-6","max_tokens":16384,"stream":true,"messages":[` + tt.want + `]}`
			if diff := cmp.Diff(want, string(body.Bytes())); diff != "" {
				t.Error(diff)
			}
			if !json.Valid(body.Bytes()) || body.Size() != int64(len(want)) {
				t.Errorf("not JSON, or %d is not its size", body.Size())
			}
			for i, w := range tt.wires {
				if string(w.JSON) != before[i] {
					t.Errorf("wire %d has changed: %s", i, w.JSON)
				}
			}
		})
	}
}

func TestSettings(t *testing.T) {
	answered := []model.EncodedItem{w("user", `{"type":"text","text":"a"}`), w("assistant", `{"type":"text","text":"b"}`), w("user", `{"type":"text","text":"c"}`)}
	round := []model.EncodedItem{answered[0], w("assistant", `{"type":"tool_use","id":"u"}`), w("user", `{"type":"tool_result","tool_use_id":"u"}`)}
	thoughtful := []model.EncodedItem{answered[0], w("assistant", `{"type":"thinking","thinking":"","signature":"s"},{"type":"tool_use","id":"u"}`), round[2], w("user", `{"type":"text","text":"also"}`)}
	const drop = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
	for _, tt := range []struct {
		name, model string
		o           *Options
		req         model.Request
		want        string
	}{
		{"defaults", "claude-sonnet-4-6", nil, model.Request{}, `"max_tokens":16384,"stream":true`},
		{"unknown model", "claude-x", nil, model.Request{}, `"max_tokens":16384,"stream":true`},
		{"option", "claude-sonnet-4-6", &Options{MaxTokens: 99}, model.Request{}, `"max_tokens":99,"stream":true`},
		{"request", "claude-sonnet-4-6", &Options{MaxTokens: 99}, model.Request{MaxTokens: 7}, `"max_tokens":7,"stream":true`},
		{"budget", "claude-haiku-4-5", nil, model.Request{Effort: "medium"}, `"max_tokens":16384,"stream":true,"thinking":{"type":"enabled","budget_tokens":5120}`},
		{"budget above the limit", "claude-haiku-4-5", nil, model.Request{Effort: "high", MaxTokens: 1000}, `"max_tokens":11240,"stream":true,"thinking":{"type":"enabled","budget_tokens":10240}`},
		{"unknown effort", "claude-haiku-4-5", nil, model.Request{Effort: "odd"}, `"max_tokens":16384,"stream":true`},
		{"after an answer", "claude-haiku-4-5", nil, model.Request{Effort: "low", Messages: answered}, `"max_tokens":16384,"stream":true,"thinking":{"type":"enabled","budget_tokens":1024}`},
		{"in a round that began without thinking", "claude-haiku-4-5", nil, model.Request{Effort: "low", Messages: round}, `"max_tokens":16384,"stream":true`},
		{"in a round that began with thinking", "claude-haiku-4-5", nil, model.Request{Effort: "low", Messages: thoughtful}, `"max_tokens":16384,"stream":true,"thinking":{"type":"enabled","budget_tokens":1024}`},
		{"adaptive", "claude-opus-4-6", nil, model.Request{Effort: "high"}, `"max_tokens":16384,"stream":true,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}`},
		{"unknown models are new", "claude-x", nil, model.Request{Effort: "low"}, `"max_tokens":16384,"stream":true,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}`},
		{"preserved", "claude-sonnet-5-5", nil, model.Request{}, `"max_tokens":16384,"stream":true,"thinking":{"type":"adaptive","display":"summarized",` + drop + `}`},
		{"preserved, with effort", "claude-sonnet-5-5", nil, model.Request{Effort: "low"}, `"max_tokens":16384,"stream":true,"thinking":{"type":"adaptive","display":"summarized",` + drop + `},"output_config":{"effort":"low"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := open(t, tt.model, tt.o)
			if diff := cmp.Diff(`{"model":"`+tt.model+`",`+tt.want, string(m.settings(&tt.req))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHead(t *testing.T) {
	got := string(encodeHead(&model.Request{System: "be \"brief\"", Tools: []model.ToolSpec{
		{Name: "a", Description: "does a", Input: json.RawMessage(`{"type":"object","properties":{"x":{"minimum":9007199254740993}}}`)},
		{Name: "b"},
	}}))
	const want = `,"system":[{"type":"text","text":"be \"brief\""` + mark + `}]` +
		`,"tools":[{"name":"a","description":"does a","input_schema":{"type":"object","properties":{"x":{"minimum":9007199254740993}}}},` +
		`{"name":"b","input_schema":{"type":"object"}` + mark + `}]`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := encodeHead(&model.Request{}); len(got) != 0 {
		t.Errorf("of nothing: %s", got)
	}
}

// A session that goes on, or is resumed by a new process, repeats the bytes that
// were sent before up to the first cache mark that moved.
func TestPrefixIsStable(t *testing.T) {
	tools := []model.ToolSpec{{Name: "Read", Input: json.RawMessage(`{"type":"object"}`)}}
	var items []transcript.Encoded
	var last []byte
	for turn := range 30 {
		items = append(items, transcript.UserText(strings.Repeat("question ", turn+1)).MustEncode())
		bodies := make([][]byte, 0, 2)
		for range 2 { // two processes
			m := open(t, "claude-haiku-4-5", nil)
			req := &model.Request{System: "be brief", Tools: tools}
			for _, e := range items {
				var stored transcript.Encoded
				if err := stored.IndexTrusted(bytes.Clone(e.JSON)); err != nil {
					t.Fatal(err)
				}
				wire, err := m.Encode(stored)
				if err != nil {
					t.Fatal(err)
				}
				req.Messages = append(req.Messages, wire)
			}
			b, err := io.ReadAll(m.body(req).Reader())
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, b)
		}
		if !bytes.Equal(bodies[0], bodies[1]) {
			t.Fatal("two processes send different bytes")
		}
		unmarked := bytes.ReplaceAll(bodies[0], []byte(mark), nil)
		if last != nil && !bytes.HasPrefix(unmarked, bytes.TrimSuffix(last, []byte("]}"))) {
			t.Fatalf("turn %d does not go on where the last one ended", turn)
		}
		last = unmarked
		items = append(items, transcript.Item{
			Role:   transcript.RoleAssistant,
			Parts:  []transcript.Part{transcript.Text{Text: "é <ok>"}},
			Native: &transcript.Native{API: apiName, JSON: json.RawMessage(`[{"type":"thinking","thinking":"\u00e9","signature":"s"},{"type":"text","text":"é \u003cok>"}]`)},
		}.MustEncode())
	}
}
