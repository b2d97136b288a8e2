package openai

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
		system = `{"role":"system","content":"be \"brief\""}`
		u      = `{"role":"user","content":"a"}`
		s      = `{"role":"assistant","content":"b"}`
		r      = `{"role":"tool","tool_call_id":"c"}`
		shown  = `{"role":"user","content":[1]}`
	)
	for _, tt := range []struct {
		name   string
		system string
		wires  []model.EncodedItem
		want   string
	}{
		{"none", "", nil, ``},
		{"system alone", "be \"brief\"", nil, system},
		{"one", "", []model.EncodedItem{w("user", u)}, u},
		{"zero wires", "be \"brief\"", []model.EncodedItem{{}, w("user", u), {}, w("assistant", s), {}}, system + "," + u + "," + s},
		{
			"images of a round come after it", "",
			[]model.EncodedItem{w("user", u), w("tool+media", r+"\n"+shown), w("tool", r), w("tool+media", r+"\n"+shown), w("user", u)},
			u + "," + r + "," + r + "," + r + "," + shown + "," + shown + "," + u,
		},
		{"images at the end", "", []model.EncodedItem{w("tool+media", r+"\n"+shown), {}}, r + "," + shown},
		{
			"images of two rounds", "",
			[]model.EncodedItem{w("tool+media", r+"\n"+shown), w("assistant", s), w("tool+media", r+"\n"+shown)},
			r + "," + shown + "," + s + "," + r + "," + shown,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := open(t, "gpt-5.1", nil)
			body := m.body(&model.Request{System: tt.system, Messages: tt.wires})
			want := `{"model":"gpt-5.1","stream":true,"stream_options":{"include_usage":true},"messages":[` + tt.want + `]}`
			if diff := cmp.Diff(want, string(body.Bytes())); diff != "" {
				t.Error(diff)
			}
			if !json.Valid(body.Bytes()) || body.Size() != int64(len(want)) {
				t.Errorf("not JSON, or %d is not its size", body.Size())
			}
		})
	}
}

func TestSettings(t *testing.T) {
	local := &Options{BaseURL: "http://127.0.0.1:8080/v1", MaxTokens: 99}
	const head = `{"model":"m","stream":true,"stream_options":{"include_usage":true}`
	for _, tt := range []struct {
		name string
		o    *Options
		req  model.Request
		want string
	}{
		{"defaults", nil, model.Request{}, ``},
		{"OpenAI's own name", &Options{MaxTokens: 99}, model.Request{}, `,"max_completion_tokens":99`},
		{"the name that others know", local, model.Request{}, `,"max_tokens":99`},
		{"request", local, model.Request{MaxTokens: 7}, `,"max_tokens":7`},
		{"effort", nil, model.Request{Effort: "low"}, `,"reasoning_effort":"low"`},
	} {
		if diff := cmp.Diff(head+tt.want, string(open(t, "m", tt.o).settings(&tt.req))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// A session that goes on, or is resumed by a new process, repeats the bytes that
// were sent before.
func TestPrefixIsStable(t *testing.T) {
	tools := []model.ToolSpec{{Name: "Read", Input: json.RawMessage(`{"type":"object"}`)}}
	var items []transcript.Encoded
	var last []byte
	for turn := range 30 {
		items = append(items, transcript.UserText(strings.Repeat("question ", turn+1)).MustEncode())
		var bodies [2][]byte
		for i := range bodies { // two processes
			m := open(t, "gpt-5.1", nil)
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
			bodies[i] = b
		}
		if !bytes.Equal(bodies[0], bodies[1]) {
			t.Fatal("two processes send different bytes")
		}
		if last != nil && !bytes.HasPrefix(bodies[0], bytes.TrimSuffix(last, []byte("]}"))) {
			t.Fatalf("turn %d does not go on where the last one ended", turn)
		}
		last = bodies[0]
		items = append(items, transcript.Item{
			Role:   transcript.RoleAssistant,
			Parts:  []transcript.Part{transcript.Text{Text: "é <ok>"}},
			Native: &transcript.Native{API: apiName, JSON: json.RawMessage(`{"role":"assistant","content":"\u00e9 \u003cok>"}`)},
		}.MustEncode())
	}
}
