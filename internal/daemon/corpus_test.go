package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
)

// checkConversation returns a check that runs a conversation.
func checkConversation(name string) func(*testing.T, corpus.Case) {
	return func(t *testing.T, _ corpus.Case) { converse(t, "testdata/conversations/"+name+".txtar") }
}

// checkTest returns a check that runs a test of this package.
func checkTest(test func(*testing.T)) func(*testing.T, corpus.Case) {
	return func(t *testing.T, _ corpus.Case) { test(t) }
}

func TestCorpus(t *testing.T) {
	cases := corpus.Area(t, "agentkit-commaagents-parachute.json", "server", "permission-wire", "update-policy", "run-lifecycle", "replay")
	corpus.Claim(t, cases,
		map[string]func(*testing.T, corpus.Case){
			"cd-perm-001": corpus.Test(`{"given": {"guard":"asks for fs.write /projects/app/src/index.ts by agent writer tool write_file"}, "when": ["broadcast"], "expect": {"message":{"type":"request_permission","runId":"run_abc123","requestId":"<unique>","agentName":"writer","toolName":"write_file","operation":"fs.write","resource":"/projects/app/src/index.ts","reason":"policy-ask","ts":"ISO-8601 with zone"}}}`, checkConversation("permission")),
			"cd-perm-002": corpus.Test(`{"given": {"pending":"P1"}, "when": ["permission_decision P1 allow"], "expect": {"reply":"none","tool":"continues","policy_updated":0}}`, checkConversation("permission")),
			"cd-perm-004": corpus.Test(`{"given": {"pending":"none"}, "when": ["permission_decision {runId run_abc123, permissionRequestId perm-uuid-1234, requestId q7}"], "expect": {"reply":{"type":"error","code":"NO_PENDING_PERMISSION","message":"No pending permission request perm-uuid-1234 for run run_abc123","requestId":"q7"}}}`, checkConversation("unknown_run")),
			"cd-perm-008": corpus.Test(`{"given": {"pending":"P1"}, "when": ["stop_run"], "expect": {"P1":"rejected (ask-aborted), later decision -> NO_PENDING_PERMISSION"}}`, checkConversation("stop")),
			"cd-perm-010": corpus.Test(`{"given": {"decision":"maybe"}, "when": ["permission_decision"], "expect": {"reply":"VALIDATION_ERROR","P1":"still pending"}}`, checkConversation("bad_frames")),
			"cd-perm-012": corpus.Test(`{"given": {"subscribers":"none, pending P1"}, "when": ["client subscribes later"], "expect": {"client receives":"P1 (replayed)"}}`, checkConversation("late_subscriber")),
			"cd-perm-013": corpus.Test(`{"given": {"clients":"A and B both subscribed"}, "when": ["A decides P1"], "expect": {"B receives":"permission resolved event with decision and who"}}`, checkConversation("two_clients")),
			"cd-perm-014": corpus.Test(`{"given": {"pending":"P1","timeout":"configured 5 min"}, "when": ["no answer"], "expect": {"outcome":"denied with reason timeout, event emitted, run continues with a tool error"}}`, checkConversation("timeout")),
			"cd-perm-015": corpus.Test(`{"given": {"session rule":"deny a.txt","tool":"asks a one-time override"}, "when": ["raise"], "expect": {"message.reason":"policy-deny-override","allow":"one time only, rule stays"}}`, checkConversation("override")),
			"cd-perm-018": corpus.Test(`{"given": {"details":"content about to be written, 5 MB"}, "when": ["broadcast"], "expect": {"details":"capped, with sha256 and size; secrets masked"}}`, checkTest(testDetailsAreCut)),

			"cd-run-002": corpus.Test(`{"given": {"state":"prepared, never started"}, "when": ["stop_run, list_runs"], "expect": {"persisted":false}}`, checkConversation("stop_prepared")),
			"cd-run-003": corpus.Test(`{"given": {"state":"run finished, history for agent a"}, "when": ["prepare with runId, continue_run 'more'"], "expect": {"agent a":"sees its earlier records","other names":"start empty"}}`, checkConversation("continue")),
			"cd-run-005": corpus.Test(`{"given": {"timeline":"run started, completed, started again, cancelled"}, "when": ["list_runs"], "expect": {"overview":"taken from the latest segment: cancelled"}}`, checkConversation("continue_stopped")),
			"cd-run-007": corpus.Test(`{"given": {"state":"compaction happened"}, "when": ["restore"], "expect": {"records":"superseded ones kept as tombstones, summary inserted at its place"}}`, checkConversation("compaction")),
			"cd-run-009": corpus.Test(`{"given": {"state":"user agent first in flow, start_run input 'go'"}, "when": ["start"], "expect": {"user agent":"uses 'go', does not ask again"}}`, checkConversation("user_input")),
			"cd-run-011": corpus.Test(`{"given": {"state":"cancel during a tool call"}, "when": ["stop_run"], "expect": {"tool":"aborted","status":"cancelled persisted"}}`, checkConversation("stop_tool")),

			"cd-srv-005": corpus.Test(`{"given": {"frame":{"type":"ping","requestId":"r1"}}, "when": ["send"], "expect": {"reply":{"type":"pong","requestId":"r1","ts":"ISO"}}}`, checkConversation("ping")),
			"cd-srv-006": corpus.Test(`{"given": {"http":"GET /health"}, "when": ["get"], "expect": {"status":200,"fields":["status","uptime","activeRuns","connectedClients"]}}`, checkTest(TestUpgradeRequired)),
			"cd-srv-007": corpus.Test(`{"given": {"http":"GET /ws without upgrade"}, "when": ["get"], "expect": {"status":400}}`, checkTest(TestUpgradeRequired)),
			"cd-srv-012": corpus.Test(`{"given": {"continue_run":"on a freshly prepared run"}, "when": ["send"], "expect": {"reply.code":"CONTINUE_FAILED"}}`, checkConversation("unknown_run")),
			"cd-srv-013": corpus.Test(`{"given": {"start_run":"unknown run"}, "when": ["send"], "expect": {"reply.code":"START_FAILED"}}`, checkConversation("unknown_run")),
			"cd-srv-015": corpus.Test(`{"given": {"stop_run":"unknown"}, "when": ["send"], "expect": {"daemon":"alive"}}`, checkConversation("unknown_run")),
			"cd-srv-016": corpus.Test(`{"given": {"user_input":"unknown run"}, "when": ["send"], "expect": {"reply.code":"NO_PENDING_INPUT"}}`, checkConversation("unknown_run")),
			"cd-srv-017": corpus.Test(`{"given": {"state":"A,B subscribed; A unsubscribes"}, "when": ["run events"], "expect": {"A":"none after","B":"all"}}`, checkConversation("unsubscribe")),
			"cd-srv-018": corpus.Test(`{"given": {"state":"starter disconnects, B subscribed"}, "when": ["run goes on"], "expect": {"B":"all events","run":"not cancelled"}}`, checkConversation("unsubscribe")),
			"cd-srv-019": corpus.Test(`{"given": {"state":"three prepare_run back to back"}, "when": ["send"], "expect": {"run ids":"3 different"}}`, checkConversation("prepare_twice")),
			"cd-srv-021": corpus.Test(`{"given": {"prepare_run":{}}, "when": ["send"], "expect": {"reply":"VALIDATION_ERROR (runId or strategyPath needed)"}}`, checkConversation("bad_frames")),
			"cd-srv-023": corpus.Test(`{"given": {"ts":"2025-01-15T10:30:01 (no zone)"}, "when": ["client parses daemon message"], "expect": {"rejected":true}}`, testTimeZones),
			"cd-srv-024": corpus.Test(`{"given": {"state":"start_run with requestId r"}, "when": ["run"], "expect": {"echoed in":["strategy_started","strategy_completed"]}}`, checkConversation("permission")),
			"cd-srv-025": corpus.Test(`{"given": {"state":"start_run sent twice"}, "when": ["send"], "expect": {"second":"error already started"}}`, checkConversation("start_twice")),
			"cd-srv-027": corpus.Test(`{"given": {"steer_run":"running run, text t"}, "when": ["send"], "expect": {"event":{"type":"steer_queued","text":"t"},"next agent call input":"ends with a user_steering block holding t"}}`, checkConversation("steer")),
			"cd-srv-029": corpus.Test(`{"given": {"state":"daemon killed with a running run"}, "when": ["restart, list_runs"], "expect": {"status":"interrupted (not running)"}}`, checkConversation("restart")),
			"cd-srv-031": corpus.Test(`{"given": {"state":"run cancelled just as the flow resolves"}, "when": ["stop_run, flow result arrives"], "expect": {"final status":"cancelled, one terminal event"}}`, checkTest(testOneEnd)),
			"cd-srv-032": corpus.Test(`{"given": {"state":"two prepare_run with the same new runId at once"}, "when": ["send"], "expect": {"one":"prepared","other":"error"}}`, checkConversation("prepare_twice")),
			"cd-srv-036": corpus.Test(`{"given": {"state":"slow subscriber"}, "when": ["run emits 1e5 events"], "expect": {"other subscribers":"not delayed","slow one":"gets a gap marker and can resume from seq, or is closed with a code"}}`, checkTest(TestSlowClient)),
			"cd-srv-038": corpus.Test(`{"given": {"state":"daemon.stop twice"}, "when": ["call"], "expect": {"second":"no error"}}`, checkTest(TestShutdown)),

			"cd-upd-005": corpus.Test(`{"given": {"run":"has a launched sub-strategy"}, "when": ["update_policy"], "expect": {"applies to":"sub-runs too"}}`, checkConversation("policy_of_agents")),
			"cd-upd-007": corpus.Test(`{"given": {"message":"no default given"}, "when": ["update_policy allow [x/**]"], "expect": {"default":"unchanged"}}`, checkConversation("update_policy")),
			"cd-upd-008": corpus.Test(`{"given": {"mode":"exec"}, "when": ["update_policy"], "expect": {"reply":"VALIDATION_ERROR"}}`, checkConversation("bad_frames")),
			"cd-upd-009": corpus.Test(`{"given": {"state":"two update_policy in a row"}, "when": ["read the events"], "expect": {"version":"increases, each event carries the full chain and version"}}`, checkConversation("update_policy")),
			"cd-upd-010": corpus.Test(`{"given": {"state":"deny [x/**] then allow [x/**]"}, "when": ["access x/a"], "expect": {"decision":"deny (deny beats allow inside one policy)"}}`, checkConversation("update_policy")),

			"xx-008": corpus.Test(`{"given": {"state":"client reconnects with last seq 17"}, "when": ["subscribe"], "expect": {"same events as a client that never left, byte for byte":true}}`, checkTest(testReplayIsTheSame)),
		},
		map[string]string{
			"cd-srv-041": "internal/cli/daemon: what settings and flags say is read there",
			"cd-srv-042": "settings: a field that there is not is refused there",
			"cd-srv-043": "internal/listen: what a killed daemon left is known to be left over, and removed",
		})
}

func testTimeZones(t *testing.T, c corpus.Case) {
	if err := checkFrame([]byte(`{"type":"pong","ts":"2025-01-15T10:30:01Z"}`)); err != nil {
		t.Error(err)
	}
	var given struct{ TS string }
	c.Decode(t, c.Setup(), &given)
	ts, _, _ := strings.Cut(given.TS, " ")
	if err := checkFrame(fmt.Appendf(nil, `{"type":"pong","ts":%q}`, ts)); err == nil {
		t.Errorf("%s is read", ts)
	}
}

// Details for the user are cut, with their size and digest, and secrets are masked.
func testDetailsAreCut(t *testing.T) {
	content := "token ghp_" + strings.Repeat("aB3dE5fG7h", 4)[:36] + "\n" + strings.Repeat("0123456789", 500_000)
	play, err := json.Marshal(map[string]any{"steps": []any{
		map[string]any{"tool_uses": []any{map[string]any{"id": "u1", "tool": "write_file", "input": map[string]any{"path": "/x", "content": content}}}},
		map[string]any{"text": "done"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := beginDaemon(t, map[string]string{"writer": string(play)}, nil)
	if w.mask, err = secret.New(nil); err != nil {
		t.Fatal(err)
	}
	c := w.ann()
	id := c.prepare(w.cwd)
	c.send(fmt.Sprintf(`{"type":"start_run","runId":%q,"input":"go"}`, id))
	for {
		b, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		m := object(t, b)
		if provisional(m) { // provisional text is as the model wrote it
			continue
		}
		if bytes.Contains(b, []byte("ghp_aB3dE5")) {
			t.Fatalf("a secret was sent: %.300s", b)
		}
		if m["type"] != "request_permission" {
			continue
		}
		for _, want := range []string{"sha256", "5000"} {
			if !bytes.Contains(b, []byte(want)) {
				t.Errorf("%q is not in %.1000s", want, b)
			}
		}
		if len(b) > 400<<10 {
			t.Errorf("a frame of %d bytes", len(b))
		}
		return
	}
}

// If a stop and the end of a run coincide, one end is sent.
func testOneEnd(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": "steps: [{text: done}]"}, func(l *limits) { l.rate, l.burst = 1e9, 1e9 })
	c := w.ann()
	for range 30 {
		id := c.prepare(w.cwd)
		c.send(fmt.Sprintf(`{"type":"start_run","runId":%q,"input":"go"}`, id))
		c.send(fmt.Sprintf(`{"type":"stop_run","runId":%q,"requestId":"stop"}`, id))
		end := ""
		for end == "" {
			if m := c.next(); m["runId"] == id && (m["type"] == "strategy_completed" || m["type"] == "strategy_error") {
				end, _ = m["type"].(string)
			}
		}
		w.eventually("the run ends", func() bool { return !w.runs.Busy(id) })
		again := w.ann()
		again.send(fmt.Sprintf(`{"type":"subscribe","runId":%q,"afterSeq":0}`, id))
		var ends []any
		for m := again.next(); m["type"] != "caught_up"; m = again.next() {
			if m["type"] == "strategy_completed" || m["type"] == "strategy_error" {
				ends = append(ends, m["type"])
			}
		}
		_ = again.ws.CloseNow()
		if len(ends) != 1 || ends[0] != end {
			t.Errorf("it received %s, but %v is recorded", end, ends)
		}
	}
	list, _, err := w.runs.List(t.Context(), runs.ListOptions{Status: api.StatusRunning})
	if err != nil || len(list) != 0 {
		t.Errorf("active runs: %v, %v", list, err)
	}
}

// A client that reconnects after any seq receives the same bytes as one that stayed connected.
func testReplayIsTheSame(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": `
steps:
  - tool_uses: [{id: u1, tool: read_file, input: {path: a}}, {id: u2, tool: Bash, input: {command: make}}]
  - thinking: so
    text: done
`}, func(l *limits) { l.rate, l.burst = 1e9, 1e9 })
	stayed := w.ann()
	id := stayed.prepare(w.cwd)
	stayed.send(fmt.Sprintf(`{"type":"start_run","runId":%q,"input":"go","requestId":"s"}`, id))
	var all [][]byte
	var seqs []int64 // after which a client may continue
	for done := false; !done; {
		b, err := stayed.read()
		if err != nil {
			t.Fatal(err)
		}
		m := object(t, b)
		seq, durable := m["seq"].(json.Number)
		if !durable {
			continue
		}
		all = append(all, b)
		n, _ := seq.Int64()
		seqs = append(seqs, n)
		if m["type"] == "request_permission" {
			stayed.send(fmt.Sprintf(`{"type":"permission_decision","runId":%q,"permissionRequestId":%q,"decision":"allow"}`, id, m["requestId"]))
		}
		done = m["type"] == "strategy_completed"
	}
	w.eventually("the run ends", func() bool { return !w.runs.Busy(id) })
	for i, after := range seqs {
		for i+1 < len(seqs) && seqs[i+1] == after {
			i++ // the rest of the same record
		}
		back := w.ann()
		back.send(fmt.Sprintf(`{"type":"subscribe","runId":%q,"afterSeq":%d}`, id, after))
		var received [][]byte
		for {
			b, err := back.read()
			if err != nil {
				t.Fatal(err)
			}
			kind := object(t, b)["type"]
			if kind == "caught_up" {
				break
			}
			if kind != "subscribed" {
				received = append(received, b)
			}
		}
		_ = back.ws.CloseNow()
		if !bytes.Equal(bytes.Join(received, []byte("\n")), bytes.Join(all[i+1:], []byte("\n"))) {
			t.Errorf("after %d it received\n%s\ninstead of\n%s", after, bytes.Join(received, []byte("\n")), bytes.Join(all[i+1:], []byte("\n")))
		}
	}
}
