package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/daemon/runs"
	"github.com/holdfast-dev/holdfast/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// shows makes a conversation the check of a case.
func shows(name string) func(*testing.T, corpus.Case) {
	return func(t *testing.T, _ corpus.Case) { converse(t, "testdata/conversations/"+name+".txtar") }
}

// by makes a test of this package the check of a case.
func by(test func(*testing.T)) func(*testing.T, corpus.Case) {
	return func(t *testing.T, _ corpus.Case) { test(t) }
}

func TestCorpus(t *testing.T) {
	cases := corpus.Area(t, "agentkit-commaagents-parachute.json", "server", "permission-wire", "update-policy", "run-lifecycle", "replay")
	corpus.Claim(t, cases,
		map[string]func(*testing.T, corpus.Case){
			"cd-perm-001": shows("permission"),
			"cd-perm-002": shows("permission"),
			"cd-perm-004": shows("unknown_run"),
			"cd-perm-008": shows("stop"),
			"cd-perm-010": shows("bad_frames"),
			"cd-perm-012": shows("late_subscriber"),
			"cd-perm-013": shows("two_clients"),
			"cd-perm-014": shows("timeout"),
			"cd-perm-015": shows("override"),
			"cd-perm-018": by(testDetailsAreCut),

			"cd-run-002": shows("stop_prepared"),
			"cd-run-003": shows("continue"),
			"cd-run-005": shows("continue_stopped"),
			"cd-run-007": shows("compaction"),
			"cd-run-009": shows("user_input"),
			"cd-run-011": shows("stop_tool"),

			"cd-srv-005": shows("ping"),
			"cd-srv-006": by(TestUpgradeIsNeeded),
			"cd-srv-007": by(TestUpgradeIsNeeded),
			"cd-srv-012": shows("unknown_run"),
			"cd-srv-013": shows("unknown_run"),
			"cd-srv-015": shows("unknown_run"),
			"cd-srv-016": shows("unknown_run"),
			"cd-srv-017": shows("unsubscribe"),
			"cd-srv-018": shows("unsubscribe"),
			"cd-srv-019": shows("prepare_twice"),
			"cd-srv-021": shows("bad_frames"),
			"cd-srv-023": testTimesHaveAZone,
			"cd-srv-024": shows("permission"),
			"cd-srv-025": shows("start_twice"),
			"cd-srv-027": shows("steer"),
			"cd-srv-029": shows("restart"),
			"cd-srv-031": by(testOneEnd),
			"cd-srv-032": shows("prepare_twice"),
			"cd-srv-036": by(TestSlowClient),
			"cd-srv-038": by(TestShutdown),

			"cd-upd-005": shows("policy_of_agents"),
			"cd-upd-007": shows("update_policy"),
			"cd-upd-008": shows("bad_frames"),
			"cd-upd-009": shows("update_policy"),
			"cd-upd-010": shows("update_policy"),

			"xx-008": by(testReplayIsTheSame),
		},
		map[string]string{
			"cd-srv-041": "internal/cli: what settings and flags say is read there",
			"cd-srv-042": "settings: a field that there is not is refused there",
			"cd-srv-043": "internal/listen: what a killed daemon left is known to be left over, and removed",
		})
}

func testTimesHaveAZone(t *testing.T, c corpus.Case) {
	if _, err := wire.ParseMessage([]byte(`{"type":"pong","ts":"2025-01-15T10:30:01Z"}`)); err != nil {
		t.Error(err)
	}
	var given struct{ TS string }
	c.Decode(t, c.Given, &given)
	ts, _, _ := strings.Cut(given.TS, " ")
	if _, err := wire.ParseMessage(fmt.Appendf(nil, `{"type":"pong","ts":%q}`, ts)); err == nil {
		t.Errorf("%s is read", ts)
	}
}

// What a person is shown is cut, with its size and digest, and secrets are masked.
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
	id := c.prepared(w.cwd)
	c.send(fmt.Sprintf(`{"type":"start_run","runId":%q,"input":"go"}`, id))
	for {
		b, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		m := object(t, b)
		if provisional(m) { // what is still coming is as the model writes it
			continue
		}
		if bytes.Contains(b, []byte("ghp_aB3dE5")) {
			t.Fatalf("a secret is told: %.300s", b)
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

// However a stop and the end of a run fall together, one end is told.
func testOneEnd(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": "steps: [{text: done}]"}, func(l *limits) { l.rate, l.burst = 1e9, 1e9 })
	c := w.ann()
	for range 30 {
		id := c.prepared(w.cwd)
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
			t.Errorf("it was told of %s, and on record is %v", end, ends)
		}
	}
	list, _, err := w.runs.List(t.Context(), runs.ListOptions{Status: wire.Running})
	if err != nil || len(list) != 0 {
		t.Errorf("%v run, %v", list, err)
	}
}

// A client that comes back behind any seq hears what one that stayed has heard, byte
// for byte.
func testReplayIsTheSame(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": `
steps:
  - tool_uses: [{id: u1, tool: read_file, input: {path: a}}, {id: u2, tool: Bash, input: {command: make}}]
  - thinking: so
    text: done
`}, func(l *limits) { l.rate, l.burst = 1e9, 1e9 })
	stayed := w.ann()
	id := stayed.prepared(w.cwd)
	stayed.send(fmt.Sprintf(`{"type":"start_run","runId":%q,"input":"go","requestId":"s"}`, id))
	var all [][]byte
	var seqs []int64 // that a client may go on behind
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
			i++ // the rest of that record
		}
		back := w.ann()
		back.send(fmt.Sprintf(`{"type":"subscribe","runId":%q,"afterSeq":%d}`, id, after))
		var heard [][]byte
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
				heard = append(heard, b)
			}
		}
		_ = back.ws.CloseNow()
		if !bytes.Equal(bytes.Join(heard, []byte("\n")), bytes.Join(all[i+1:], []byte("\n"))) {
			t.Errorf("behind %d it heard\n%s\nand not\n%s", after, bytes.Join(heard, []byte("\n")), bytes.Join(all[i+1:], []byte("\n")))
		}
	}
}
