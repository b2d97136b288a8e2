package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
	"github.com/holdfast-dev/holdfast/policy"
)

func object(t testing.TB, b []byte) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return m
}

// with returns the object with another value of a field; "" removes it.
func with(t testing.TB, m map[string]json.RawMessage, field, value string) []byte {
	t.Helper()
	m = maps.Clone(m)
	delete(m, field)
	if value != "" {
		m[field] = json.RawMessage(value)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Errorf("%v in %s or %s", err, a, b)
	}
	return reflect.DeepEqual(x, y)
}

var (
	noon  = time.Date(2025, 1, 15, 10, 30, 1, 0, time.UTC)
	reply = Envelope{TS: Time{noon}, RequestID: "r1"}
	place = RunPosition{Envelope: Envelope{TS: Time{noon}}, RunID: "run_abc123", Seq: 7}
)

// samples contains messages of each type: with all fields, and, if the form differs, with required
// fields only.
func samples() []Message {
	expires := Time{noon.Add(time.Minute)}
	origin := &policy.Origin{Rule: "Bash(git push:*)", Layer: "project", File: "/w/.holdfast/settings.json", Line: 3, Col: 5}
	full, cutOff := place, &Truncation{Bytes: 2 << 20, SHA256: strings.Repeat("ab", 32)}
	full.More, full.Pending, full.RequestID = true, true, "r1"
	usage := Usage{PromptTokens: 120, CompletionTokens: 30, CacheReadTokens: 80, CacheWriteTokens: 10, ReasoningTokens: 5}
	flow := Raw(`{"type":"sequence","steps":["writer"]}`)
	run := api.RunInfo{
		RunID: "run_abc123", SessionID: "run_abc123", Status: api.StatusWaiting, StrategyName: "s", StrategyPath: "/w/s.yaml", Agents: []string{"writer"},
		Cwd: "/w", Mode: "default", Segment: 1, StartedAt: noon, CompletedAt: &noon, Approvals: 1, Result: "r", LastSeq: 9,
		Inputs: []api.WaitingInput{{InputRequestID: "in-1", AgentName: "person", Prompt: "which?", AskedAt: noon}},
		Error:  &api.RunError{Code: string(CodeExecution), Message: "m"},
	}
	exit := 1
	list := []Message{
		&Greeting{reply, 1, "1.2.3", Caller{"ann", "unix", []string{"read"}}, Limits{MaxMessage, 256, 50, 200}},
		&Pong{reply}, &Pong{Envelope{TS: Time{noon}}},
		&RunPrepared{reply, "run_abc123", "s", "/w/s.yaml", []string{"writer"}, flow, "/w", "blog", "m", "plan", true, api.StatusCompleted, 9},
		&RunPrepared{Envelope: reply, RunID: "r", Status: api.StatusPending},
		&StrategyStarted{full, "s", "/w/s.yaml", []string{"writer"}, flow, "/w", "m", "plan", 2, true, "go", "ann", "websocket", cutOff},
		&StrategyStarted{RunPosition: place},
		&StepStarted{full, "draft", "go", "writer", "1.r2.writer", 2, cutOff}, &StepStarted{RunPosition: place},
		&StepCompleted{full, "draft", StepResult{"done", usage, "completed"}, "writer", "1", 2, 0.5, cutOff}, &StepCompleted{RunPosition: place},
		&StepFailed{full, "draft", "writer", "1", 2, Problem{CodeExecution, "no model"}}, &StepFailed{RunPosition: place},
		&StrategyCompleted{full, "done", usage, 2, 0.5, cutOff}, &StrategyCompleted{RunPosition: place},
		&StrategyError{full, Problem{CodeCancelled, "stopped"}, 2, "ann", "console"}, &StrategyError{RunPosition: place},
		&SteerQueued{full, "shorter", "ann", "cli", cutOff, "st1"}, &SteerQueued{RunPosition: place},
		&SteerWithdrawn{full, []string{"st1"}, "refused", "ann", "cli", cutOff}, &SteerWithdrawn{RunPosition: place, SteeringIDs: []string{"st1"}},
		&SubagentSteered{full, "scout", "s2", "shorter", "ann", "cli", cutOff}, &SubagentSteered{RunPosition: place, AgentSession: "s2"},
		&SubagentStopped{full, "scout", "s2", "ann", "cli"}, &SubagentStopped{RunPosition: place, AgentSession: "s2"},
		&RequestInput{full, "person", "which?", "in-1", "1", cutOff}, &RequestInput{RunPosition: place},
		&InputReceived{full, "person", "in-1", "that", "ann", "http", cutOff}, &InputReceived{RunPosition: place},
		&AgentOutput{full, "writer", "m", "done", "hm", usage, "i1", "stop", cutOff}, &AgentOutput{RunPosition: place},
		&AgentInput{full, "writer", "go", "user", "i0", cutOff}, &AgentInput{RunPosition: place},
		&RequestPermission{
			full, "p1", "writer", "write_file", "c1", policy.OpWrite, "/projects/app/src/index.ts", record.ReasonAsk, "rule asks", origin,
			policy.ModeDefault, "none", "/projects/app",
			[]approval.Scope{{Rule: "Edit(src/**)", Text: "every file in src/"}},
			"00ff", &expires, "run.a",
			&Details{"+ a", cutOff, Raw(`{"path":"x"}`), true, cutOff, []Effect{{policy.OpRead, "/x", "/w", "x", cutOff}}, 2}, cutOff,
		},
		&RequestPermission{RunPosition: place},
		&PermissionResolved{full, "p1", approval.AllowSession, "ann", "console", "Edit(src/**)", "fine", true, "run.a", "writer"},
		&PermissionResolved{RunPosition: place, Decision: approval.Deny},
		&RuleSaved{reply, "run_abc123", "p1", savedrule.Result{
			Rule: "Edit(src/**)", Path: "/data", Hosts: []string{"x.example", "10.0.0.1"}, Effect: policy.Allow, Layer: "local",
			File: "/w/.holdfast/settings.local.json", Line: 4, Changed: true, Counts: true, Text: "Edit(src/**) is allowed",
		}},
		&RuleSaved{Envelope: reply, RunID: "r", Result: savedrule.Result{Effect: policy.Deny}},
		&PolicyUpdated{full, "write_file", []PolicyRef{{"rules", "rules", "allow x", origin}, {Name: "mode default"}}, 3, policy.ModePlan, "ann", "http"},
		&PolicyUpdated{RunPosition: place},
		&Subscribed{reply, "run_abc123", 17}, &Unsubscribed{reply, "run_abc123"},
		&CaughtUp{reply, "run_abc123", 17, api.StatusRunning, "default"}, &CaughtUp{Envelope: reply, RunID: "r"},
		&Gap{reply, "run_abc123", 17}, &RunList{reply, []api.RunInfo{run, {Status: api.StatusRunning, StartedAt: noon}}, "c2"}, &RunList{Envelope: reply},
		&StrategyList{reply, []api.RunInfo{run}}, &StrategyList{Envelope: reply},
		&Error{reply, CodeRunNotFound, "No active run found for runId run_abc123", "holdfast sessions list", "run_abc123"}, &Error{Envelope: reply},
	}
	for _, e := range []StreamEvent{
		&StreamText{"Hel"}, &StreamText{}, &StreamThinking{"thinking", "hm"}, &StreamToolInput{"c1", "Bash", `{"co`}, &StreamStepStart{"m", 1}, &StreamStepStart{},
		&StreamRetry{1, 500, "overloaded"}, &StreamNotice{"text", "title", "warning"}, &StreamToolCall{"c1", "Bash", `{"command":"ls"}`, cutOff},
		&StreamToolStart{"c1", "Bash"}, &StreamToolFinish{"c1", "Bash", "error", 12, &exit, []record.FileChange{{Path: "/w/a", Before: "absent", After: "00"}}},
		&StreamToolResult{"c1", "no", "error", "no", cutOff}, &StreamToolResult{ToolCallID: "c1", Status: "completed"},
		&StreamRetention{Retention{"compaction", "auto", 3}},
	} {
		list = append(list, &AgentStreaming{full, "writer", e})
	}
	return list
}

// Encoding and parsing a message gives the same bytes.
func TestMessagesRoundTrip(t *testing.T) {
	for _, m := range samples() {
		frame := Encode(m)
		if !strings.HasPrefix(string(frame), `{"type":"`+m.Type()+`","ts":"2025-01-15T10:30:01.000Z",`) && m.Type() != "pong" {
			t.Errorf("%s does not begin with its type and ts", frame)
		}
		back, err := parseMessage(frame)
		if err != nil {
			t.Errorf("%s: %v", frame, err)
			continue
		}
		if again := Encode(back); string(again) != string(frame) {
			t.Errorf("%s\nis read and written as\n%s", frame, again)
		}
	}
}

// The samples contain each message, each event, and each of their fields.
func TestSamples(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range samples() {
		all := object(t, Encode(m))
		for key := range all {
			seen[m.Type()+"."+key] = true
		}
		if m.Type() == "agent_streaming" {
			event := object(t, all["event"])
			for key := range event {
				seen["event."+strings.Trim(string(event["type"]), `"`)+"."+key] = true
			}
		}
	}
	check := func(name string, typ reflect.Type) {
		for _, f := range reflect.VisibleFields(typ) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.Anonymous && !seen[name+"."+field] {
				t.Errorf("no sample has %s.%s", name, field)
			}
		}
	}
	for _, m := range messages {
		check(m.Type(), reflect.TypeOf(m).Elem())
	}
	for _, e := range streamEvents {
		check("event."+e.EventType(), reflect.TypeOf(e).Elem())
	}
}

// parseMessage requires every field without omitempty.
func TestParseMessageRequiredFields(t *testing.T) {
	for _, m := range samples() {
		full := object(t, Encode(m))
		for _, field := range fieldsByType()[m.Type()].required {
			_, err := parseMessage(with(t, full, field, ""))
			if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeValidation || !strings.Contains(e.Message, field+" is missing") {
				t.Errorf("%s without %s: %v", m.Type(), field, err)
			}
		}
		if _, err := parseMessage(with(t, full, "a field of a later version", `{"x":1}`)); err != nil {
			t.Errorf("%s with a new field: %v", m.Type(), err)
		}
	}
}

func TestParseMessageErrors(t *testing.T) {
	const ts = `"ts":"2025-01-15T10:30:01.000Z"`
	for frame, code := range map[string]Code{
		``: CodeParse, `[]`: CodeParse, `null`: CodeParse, `"pong"`: CodeParse, `{`: CodeParse,
		`{}`: CodeValidation, `{"type":1}`: CodeValidation, `{"type":"pong"}`: CodeValidation,
		`{"type":"ping",` + ts + `}`:                       CodeInvalidMessage,
		`{"type":"pong","ts":null}`:                        CodeValidation,
		`{"type":"pong","ts":1736937001}`:                  CodeValidation,
		`{"type":"pong","ts":""}`:                          CodeValidation,
		`{"type":"pong","ts":"2025-01-15"}`:                CodeValidation,
		`{"type":"pong","ts":"2025-01-15T10:30:01"}`:       CodeValidation,
		`{"type":"pong","ts":"2025-01-15T10:30:01.000"}`:   CodeValidation,
		`{"type":"pong","ts":"2025-01-15 10:30:01Z"}`:      CodeValidation,
		`{"type":"pong","ts":"2025-13-15T10:30:01Z"}`:      CodeValidation,
		`{"type":"pong","ts":"0000-01-01T00:00:00+23:00"}`: CodeValidation,
		`{"type":"pong","ts":"0001-01-01T00:00:00Z"}`:      CodeValidation,
		`{"type":"gap","runId":5,"seq":1,` + ts + `}`:      CodeValidation,
		`{"type":"gap","runId":"r","seq":"1",` + ts + `}`:  CodeValidation,
		`{"type":"agent_streaming","runId":"r","agentName":"a",` + ts + `,"event":{"type":"text","text":5}}`: CodeValidation,
		`{"type":"agent_streaming","runId":"r","agentName":"a",` + ts + `,"event":7}`:                        CodeValidation,
		`{"type":"agent_streaming","runId":"r","agentName":"a",` + ts + `,"event":{"type":"new"}}`:           CodeInvalidMessage,
	} {
		_, err := parseMessage([]byte(frame))
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != code {
			t.Errorf("%s: %v", frame, err)
		}
	}
	for _, ts := range []string{"2025-01-15T10:30:01Z", "2025-01-15T12:30:01.000+02:00", "2025-01-15T10:30:01.000000000Z"} {
		m, err := parseMessage([]byte(`{"type":"pong","ts":"` + ts + `"}`))
		if err != nil || !m.Common().TS.Equal(noon) {
			t.Errorf("%s: %v, %v", ts, m, err)
		}
	}
}

func TestEncode(t *testing.T) {
	zone := time.FixedZone("", 3600)
	for at, want := range map[time.Time]string{
		time.Date(2025, 1, 15, 11, 30, 1, 999999, zone): "2025-01-15T10:30:01.000Z",
		time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC):       "0001-01-01T00:00:00.000Z",
		time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC):    "9999-12-31T23:59:59.999Z",
	} {
		if got := string(Encode(&Pong{Envelope{TS: Time{at}}})); got != `{"type":"pong","ts":"`+want+`"}` {
			t.Errorf("%s is written as %s", at, got)
		}
	}
	bad := &RunPrepared{Envelope: reply, FlowTree: Raw("{")}
	if got := string(Encode(bad)); !strings.Contains(got, `"type":"error"`) || !strings.Contains(got, `"requestId":"r1","code":"INTERNAL_ERROR"`) {
		t.Errorf("invalid raw JSON gives %s", got)
	}
	if got := string(Encode(&AgentStreaming{RunPosition: place})); !strings.Contains(got, "INTERNAL_ERROR") {
		t.Errorf("no event gives %s", got)
	}
	if got := string(Encode(&SteerQueued{RunPosition: place, Text: "<a> & \xff\u202e"})); !strings.Contains(got, "\"<a> & \\ufffd\u202e\"") {
		t.Errorf("texts are written as %s", got)
	}
}
