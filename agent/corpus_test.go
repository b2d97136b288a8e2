package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// by makes a test of this package the check of a case.
func by(test func(*testing.T)) func(*testing.T, corpus.Case) {
	return func(t *testing.T, _ corpus.Case) { test(t) }
}

func TestCorpusOpenAgentSDK(t *testing.T) {
	const answerElsewhere = "covered by the session package, where it is decided"
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "agent_loop", "tool_executor"),
		map[string]func(*testing.T, corpus.Case){
			"agent_loop-001":    checkStatuses,
			"agent_loop-004":    checkStops,
			"agent_loop-005":    checkStops,
			"agent_loop-006":    checkStatuses,
			"agent_loop-011":    testCompactionThreshold,
			"agent_loop-013":    corpus.Test(`{"settings": {"history":"huge"}, "input": {"prompt":"new question"}, "expect": {"last_message":"new question"}}`, by(TestCompaction)),
			"agent_loop-015":    corpus.Test(`{"settings": {"fallbackModel":"m2"}, "input": {"primary":"fails","fallback":"tool_use"}, "expect": {"tool_executed":true}}`, by(TestFallbackModelContinues)),
			"agent_loop-016":    corpus.Test(`{"settings": {"stream":true}, "expect": {"first_delta_before_end":true}}`, by(testDeltasBeforeEnd)),
			"agent_loop-018":    corpus.Test(`{"input": {"cache_read":100000}, "expect": {"cost":"> 0"}}`, by(TestCostCountsCachedTokens)),
			"agent_loop-020":    corpus.Test(`{"input": {"op":["prompt","getMessages"]}, "expect": {"count_min":1}}`, by(testItemsAreExposed)),
			"tool_executor-001": checkRound,
			"tool_executor-002": checkRound,
			"tool_executor-009": corpus.Test(`{"input": {"calls":["Write f","Read f"]}, "expect": {"read":"new"}}`, by(TestWritesRunInOrder)),
			"tool_executor-011": corpus.Test(`{"settings": {"allowedTools":["Read"]}, "input": {"call":"Bash"}, "expect": {"is_error":true}}`, by(testOnlyOfferedToolsRun)),
		},
		map[string]string{
			"tool_executor-006": "model/anthropic: the shape of a result is the wire's",
			"tool_executor-012": "tool: inputs are checked there",
			"tool_executor-013": "MCP tools come with a later issue",
		})
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "session_restore"),
		map[string]func(*testing.T, corpus.Case){
			"session_restore-002": corpus.Test(`{"input": {"sessionId":"nope"}, "expect": {"request_messages":1,"status":"success"}}`, by(testUnknownSessionStartsFresh)),
			"session_restore-003": corpus.Test(`{"settings": {"session":["u","a"]}, "input": {"sessionId":"s"}, "expect": {"stored_messages":4}}`, by(TestContinueForkAndCut)),
			"session_restore-005": corpus.Test(`{"settings": {"session":["old question","old answer"]}, "input": {"stream":true,"reply":"new answer"}, "expect": {"result_text":"new answer"}}`, by(testResultTextIsOfThisRun)),
			"session_restore-006": corpus.Test(`{"settings": {"sessions":["A older","B newer"]}, "input": {"continueRecentSession":true}, "expect": {"restored":"B"}}`, by(TestContinueForkAndCut)),
			"session_restore-010": corpus.Test(`{"settings": {"sessions":["A"]}, "expect": {"request_messages":1}}`, by(testUnknownSessionStartsFresh)),
			"session_restore-011": corpus.Test(`{"settings": {"session":["u","a"]}, "input": {"sessionId":"s","forkSession":true}, "expect": {"source_messages":2,"request_messages_min":3}}`, by(TestContinueForkAndCut)),
			"session_restore-014": corpus.Test(`{"settings": {"session":["m1:uuid-1","m2:uuid-2","m3:target","m4","m5"]}, "input": {"resumeSessionAt":"target"}, "expect": {"request_messages":4}}`, by(TestContinueForkAndCut)),
			"session_restore-020": corpus.Test(`{"settings": {"session":1}, "input": {"persistSession":false}, "expect": {"stored_messages":1}}`, by(TestNoPersistWritesNothing)),
			"session_restore-025": corpus.Test(`{"settings": {"session":3}, "input": {"stream":true,"option":"fork"}, "expect": {"same_as_prompt":true}}`, by(testPromptAndRunRestoreSame)),
			"session_restore-026": corpus.Test(`{"settings": {"session":3}, "input": {"stream":true,"option":"resumeAt"}, "expect": {"same_as_prompt":true}}`, by(testPromptAndRunRestoreSame)),
			"session_restore-031": corpus.Test(`{"settings": {"sessionId":"s","forkSession":true}, "input": {"prompts":2}, "expect": {"forks":1,"second_sees_first":true}}`, by(TestContinueForkAndCut)),
			"session_restore-034": corpus.Test(`{"settings": {"stream":true}, "input": {"end":["error","cancel","budget","maxModelCalls"]}, "expect": {"saved":true}}`, by(TestEveryEndOfRunSaved)),
			"session_restore-035": corpus.Test(`{"input": {"end":"error"}, "expect": {"saved":true}}`, by(TestEveryEndOfRunSaved)),
			"session_restore-036": corpus.Test(`{"settings": {"session":"absent"}, "input": {"op":"close"}, "expect": {"stored_messages":0}}`, by(TestCloseMarker)),
			"session_restore-037": corpus.Test(`{"settings": {"session":3}, "input": {"op":"close"}, "expect": {"stored_messages":3}}`, by(TestCloseMarker)),
			"session_restore-038": corpus.Test(`{"input": {"op":["close","close","prompt"]}, "expect": ["ok","error: Agent is already closed.","status errorDuringExecution, errors ['Agent is already closed']"]}`, by(TestRecordsBeforeEffects)),
		},
		map[string]string{
			"session_restore-009": answerElsewhere, "session_restore-019": answerElsewhere,
			"session_restore-030": answerElsewhere, "session_restore-039": answerElsewhere,
		})
}

func TestCorpusAgentkit(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "loop", "persistence"),
		map[string]func(*testing.T, corpus.Case){
			"ak-loop-004":    corpus.Test(`{"given": {"pending approval":true}, "when": ["submit_input"], "expect": {"error":"invalid state"}}`, by(TestDriverSteps)),
			"ak-loop-011":    checkNoAnswer,
			"ak-loop-008":    corpus.Test(`{"given": {"cancel":"while background c1 runs"}, "when": ["c1 completes later"], "expect": {"terminal results for c1":1,"late body":"a notification item"}}`, by(TestInterruptKeepsBackgroundTasks)),
			"ak-loop-010":    corpus.Test(`{"given": {"state":"call c2 never started when the turn was cancelled"}, "when": ["later"], "expect": {"c2":"not tracked as detached work"}}`, by(TestInterruptKeepsBackgroundTasks)),
			"ak-loop-012":    checkNoAnswer,
			"ak-loop-013":    corpus.Test(`{"given": {"state":"tools added between turns"}, "when": ["next turn"], "expect": {"order":["catalog changed event","request carries the new specs"]}}`, by(TestToolsCanChangeBetweenTurns)),
			"ak-loop-016":    corpus.Test(`{"given": {"mutator points":"a turn with one tool round"}, "when": ["run"], "expect": {"points seen":["after_turn_ended at the new turn","after_tool_result at the continuation"]}}`, by(TestMutators)),
			"ak-persist-001": corpus.Test(`{"given": {"stored":[],"observer":"recording"}, "when": ["submit user 'hi'","model turn: assistant tool_call call-1","tool result for call-1","model turn: assistant text"], "expect": {"observed_kinds_in_order":["user","assistant","tool","assistant"],"observed_equals_snapshot":true}}`, by(TestTranscriptObserver)),
			"ak-persist-002": corpus.Test(`{"given": {"stored":["user a","assistant b"],"loaded_as":"initial transcript"}, "when": ["start","next"], "expect": {"step":"interrupt awaiting_input","observer_calls":0,"model_calls":0,"snapshot_transcript":["user a","assistant b"]}}`, by(testRestoredTranscriptAwaitsInput)),
			"ak-persist-005": corpus.Test(`{"given": {"item.created_at":null}, "when": ["append"], "expect": {"observer_sees_created_at":"set (ms epoch)","same_value_in_transcript":true}}`, by(TestTranscriptObserver)),
			"ak-persist-007": corpus.Test(`{"given": {"mutator":"only reads"}, "when": ["turn"], "expect": {"mutation_finished":{"dirty":false},"store_writes_for_mutation":0}}`, by(TestMutators)), // no event at all, which is stronger than dirty: false
			"ak-persist-008": corpus.Test(`{"given": {"mutator":"custom, does not emit MutationStarted/Finished"}, "when": ["mutator changes the transcript"], "expect": {"store_after":"equals transcript (the loop itself reports every change)"}}`, by(TestRewriteIsOneRecord)),
			"ak-persist-013": corpus.Test(`{"given": {"crash point":"after assistant item with tool_call c1 was stored, before its result"}, "when": ["restart","submit user 'go on'"], "expect": {"before_dispatch":"a tool result for c1 is present (error: interrupted / outcome unknown)","providers_never_see":"unanswered tool_use"}}`, by(TestResumeAfterCrash)),
			"ak-persist-015": corpus.Test(`{"given": {"state":"session resumed in a new process"}, "when": ["start first turn after resume"], "expect": {"turn_id":"never used before in this session"}}`, by(TestResumeAfterCrash)),
			"ak-persist-017": corpus.Test(`{"given": {"provider":"fails on turn start"}, "when": ["submit user x","next"], "expect": {"user item":"stored once","turn":"recorded as failed with the error","retry":"does not store user x a second time"}}`, by(TestFailedCallRetriedWithoutInput)),
		},
		map[string]string{
			"ak-loop-015":    "two tools of one name are an error when the registry is made (package tool)",
			"ak-persist-010": "session and sessiontest: two writers",
			"ak-persist-019": "transcript: round trip",
		})
}

func testCompactionThreshold(t *testing.T, given corpus.Case) {
	const window = 200_000
	var in struct{ Tokens string }
	var expect struct{ Compacted bool }
	given.Decode(t, given.Input(), &in)
	given.Decode(t, given.Expect(), &expect)
	var full int64
	if _, err := fmt.Sscanf(in.Tokens, ">=%d", &full); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tokens int64
		want   bool
	}{{full, expect.Compacted}, {window, expect.Compacted}, {full - 1000, !expect.Compacted}, {1000, !expect.Compacted}} {
		m := play(t, step{text: "1", usage: &transcript.Usage{Input: c.tokens}}, step{text: "the story"}, step{text: "2"})
		m.info.Context = window
		if !c.want {
			m.steps = m.steps[:2]
		}
		a := newAgent(t, m, agent.Options{Compact: agent.Compact{KeepTokens: 10}})
		prompt(t, a, "a")
		compacted := false
		for _, e := range events(t, a, strings.Repeat("x", 100)) {
			_, ok := e.(event.TranscriptRewritten)
			compacted = compacted || ok
		}
		if compacted != c.want {
			t.Errorf("%d of %d tokens: compacted %v, want %v", c.tokens, window, compacted, c.want)
		}
	}
}

func testDeltasBeforeEnd(t *testing.T) {
	seen := false
	var a *agent.Agent
	m := play(t, step{text: "early", during: func(context.Context) {
		if !seen {
			t.Error("the end came before the first delta was shown")
		}
	}})
	a = newAgent(t, m, agent.Options{})
	for e, err := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(event.TextDelta); ok {
			seen = true
		}
	}
}

func testItemsAreExposed(t *testing.T) {
	a := newAgent(t, play(t, step{text: "x"}), agent.Options{})
	prompt(t, a, "go")
	if n := len(a.Snapshot().Items); n < 1 {
		t.Errorf("%d items", n)
	}
}

func testOnlyOfferedToolsRun(t *testing.T) {
	ran := false
	bash := probe{name: "Bash", run: func(context.Context, *tool.Call) (tool.Result, error) {
		ran = true
		return tool.Text("x"), nil
	}}
	r := registry(t, hasContent("Read", "r"), bash).Select("Read")
	m := play(t, step{uses: []transcript.ToolUse{use("a", "Bash", `{}`)}}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{Tools: r})
	prompt(t, a, "go")
	it, _ := a.Snapshot().Items[2].Decode()
	if ran || !it.Parts[0].(transcript.ToolResult).IsError || len(m.asked[0].Tools) != 1 {
		t.Errorf("ran %v, offered %d tools", ran, len(m.asked[0].Tools))
	}
}

func testUnknownSessionStartsFresh(t *testing.T) {
	s := sessions(t)
	if err := s.Save(t.Context(), "A", []transcript.Item{transcript.UserText("u")}, nil); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"nope", ""} {
		m := play(t, step{text: "x"})
		a := newAgent(t, m, agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: id}})
		res := prompt(t, a, "hi")
		if len(m.asked[0].Messages) != 1 || res.Reason != event.ReasonCompleted || res.SessionID == "" {
			t.Errorf("%d messages, %+v", len(m.asked[0].Messages), res)
		}
		a.Close()
	}
}

func testResultTextIsOfThisRun(t *testing.T) {
	s := sessions(t)
	o := agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "s"}}
	a := newAgent(t, play(t, step{text: "old answer"}), o)
	prompt(t, a, "old question")
	a.Close()
	b := newAgent(t, play(t, step{text: "new answer"}), o)
	if res := last(t, events(t, b, "q")); res.Text != "new answer" {
		t.Errorf("result %q", res.Text)
	}
}

func testPromptAndRunRestoreSame(t *testing.T) {
	s := sessions(t)
	items := []transcript.Item{
		{ID: "m1", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "1"}}},
		{ID: "m2", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "2"}}},
		{ID: "m3", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "3"}}},
	}
	if err := s.Save(t.Context(), "s", items, nil); err != nil {
		t.Fatal(err)
	}
	var sent [][]string
	for _, run := range []func(*agent.Agent){
		func(a *agent.Agent) { prompt(t, a, "q") },
		func(a *agent.Agent) { events(t, a, "q") },
	} {
		m := play(t, step{text: "x"})
		a := newAgent(t, m, agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "s", Fork: true, ItemID: "m2"}})
		run(a)
		var texts []string
		for _, e := range m.items(&m.asked[0]) {
			texts = append(texts, e.Text())
		}
		sent = append(sent, texts)
		a.Close()
	}
	if d := cmp.Diff(sent[0], sent[1]); d != "" || len(sent[0]) != 3 {
		t.Errorf("prompt sent %v, run sent %v", sent[0], sent[1])
	}
}

func testRestoredTranscriptAwaitsInput(t *testing.T) {
	m := play(t)
	r := &recorder{}
	a := newAgent(t, m, agent.Options{TranscriptObservers: []agent.TranscriptObserver{r}, Transcript: []transcript.Item{
		transcript.UserText("a"), {Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "b"}}},
	}})
	step, err := a.Driver(nil).Next(t.Context())
	if err != nil || !step.AwaitingInput {
		t.Fatalf("%+v %v", step, err)
	}
	if len(r.seen) != 0 || len(m.asked) != 0 || len(a.Snapshot().Items) != 2 {
		t.Errorf("observed %d, asked %d, %d items", len(r.seen), len(m.asked), len(a.Snapshot().Items))
	}
}

func TestOneGoroutineAtATime(t *testing.T) {
	var a *agent.Agent
	m := play(t, step{text: "x", during: func(ctx context.Context) {
		if _, err := a.Prompt(ctx, "me too"); !errors.Is(err, agent.ErrRunning) {
			t.Errorf("a second run at the same time: %v", err)
		}
	}})
	a = newAgent(t, m, agent.Options{Clock: time.Now})
	prompt(t, a, "go")
	if _, err := agent.New(nil, nil); err == nil {
		t.Error("an agent without a model")
	}
	if _, err := agent.New(m, &agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: "yolo"}}}); err == nil {
		t.Error("an agent with an unknown mode")
	}
}
