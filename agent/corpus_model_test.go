package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/transcript"
)

const okStream = `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

`

// provider answers with these statuses and then always with the last; 0 breaks the connection.
func provider(t *testing.T, key string, statuses []int) (a *agent.Agent, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status := statuses[min(int(asked.Add(1)), len(statuses))-1]
		switch status {
		case 0:
			panic(http.ErrAbortHandler)
		case http.StatusOK:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, okStream)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"type":"error","error":{"type":"x","message":"no: you sent %s"}}`, key)
		}
	}))
	t.Cleanup(server.Close)
	m, err := anthropic.New("m", &anthropic.Options{APIKey: key, BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return newAgent(t, m, agent.Options{}), asked
}

// checkStatuses runs a case with the statuses of a provider's server.
func checkStatuses(t *testing.T, c corpus.Case) {
	var in struct{ Status json.RawMessage }
	var want struct {
		Status      string
		ContainsKey *bool `json:"contains_key"`
		Requests    int
	}
	c.Decode(t, c.Input(), &in)
	c.Decode(t, c.Expect(), &want)
	var statuses []int
	if json.Unmarshal(in.Status, &statuses) != nil {
		statuses = []int{0}
		c.Decode(t, in.Status, &statuses[0])
	}
	key := "sk-ant-" + "made-up-key-of-a-case"
	a, asked := provider(t, key, statuses)
	res := prompt(t, a, "go")
	if want.Status != "" && want.Status != map[bool]string{true: "success", false: "error"}[res.Reason == event.ReasonCompleted] {
		t.Errorf("%s (%v), want %s", res.Reason, res.Err, want.Status)
	}
	if n := int(asked.Load()); want.Requests > 0 && n != want.Requests {
		t.Errorf("%d requests, want %d", n, want.Requests)
	}
	if said := fmt.Sprint(res.Text, res.Err); want.ContainsKey != nil && strings.Contains(said, key) != *want.ContainsKey {
		t.Errorf("it says %s", said)
	}
}

// checkStops runs a case with the finish reasons of the model.
func checkStops(t *testing.T, c corpus.Case) {
	var in struct {
		Stop json.RawMessage `json:"stop_reason"`
	}
	var want struct {
		Status string
		Text   []string `json:"text_contains"`
	}
	c.Decode(t, c.Input(), &in)
	c.Decode(t, c.Expect(), &want)
	var stops []string
	if json.Unmarshal(in.Stop, &stops) != nil {
		var line, word string
		var n int
		c.Decode(t, in.Stop, &line)
		if _, err := fmt.Sscanf(line, "%s x%d", &word, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		stops = strings.Fields(strings.Repeat(word+" ", n))
	}
	var steps []step
	for i, stop := range stops {
		finish, ok := map[string]transcript.Finish{
			"max_tokens": transcript.FinishMaxTokens, "end_turn": transcript.FinishStop, "stop_sequence": transcript.FinishStop,
		}[stop]
		if !ok {
			t.Fatalf("unknown stop reason %q", stop)
		}
		steps = append(steps, step{text: fmt.Sprint("Part ", i+1), finish: finish})
	}
	m := play(t, steps...)
	res := prompt(t, newAgent(t, m, agent.Options{}), "tell me")
	if res.Reason != event.ReasonCompleted || want.Status != "success" || len(m.steps) != 0 {
		t.Errorf("%s, want %s; %d answers are left", res.Reason, want.Status, len(m.steps))
	}
	for _, text := range want.Text {
		if !strings.Contains(res.Text, text) {
			t.Errorf("%q is not in %q", text, res.Text)
		}
	}
	for i := range m.asked[1:] {
		items := m.items(&m.asked[i+1])
		if got := items[len(items)-1]; got.Role() != transcript.RoleUser || got.Text() != "Please continue from where you left off." {
			t.Errorf("request %d ends with %s %q", i+2, got.Role(), got.Text())
		}
	}
}

// Variants of the corpus cases.
func TestCorpusModelVariants(t *testing.T) {
	for _, c := range []struct{ input, expect string }{
		{`{"status":[503,503,200]}`, `{"status":"success","requests":3}`},
		{`{"status":[500,200]}`, `{"status":"success","requests":2}`},
		{`{"status":[502,0,429,200]}`, `{"status":"success","requests":4}`},
		{`{"status":[429,429,429,429,200]}`, `{"status":"error","requests":4,"contains_key":false}`},
		{`{"status":0}`, `{"status":"error","requests":4,"contains_key":false}`},
		{`{"status":400}`, `{"status":"error","requests":1,"contains_key":false}`},
		{`{"status":401}`, `{"status":"error","requests":1,"contains_key":false}`},
		{`{"status":403}`, `{"status":"error","requests":1,"contains_key":false}`},
		{`{"status":404}`, `{"status":"error","requests":1,"contains_key":false}`},
		{`{"status":200}`, `{"status":"success","requests":1}`},
	} {
		t.Run(c.input, func(t *testing.T) {
			checkStatuses(t, corpus.NewCase(map[string]string{"input": c.input, "expect": c.expect}))
		})
	}
	for _, c := range []struct{ input, expect string }{
		{`{"stop_reason":["end_turn"]}`, `{"status":"success","text_contains":["Part 1"]}`},
		{`{"stop_reason":["max_tokens","max_tokens","max_tokens","stop_sequence"]}`, `{"status":"success","text_contains":["Part 4"]}`},
		{`{"stop_reason":"max_tokens x4"}`, `{"status":"success","text_contains":["Part 1","Part 4"]}`},
	} {
		t.Run(c.input, func(t *testing.T) {
			checkStops(t, corpus.NewCase(map[string]string{"input": c.input, "expect": c.expect}))
		})
	}
}
