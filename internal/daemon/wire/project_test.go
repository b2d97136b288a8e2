package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func source(t testing.TB, kind session.Kind, payload any) Source {
	t.Helper()
	b, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return Source{Record: session.Record{Seq: 7, Kind: kind, Time: noon, Payload: b}}
}

func item(t testing.TB, it transcript.Item) Source {
	t.Helper()
	return source(t, session.KindItem, session.ItemDraft(it.MustEncode(), false, nil).Payload)
}

func events(t testing.TB, e RunEvent) Source { return source(t, record.KindRunEvent, e) }

const head = `"ts":"2025-01-15T10:30:01.000Z",`

// TestProject checks the messages of each kind of record.
func TestProject(t *testing.T) {
	exit := 1
	usage := &transcript.Usage{Input: 10, CacheRead: 90, CacheWrite: 20, Output: 30, Reasoning: 5}
	const tokens = `{"promptTokens":120,"completionTokens":30,"cacheReadTokens":90,"cacheWriteTokens":20,"reasoningTokens":5}`
	const none = `{"promptTokens":0,"completionTokens":0}`
	for name, tt := range map[string]struct {
		source Source
		want   []string
	}{
		"started": {
			events(t, RunEvent{Event: RunStarted, Status: api.StatusRunning, Segment: 2, By: "ann", Via: "cli", RequestID: "q", Resumed: true, Input: "go", Strategy: &StrategyInfo{
				Name: "s", Path: "/s.yaml", Agents: []string{"writer"}, Flow: Raw(`{"type":"sequence"}`), Source: Raw(`{"secret":1}`), Cwd: "/w", Model: "m", Mode: "plan",
			}}),
			[]string{`{"type":"strategy_started",` + head + `"requestId":"q","runId":"run-1","seq":9,"strategyName":"s","strategyPath":"/s.yaml","agents":["writer"],` +
				`"flowTree":{"type":"sequence"},"cwd":"/w","model":"m","mode":"plan","segment":2,"resumed":true,"input":"go","by":"ann","via":"cli"}`},
		},
		"started without a strategy": {
			events(t, RunEvent{Event: RunStarted}),
			[]string{`{"type":"strategy_started",` + head + `"runId":"run-1","seq":9,"strategyName":"","agents":[],"flowTree":null}`},
		},
		"step started": {
			events(t, RunEvent{Event: RunStepStarted, Step: "1.r2.writer", StepName: "draft", Agent: "writer", Input: "go", Segment: 1}),
			[]string{`{"type":"step_started",` + head + `"runId":"run-1","seq":9,"stepName":"draft","message":"go","agentName":"writer","step":"1.r2.writer","segment":1}`},
		},
		"step completed": {
			events(t, RunEvent{Event: RunStepCompleted, Step: "1", StepName: "draft", Text: "done", Usage: usage, Cost: 0.5, Finish: "completed"}),
			[]string{`{"type":"step_completed",` + head + `"runId":"run-1","seq":9,"stepName":"draft","result":{"text":"done","usage":` + tokens +
				`,"finishReason":"completed"},"agentName":"agent","step":"1","costUsd":0.5}`},
		},
		"step failed": {
			events(t, RunEvent{Event: RunStepFailed, StepName: "draft", Message: "no model"}),
			[]string{`{"type":"step_failed",` + head + `"runId":"run-1","seq":9,"stepName":"draft","agentName":"agent","error":{"code":"EXECUTION_ERROR","message":"no model"}}`},
		},
		"input asked": {
			events(t, RunEvent{Event: RunInputAsked, Agent: "person", InputID: "in-1", Text: "which?"}),
			[]string{`{"type":"request_input",` + head + `"runId":"run-1","seq":9,"agentName":"person","prompt":"which?","inputRequestId":"in-1"}`},
		},
		"input given": {
			events(t, RunEvent{Event: RunInputGiven, Agent: "person", InputID: "in-1", Text: "", By: "ann", Via: "http"}),
			[]string{`{"type":"input_received",` + head + `"runId":"run-1","seq":9,"agentName":"person","inputRequestId":"in-1","text":"","by":"ann","via":"http"}`},
		},
		"steered": {
			events(t, RunEvent{Event: RunSteered, Text: "t", RequestID: "q"}),
			[]string{`{"type":"steer_queued",` + head + `"requestId":"q","runId":"run-1","seq":9,"text":"t"}`},
		},
		"policy": {
			events(t, RunEvent{Event: RunPolicy, By: "ann", RequestID: "q", Chains: []policy.Chain{
				{Tool: "Read", Version: 3, Mode: "plan", Links: []policy.ChainLink{{Name: "forbidden-globs", Stage: "limits", Detail: "d", Rule: &policy.Origin{Rule: "r"}}}},
				{Tool: "Write", Version: 3, Mode: "plan"},
			}}),
			[]string{
				`{"type":"policy_updated",` + head + `"requestId":"q","runId":"run-1","seq":9,"more":true,"tool":"Read","policies":[{"name":"forbidden-globs","stage":"limits","detail":"d","rule":{"rule":"r"}}],"version":3,"mode":"plan","by":"ann"}`,
				`{"type":"policy_updated",` + head + `"requestId":"q","runId":"run-1","seq":9,"tool":"Write","policies":[],"version":3,"mode":"plan","by":"ann"}`,
			},
		},
		"policy without guards": {
			events(t, RunEvent{Event: RunPolicy}),
			[]string{`{"type":"policy_updated",` + head + `"runId":"run-1","seq":9,"tool":"","policies":[],"version":0}`},
		},
		"completed": {
			events(t, RunEvent{Event: RunCompleted, Status: api.StatusCompleted, Segment: 1, Text: "done", Usage: usage, RequestID: "q"}),
			[]string{`{"type":"strategy_completed",` + head + `"requestId":"q","runId":"run-1","seq":9,"result":"done","usage":` + tokens + `,"segment":1}`},
		},
		"failed": {
			events(t, RunEvent{Event: RunFailed, Code: CodeInternal, Message: "m"}),
			[]string{`{"type":"strategy_error",` + head + `"runId":"run-1","seq":9,"error":{"code":"INTERNAL_ERROR","message":"m"}}`},
		},
		"cancelled": {
			events(t, RunEvent{Event: RunCancelled, By: "ann", Via: "console"}),
			[]string{`{"type":"strategy_error",` + head + `"runId":"run-1","seq":9,"error":{"code":"CANCELLED","message":""},"by":"ann","via":"console"}`},
		},
		"interrupted": {
			events(t, RunEvent{Event: RunInterrupted}),
			[]string{`{"type":"strategy_error",` + head + `"runId":"run-1","seq":9,"error":{"code":"INTERRUPTED","message":""}}`},
		},
		"relayed":             {events(t, RunEvent{Event: RunRelayed, Session: "run-1.a", From: 1, To: 2}), nil},
		"of a later version":  {events(t, RunEvent{Event: "new"}), nil},
		"a run.event erased":  {Source{Record: session.Record{Kind: record.KindRunEvent, Time: noon}}, nil},
		"a record of no kind": {Source{Record: session.Record{Kind: "x", Payload: Raw(`{}`)}}, nil},
		"a user's text": {
			item(t, transcript.Item{ID: "i1", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "go"}, transcript.Media{MIME: "image/png", Data: []byte("123")}}}),
			[]string{`{"type":"agent_input",` + head + `"runId":"run-1","seq":9,"agentName":"agent","text":"go\n[image/png: 3 bytes]","role":"user","itemId":"i1"}`},
		},
		"a notification": {
			item(t, transcript.Item{ID: "i1", Role: transcript.RoleNotification, Parts: []transcript.Part{transcript.Text{Text: "changed"}}}),
			[]string{`{"type":"agent_input",` + head + `"runId":"run-1","seq":9,"agentName":"agent","text":"changed","role":"notification","itemId":"i1"}`},
		},
		"a system prompt": {item(t, transcript.Item{ID: "i1", Role: transcript.RoleSystem, Parts: []transcript.Part{transcript.Text{Text: "be good"}}}), nil},
		"a queued text": {
			source(t, session.KindItem, session.ItemDraft(transcript.UserText("later").MustEncode(), true, nil).Payload), nil,
		},
		"an answer": {
			item(t, transcript.Item{
				ID: "i2", Role: transcript.RoleAssistant, Model: "m", Finish: transcript.FinishToolUse, Usage: usage, Parts: []transcript.Part{
					transcript.Thinking{Text: "hm"},
					transcript.Text{Text: "I look."},
					transcript.ToolUse{ID: "c1", Name: "Bash", Input: Raw(`{"command":"ls"}`)},
					transcript.ToolUse{ID: "c2", Name: "Read", Input: Raw(`{}`)},
				},
			}),
			[]string{
				`{"type":"agent_streaming",` + head + `"runId":"run-1","seq":9,"more":true,"agentName":"agent","event":{"type":"tool-call","toolCallId":"c1","toolName":"Bash","args":"{\"command\":\"ls\"}"}}`,
				`{"type":"agent_streaming",` + head + `"runId":"run-1","seq":9,"more":true,"agentName":"agent","event":{"type":"tool-call","toolCallId":"c2","toolName":"Read","args":"{}"}}`,
				`{"type":"agent_output",` + head + `"runId":"run-1","seq":9,"agentName":"agent","model":"m","text":"I look.","thinking":"hm","usage":` + tokens + `,"itemId":"i2","finishReason":"tool_use"}`,
			},
		},
		"an answer without anything": {
			item(t, transcript.Item{ID: "i2", Role: transcript.RoleAssistant}),
			[]string{`{"type":"agent_output",` + head + `"runId":"run-1","seq":9,"agentName":"agent","text":"","usage":` + none + `,"itemId":"i2"}`},
		},
		"results": {
			item(t, transcript.Item{ID: "i3", Role: transcript.RoleTool, Parts: []transcript.Part{
				transcript.ToolResult{UseID: "c1", Content: []transcript.Part{transcript.Text{Text: "a"}, transcript.Structured{Value: Raw(`{"n":1}`)}, transcript.File{Name: "f.pdf", URI: "file:///f"}}},
				transcript.ToolResult{UseID: "c2", IsError: true, Content: []transcript.Part{transcript.Text{Text: "no"}}},
			}}),
			[]string{
				`{"type":"agent_streaming",` + head + `"runId":"run-1","seq":9,"more":true,"agentName":"agent","event":{"type":"tool-result","toolCallId":"c1","output":"a\n{\"n\":1}\n[f.pdf: file:///f]","status":"completed"}}`,
				`{"type":"agent_streaming",` + head + `"runId":"run-1","seq":9,"agentName":"agent","event":{"type":"tool-result","toolCallId":"c2","output":"no","status":"error","error":"no"}}`,
			},
		},
		"a tool starts": {
			source(t, record.KindToolStarted, record.ToolStarted{Use: "c1", Tool: "Bash"}),
			[]string{`{"type":"agent_streaming",` + head + `"runId":"run-1","seq":9,"agentName":"agent","event":{"type":"tool-start","toolCallId":"c1","toolName":"Bash"}}`},
		},
		"a tool ends": {
			source(t, record.KindToolFinished, record.ToolFinished{Use: "c1", Tool: "Bash", IsError: true, Millis: 12, ExitCode: &exit, Changes: []record.FileChange{{Path: "/a", Before: "absent", After: "0"}}}),
			[]string{`{"type":"agent_streaming",` + head + `"runId":"run-1","seq":9,"agentName":"agent","event":{"type":"tool-finish","toolCallId":"c1","toolName":"Bash","status":"error","durationMs":12,"exitCode":1,"changes":[{"path":"/a","before":"absent","after":"0"}]}}`},
		},
		"unknown end of a tool": {
			source(t, record.KindToolFinished, record.ToolFinished{Use: "c1", Tool: "Bash", IsError: true, Outcome: record.OutcomeUnknown}),
			[]string{`{"type":"agent_streaming",` + head + `"runId":"run-1","seq":9,"agentName":"agent","event":{"type":"tool-finish","toolCallId":"c1","toolName":"Bash","status":"unknown","durationMs":0}}`},
		},
		"a compaction": {
			source(t, record.KindRewrite, session.Rewrite{Reason: "compaction", By: "auto", Messages: 3, Items: []json.RawMessage{Raw(`{}`)}}),
			[]string{`{"type":"agent_streaming",` + head + `"runId":"run-1","seq":9,"agentName":"agent","event":{"type":"retention","event":{"kind":"compaction","by":"auto","recordsRetained":3}}}`},
		},
		"an answer of a person": {
			source(t, record.KindApprovalResolved, approval.Answer{RequestID: "p1", Decision: approval.DenySession, Scope: "Bash", Message: "no", Stop: true, Actor: "ann", Via: "console", At: noon}),
			[]string{`{"type":"permission_resolved",` + head + `"runId":"run-1","seq":9,"permissionRequestId":"p1","decision":"deny-session","by":"ann","via":"console","scope":"Bash","reason":"no","stop":true,"agentName":"agent"}`},
		},
		"an answer to a sub-agent, in the log of its run": {
			source(t, record.KindApprovalResolved, approval.Answer{RequestID: "p1", Decision: approval.Allow, Actor: "ann", At: noon, Agent: "scout", Asker: "s-2"}),
			[]string{`{"type":"permission_resolved",` + head + `"runId":"run-1","seq":9,"permissionRequestId":"p1","decision":"allow","by":"ann","sessionId":"s-2","agentName":"scout"}`},
		},
		"opened": {source(t, record.KindOpened, session.Opened{}), nil},
		"turn":   {source(t, record.KindTurnOpened, record.TurnOpened{Turn: "t"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Project("run-1", 9, tt.source)
			if len(got) != len(tt.want) {
				t.Fatalf("%d frames, want %d: %s", len(got), len(tt.want), got)
			}
			daemon := schemaOf(t, "daemon")
			for i := range got {
				if string(got[i]) != tt.want[i] {
					t.Errorf("got  %s\nwant %s", got[i], tt.want[i])
				}
				if err := valid(t, daemon, got[i]); err != nil {
					t.Errorf("%s: %v", got[i], err)
				}
			}
		})
	}
}

// Relayed records have the seq of the relay, and their own time and agent.
func TestProjectRelayed(t *testing.T) {
	a := item(t, transcript.Item{ID: "i1", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "go"}}})
	a.Agent, a.Session = "writer", "run-1.writer"
	opened := source(t, record.KindOpened, session.Opened{})
	b := source(t, record.KindApprovalAsked, approval.Request{ID: "p1", Session: "run-1.writer", Agent: "sub", Use: "c1", Tool: "Bash", AskedAt: noon})
	b.Agent, b.Session, b.Time = "writer", "run-1.writer", noon.Add(time.Second)
	got := Project("run-1", 42, a, opened, b, opened)
	want := []string{
		`{"type":"agent_input",` + head + `"runId":"run-1","seq":42,"more":true,"agentName":"writer","text":"go","role":"user","itemId":"i1"}`,
		`{"type":"request_permission","ts":"2025-01-15T10:30:02.000Z","requestId":"p1","runId":"run-1","seq":42,"permissionRequestId":"p1","agentName":"writer","toolName":"Bash",` +
			`"toolCallId":"c1","operation":"","resource":"Bash","reason":"policy-ask","digest":"","sessionId":"run-1.writer"}`,
	}
	if len(got) != 2 || string(got[0]) != want[0] || string(got[1]) != want[1] {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := Project("run-1", 42); len(got) != 0 {
		t.Errorf("no records give %s", got)
	}
}

// A text longer than MaxText is cut between characters, and the cut is reported.
func TestProjectCuts(t *testing.T) {
	long := strings.Repeat("ä", MaxText/2) + "ä"
	got := Project("run-1", 9, item(t, transcript.UserText(long)))
	m, err := parseMessage(got[0])
	in, ok := m.(*AgentInput)
	if err != nil || !ok || len(in.Text) != MaxText || in.Cut == nil || in.Cut.Bytes != MaxText+2 || len(in.Cut.SHA256) != 64 {
		t.Errorf("%v: %d bytes, %+v", err, len(in.Text), in.Cut)
	}
	if s, c := cut("aä", 2); s != "a" || c.Bytes != 3 {
		t.Errorf("cut in a character: %q %+v", s, c)
	}
}
