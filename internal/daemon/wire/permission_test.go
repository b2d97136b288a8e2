package wire

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
)

// approvalRequest returns an approval request about the requests of a call.
func approvalRequest(requests ...policy.Request) approval.Request {
	expires := noon.Add(5 * time.Minute)
	return approval.Request{ID: "perm-uuid-1234", Cwd: "/projects/app", Home: "/home/ann", AskedAt: noon, Expires: &expires}.ForRequests(requests, policy.Decision{
		Use: "c1", Tool: "write_file", Effect: policy.Ask, By: "rules", Reason: "rule Edit asks", Mode: policy.ModeDefault, Agent: "writer",
		Rule: &policy.Origin{Rule: "Edit", File: "/w/.holdfast/settings.json", Line: 3},
	})
}

func permissionFrame(t *testing.T, q approval.Request) (*RequestPermission, []byte) {
	t.Helper()
	frames := Project("run_abc123", 9, source(t, record.KindApprovalAsked, q))
	if len(frames) != 1 {
		t.Fatalf("%d frames", len(frames))
	}
	m, err := parseMessage(frames[0])
	p, ok := m.(*RequestPermission)
	if err != nil || !ok {
		t.Fatalf("%s: %v", frames[0], err)
	}
	if err := valid(t, schemaOf(t, "daemon"), frames[0]); err != nil {
		t.Errorf("%s: %v", frames[0], err)
	}
	return p, frames[0]
}

func TestPermission(t *testing.T) {
	q := approvalRequest(policy.Request{
		Session: "run_abc123", Tool: "write_file", Operation: policy.OpWrite, Resource: "/projects/app/src/index.ts",
		Display: "--- a\n+++ b", Input: Raw(`{"path":"src/index.ts"}`), Base: "absent",
	})
	p, frame := permissionFrame(t, q)
	for _, part := range []string{
		`"type":"request_permission"`, `"requestId":"perm-uuid-1234"`, `"permissionRequestId":"perm-uuid-1234"`, `"runId":"run_abc123"`,
		`"operation":"fs.write"`, `"resource":"/projects/app/src/index.ts"`, `"reason":"policy-ask"`, `"why":"rule Edit asks"`, `"toolCallId":"c1"`,
		`"expiresAt":"2025-01-15T10:35:01.000Z"`, `"sandbox":"none"`, `"cwd":"/projects/app"`, `"mode":"default"`, `"digest":"` + q.Digest + `"`,
		`"rule":{"rule":"Edit","file":"/w/.holdfast/settings.json","line":3}`, `"scopes":[{`,
		`"details":{"shown":"--- a\n+++ b","input":{"path":"src/index.ts"}}`,
	} {
		if !strings.Contains(string(frame), part) {
			t.Errorf("%s lacks %s", frame, part)
		}
	}
	if p.SessionID != "" || p.Cut != nil || p.Details.Total != 0 {
		t.Errorf("it has %+v", p)
	}
	// The snapshot of a pending request differs only in pending.
	snapshot := Permission("run_abc123", "", &q)
	snapshot.Seq, snapshot.AgentName = 9, DefaultAgent
	if string(Encode(snapshot)) != string(frame) {
		t.Errorf("the snapshot is %s\ninstead of %s", Encode(snapshot), frame)
	}
}

// The details are limited in size, whatever is requested, and describe what was cut.
func TestPermissionLimits(t *testing.T) {
	big := strings.Repeat("x", 5<<20)
	input, _ := json.Marshal(map[string]string{"content": big})
	p, frame := permissionFrame(t, approval.Request{ID: "p", Requests: []policy.Request{
		{Operation: policy.OpCommand, Resource: big, Display: big, Input: input},
	}})
	if len(frame) > 3*MaxDetails || p.Cut.Bytes != len(big) || p.Details.ShownCut.Bytes != len(big) || p.Details.Input != nil || p.Details.InputCut.Bytes != len(input) {
		t.Errorf("%d bytes, %+v", len(frame), p.Details)
	}
	many := make([]policy.Request, 1000)
	for i := range many {
		many[i] = policy.Request{Operation: policy.OpRead, Resource: "/" + strings.Repeat(strconv.Itoa(i), 1000), Display: big[:5000]}
	}
	p, frame = permissionFrame(t, approval.Request{ID: "p", Requests: many})
	if len(frame) > 4*MaxDetails || p.Details.Total != 1000 || len(p.Details.Requests) != maxRequests || p.Details.Requests[maxRequests-1].Cut == nil {
		t.Errorf("%d bytes, %d of %d are listed", len(frame), len(p.Details.Requests), p.Details.Total)
	}
	p, _ = permissionFrame(t, approval.Request{ID: "p", Tool: "TodoWrite", Requests: []policy.Request{{Tool: "TodoWrite"}}})
	if p.Details != nil || p.Operation != "" {
		t.Errorf("a call without a resource has %+v", p)
	}
}

func TestInputRequest(t *testing.T) {
	m := InputRequest("run-1", api.WaitingInput{InputRequestID: "in-1", AgentName: "person", Prompt: "which?", AskedAt: noon})
	m.Seq = 9
	want := Project("run-1", 9, events(t, RunEvent{Event: RunInputAsked, Agent: "person", InputID: "in-1", Text: "which?"}))
	if string(Encode(m)) != string(want[0]) {
		t.Errorf("%s\ninstead of %s", Encode(m), want[0])
	}
}

// TestCorpus runs the cases that depend on messages only; package daemon tests how the daemon
// handles them.
func TestCorpus(t *testing.T) {
	mine := []string{
		"cd-perm-001", "cd-perm-004", "cd-perm-010", "cd-perm-013", "cd-perm-015", "cd-perm-018",
		"cd-srv-005", "cd-srv-021", "cd-srv-023", "cd-srv-024", "cd-srv-027", "cd-upd-008", "cd-upd-009",
	}
	cases := slices.DeleteFunc(corpus.Area(t, "agentkit-commaagents-parachute.json", "server", "permission-wire", "update-policy"), func(c corpus.Case) bool {
		return !slices.Contains(mine, c.ID)
	})
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){
		"cd-perm-001": checkPermission, "cd-perm-004": corpus.Test(`{"given": {"pending":"none"}, "when": ["permission_decision {runId run_abc123, permissionRequestId perm-uuid-1234, requestId q7}"], "expect": {"reply":{"type":"error","code":"NO_PENDING_PERMISSION","message":"No pending permission request perm-uuid-1234 for run run_abc123","requestId":"q7"}}}`, noPending), "cd-perm-010": checkRejected, "cd-perm-013": corpus.Test(`{"given": {"clients":"A and B both subscribed"}, "when": ["A decides P1"], "expect": {"B receives":"permission resolved event with decision and who"}}`, resolvedForOthers), "cd-perm-015": corpus.Test(`{"given": {"session rule":"deny a.txt","tool":"asks a one-time override"}, "when": ["raise"], "expect": {"message.reason":"policy-deny-override","allow":"one time only, rule stays"}}`, overrides),
		"cd-perm-018": corpus.Test(`{"given": {"details":"content about to be written, 5 MB"}, "when": ["broadcast"], "expect": {"details":"capped, with sha256 and size; secrets masked"}}`, capped), "cd-srv-005": pingPong, "cd-srv-021": checkRejected, "cd-srv-023": parsed, "cd-srv-024": corpus.Test(`{"given": {"state":"start_run with requestId r"}, "when": ["run"], "expect": {"echoed in":["strategy_started","strategy_completed"]}}`, echoed), "cd-srv-027": corpus.Test(`{"given": {"steer_run":"running run, text t"}, "when": ["send"], "expect": {"event":{"type":"steer_queued","text":"t"},"next agent call input":"ends with a user_steering block holding t"}}`, steered),
		"cd-upd-008": checkRejected, "cd-upd-009": corpus.Test(`{"given": {"state":"two update_policy in a row"}, "when": ["read the events"], "expect": {"version":"increases, each event carries the full chain and version"}}`, versions),
	}, nil)
}

var (
	askedFor = regexp.MustCompile(`asks for (\S+) (\S+) by agent (\S+) tool (\S+)`)
	size     = regexp.MustCompile(`(\d+) ?([KM])B`)
)

func fields(t *testing.T, c corpus.Case, raw json.RawMessage) map[string]any {
	t.Helper()
	var m map[string]any
	c.Decode(t, raw, &m)
	return m
}

// checkPermission compares the message of an approval request with the case, field by field.
func checkPermission(t *testing.T, c corpus.Case) {
	given := askedFor.FindStringSubmatch(string(c.Setup()))
	if given == nil {
		t.Fatalf("no request in %s", c.Setup())
	}
	q := approval.Request{ID: "perm-uuid-1234", AskedAt: noon}.ForRequests([]policy.Request{{Session: "run_abc123", Agent: given[3], Tool: given[4], Operation: policy.Operation(given[1]), Resource: strings.Trim(given[2], `"}`)}},
		policy.Decision{Tool: strings.Trim(given[4], `"}`), Effect: policy.Ask})
	want := fields(t, c, c.Expect())["message"].(map[string]any)
	run, _ := want["runId"].(string)
	s := source(t, record.KindApprovalAsked, q)
	s.Agent = given[3]
	var got map[string]any
	c.Decode(t, Project(run, 9, s)[0], &got)
	for key, value := range want {
		switch {
		case value == "<unique>":
			if got[key] == "" || got[key] == nil {
				t.Errorf("%s is missing", key)
			}
		case strings.HasPrefix(fmt.Sprint(value), "ISO-8601"):
			if at, err := time.Parse(time.RFC3339, fmt.Sprint(got[key])); err != nil || !at.Equal(noon) {
				t.Errorf("%s is %v", key, got[key])
			}
		case got[key] != value:
			t.Errorf("%s is %v, want %v", key, got[key], value)
		}
	}
}

func noPending(t *testing.T, c corpus.Case) {
	want := fields(t, c, c.Expect())["reply"].(map[string]any)
	e := NoPendingPermission("run_abc123", "perm-uuid-1234")
	e.RequestID, e.TS = "q7", Time{noon}
	var got map[string]any
	c.Decode(t, Encode(e), &got)
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s is %v, want %v", key, got[key], value)
		}
	}
}

// checkRejected sends the message that the case describes: a type with the given fields.
func checkRejected(t *testing.T, c corpus.Case) {
	given := fields(t, c, c.Setup())
	message := map[string]any{"requestId": "q1"}
	var when []string
	c.Decode(t, c.Action(), &when)
	message["type"] = when[0]
	if fields, ok := given["prepare_run"]; ok {
		message["type"], given = "prepare_run", fields.(map[string]any)
	}
	if message["type"] != "prepare_run" {
		message["runId"] = "run-1"
	}
	if message["type"] == "permission_decision" {
		message["permissionRequestId"] = "P1"
	}
	for key, value := range given {
		if key == "message" {
			continue
		}
		message[key] = value
	}
	b, _ := json.Marshal(message)
	_, e := Decode(b)
	if e == nil || !strings.Contains(string(c.Expect()), string(e.Code)) || e.RequestID != "q1" {
		t.Errorf("%s gives %+v, want %s", b, e, c.Expect())
	}
}

func resolvedForOthers(t *testing.T, _ corpus.Case) {
	got := Project("run-1", 9, source(t, record.KindApprovalResolved, approval.Answer{RequestID: "P1", Decision: approval.Allow, Actor: "ann", Via: "websocket"}))
	if len(got) != 1 || !strings.Contains(string(got[0]), `"permissionRequestId":"P1","decision":"allow","by":"ann","via":"websocket"`) {
		t.Errorf("other clients receive %s", got)
	}
}

func overrides(t *testing.T, c corpus.Case) {
	q := approvalRequest(policy.Request{Tool: "write_file", Operation: policy.OpWrite, Resource: "/a.txt", Override: true})
	q.Reason = record.ReasonOverride
	if p, _ := permissionFrame(t, q); p.Reason != fields(t, c, c.Expect())["message.reason"] {
		t.Errorf("the reason is %s", p.Reason)
	}
}

func capped(t *testing.T, c corpus.Case) {
	m := size.FindStringSubmatch(string(c.Setup()))
	n, _ := strconv.Atoi(m[1])
	n <<= map[string]int{"K": 10, "M": 20}[m[2]]
	input, _ := json.Marshal(map[string]string{"content": strings.Repeat("y", n)})
	p, frame := permissionFrame(t, approvalRequest(policy.Request{Tool: "write_file", Operation: policy.OpWrite, Resource: "/a", Display: strings.Repeat("+ y\n", n/4), Input: input}))
	if len(frame) > 4*MaxDetails || p.Details.InputCut.Bytes != len(input) || len(p.Details.InputCut.SHA256) != 64 {
		t.Errorf("%d bytes, %+v", len(frame), p.Details.InputCut)
	}
	if !strings.Contains(p.Details.Display, "bytes are shown, sha256 of all") && p.Details.ShownCut == nil {
		t.Error("the cut of the shown text is not reported")
	}
}

func pingPong(t *testing.T, c corpus.Case) {
	given, _ := json.Marshal(fields(t, c, c.Setup())["frame"])
	r, e := Decode(given)
	if e != nil {
		t.Fatal(e)
	}
	var got map[string]any
	c.Decode(t, Encode(&Pong{Envelope{TS: Time{noon}, RequestID: r.Correlation()}}), &got)
	for key, value := range fields(t, c, c.Expect())["reply"].(map[string]any) {
		if key != "ts" && got[key] != value {
			t.Errorf("%s is %v, want %v", key, got[key], value)
		}
	}
}

// parsed parses a daemon's message with the case's ts.
func parsed(t *testing.T, c corpus.Case) {
	ts, _, _ := strings.Cut(fields(t, c, c.Setup())["ts"].(string), " (")
	_, err := parseMessage(fmt.Appendf(nil, `{"type":"pong","ts":%q}`, ts))
	if want := fields(t, c, c.Expect())["rejected"]; (err != nil) != want {
		t.Errorf("%s: %v", ts, err)
	}
}

func echoed(t *testing.T, c corpus.Case) {
	byType := map[string]RunEvent{"strategy_started": {Event: RunStarted}, "strategy_completed": {Event: RunCompleted}, "strategy_error": {Event: RunFailed}}
	for _, name := range fields(t, c, c.Expect())["echoed in"].([]any) {
		e := byType[name.(string)]
		e.RequestID = "r"
		m, err := parseMessage(Project("run-1", 9, events(t, e))[0])
		if err != nil || m.Type() != name || m.Common().RequestID != "r" {
			t.Errorf("%v: %+v, %v", name, m, err)
		}
	}
}

func steered(t *testing.T, c corpus.Case) {
	var got map[string]any
	c.Decode(t, Project("run-1", 9, events(t, RunEvent{Event: RunSteered, Text: "t"}))[0], &got)
	for key, value := range fields(t, c, c.Expect())["event"].(map[string]any) {
		if got[key] != value {
			t.Errorf("%s is %v, want %v", key, got[key], value)
		}
	}
}

func versions(t *testing.T, _ corpus.Case) {
	last := 0
	for version := 1; version <= 2; version++ {
		e := RunEvent{Event: RunPolicy, Chains: []policy.Chain{{Tool: "Read", Version: version, Links: []policy.ChainLink{{Name: "a"}, {Name: "b"}}}}}
		m, err := parseMessage(Project("run-1", 9, events(t, e))[0])
		p, ok := m.(*PolicyUpdated)
		if err != nil || !ok || p.Version <= last || len(p.Policies) != 2 {
			t.Fatalf("%+v, %v", m, err)
		}
		last = p.Version
	}
}
