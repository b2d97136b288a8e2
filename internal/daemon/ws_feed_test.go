package daemon

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// If a slow client has missed provisional messages, it receives a gap, and later a message that all
// recorded messages were sent.
func TestGap(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	run := w.subscribeToBusyRun("run")
	close(run.stop)
	<-run.done
	c := w.ann()
	c.send(`{"type":"subscribe","runId":"run"}`)
	c.until("caught_up")
	for range 20_000 { // more than sockets hold
		w.hub.Publish("run", "a", event.TextDelta{Text: strings.Repeat("x", 2000)})
	}
	run.add(steered(1))
	gaps, caughtUp := 0, 0 // and the number of caught_up messages after them
	for m := c.next(); m["type"] != "steer_queued"; m = c.next() {
		switch m["type"] {
		case "gap":
			gaps++
		case "caught_up":
			caughtUp++
		}
	}
	if caughtUp == gaps-1 { // it catches up with this record
		c.until("caught_up")
		caughtUp++
	}
	if gaps == 0 || caughtUp != gaps {
		t.Errorf("%d gaps, and %d times it caught up", gaps, caughtUp)
	}
}

// An unreadable record is reported, and the records after it are sent.
func TestDamagedLog(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	run := w.subscribeToBusyRun("run")
	close(run.stop)
	<-run.done
	for i := range 10 {
		run.add(steered(i))
	}
	bad := run.last - 5
	db, err := sql.Open("sqlite", filepath.Join(w.home, "sessions.db"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := db.ExecContext(t.Context(), "UPDATE records SET chain = x'00' WHERE key & 4294967295 = ?", bad)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n != 1 {
		t.Fatalf("%d records were damaged", n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_ = run.c.ws.CloseNow()
	w.stop()
	if err := w.closeStore(); err != nil {
		t.Fatal(err)
	}
	w.openStore()
	w.begin()
	c := w.ann()
	c.send(`{"type":"subscribe","runId":"run","afterSeq":2}`)
	var seqs []string
	failed := ""
	for m := c.next(); m["type"] != "caught_up"; m = c.next() {
		switch m["type"] {
		case "error":
			failed = fmt.Sprint(m["code"], m["runId"], len(seqs))
		case "steer_queued":
			seqs = append(seqs, fmt.Sprint(m["seq"]))
		}
	}
	if want := fmt.Sprint(wire.CodeInternal, "run", bad-3); failed != want || len(seqs) != int(run.last-2)-1 {
		t.Errorf("error %q, want %q; received %v", failed, want, seqs)
	}
}

func TestDrainingStartsNothing(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": "steps: [{text: x}]"}, nil)
	c := w.ann()
	id := c.prepare(w.cwd)
	w.server.Drain()
	for _, frame := range []string{
		`{"type":"start_run","runId":"` + id + `"}`, `{"type":"continue_run","runId":"` + id + `"}`, `{"type":"prepare_run","runId":"x"}`,
	} {
		c.send(frame)
		if m := c.next(); m["code"] != string(wire.CodeDraining) {
			t.Errorf("%s: %v", frame, m)
		}
	}
	c.send(`{"type":"list_runs"}`)
	c.until("run_list")
	if res := w.fetch("/readyz", ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Error(res.Status)
	}
}

// A client that receives the end of a run may continue it at once.
func TestContinueAfterEndEvent(t *testing.T) {
	play := "steps:\n" + strings.Repeat("  - text: x\n", 21)
	w := beginDaemon(t, map[string]string{"writer": play}, func(l *limits) { l.rate, l.burst = 1e9, 1e9 })
	c := w.ann()
	id := c.prepare(w.cwd)
	c.send(fmt.Sprintf(`{"type":"start_run","runId":%q,"input":"go"}`, id))
	for i := range 20 {
		for m := c.next(); m["type"] != "strategy_completed"; m = c.next() {
			if m["type"] == "error" {
				t.Fatalf("%d: %v", i, m)
			}
		}
		if i%2 == 0 {
			c.send(fmt.Sprintf(`{"type":"prepare_run","runId":%q}`, id))
		}
		c.send(fmt.Sprintf(`{"type":"continue_run","runId":%q,"input":"more"}`, id))
	}
	c.until("strategy_completed")
}

// A client that subscribes in the middle of an answer gets the text so far.
func TestSubscribeHasTextSoFar(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	run := w.subscribeToBusyRun("run")
	for _, e := range []event.Event{event.ModelStarted{Model: "m"}, event.TextDelta{Text: "one "}, event.TextDelta{Text: "two"}} {
		w.hub.Publish("run", "a", e)
	}
	for _, after := range []string{"", `,"afterSeq":1`} {
		c := w.ann()
		c.send(`{"type":"subscribe","runId":"run"` + after + `}`)
		c.until("caught_up")
		for i, want := range []string{"map[model:m type:step-start]", "map[text:one two type:text]"} {
			if m := c.next(); m["type"] != "agent_streaming" || fmt.Sprint(m["event"]) != want {
				t.Errorf("message %d after %q is %v", i, after, m)
			}
		}
	}
	close(run.stop)
	<-run.done
}

// Clients see that a text was withdrawn, and what users did to sub-agents.
func TestSteeringMessages(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	run := w.subscribeToBusyRun("run")
	close(run.stop)
	<-run.done
	c := w.ann()
	c.send(`{"type":"subscribe","runId":"run"}`)
	c.until("caught_up")
	run.add(
		wire.RunEvent{Event: wire.RunSteered, Steering: []string{"st"}, Text: "t"}, wire.RunEvent{Event: wire.RunSteeringWithdrawn, Steering: []string{"st"}, By: "ann", Via: "http"},
		wire.RunEvent{Event: wire.RunSubagentSteered, Agent: "scout", Session: "s2", Text: "t", By: "ann"}, wire.RunEvent{Event: wire.RunSubagentStopped, Agent: "scout", Session: "s2", By: "ann"},
	)
	for _, want := range []map[string]any{
		{"type": "steer_queued", "steeringId": "st"}, {"type": "steer_withdrawn", "steeringIds": []any{"st"}, "by": "ann", "via": "http"},
		{"type": "subagent_steered", "agentName": "scout", "agentSession": "s2", "text": "t"}, {"type": "subagent_stopped", "agentSession": "s2", "by": "ann"},
	} {
		m := c.next()
		for k, v := range want {
			if fmt.Sprint(m[k]) != fmt.Sprint(v) {
				t.Errorf("%s of %v is not %v", k, m, v)
			}
		}
	}
	for _, kind := range []string{`"steer_run","text":"t"`, `"stop_run"`} {
		c.send(`{"type":` + kind + `,"runId":"run","agentSession":"s2"}`)
		if m := c.next(); m["code"] != string(wire.CodeRunNotSteerable) {
			t.Errorf("%s: %v", kind, m)
		}
	}
}
