package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// appendHook is a store that calls before in front of the appends of one session. If before returns
// an error, the append fails.
type appendHook struct {
	session.Store
	mu     sync.Mutex
	before func(id string, r session.Record) error
}

func (h *appendHook) Unwrap() session.Store { return h.Store }

func (h *appendHook) Append(ctx context.Context, id string, b session.Batch) error {
	h.mu.Lock()
	before := h.before
	h.mu.Unlock()
	for i := 0; before != nil && i < len(b.Records); i++ {
		if err := before(id, b.Records[i]); err != nil {
			return err
		}
	}
	return h.Store.Append(ctx, id, b)
}

func (h *appendHook) set(before func(id string, r session.Record) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = before
}

// beginHooked is begin with an appendHook.
func beginHooked(t testing.TB, script string) (*runsEnv, *appendHook) {
	t.Helper()
	inner, err := sqlite.Open(filepath.Join(t.TempDir(), "sessions.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &appendHook{Store: inner}
	w := &runsEnv{t: t, store: h, cwd: t.TempDir(), plays: map[string]string{"writer": script}}
	w.open()
	t.Cleanup(func() {
		w.stop()
		w.ok(inner.Close())
	})
	return w, h
}

func (w *runsEnv) steer(id, text string) error {
	_, err := w.runs.Steer(w.t.Context(), id, text, "", ann)
	return err
}

// userTexts returns the texts of the user's items that the model has.
func (w *runsEnv) userTexts(id string) (list []string) {
	w.t.Helper()
	for r, err := range w.sessions.Effective(w.t.Context(), id, session.Range{}) {
		w.ok(err)
		if r.Kind != session.KindItem {
			continue
		}
		it, err := record.ReadItem(r.Payload)
		w.ok(err)
		if it.Item.Role() == transcript.RoleUser && !it.Queued {
			list = append(list, it.Item.Text())
		}
	}
	return list
}

// queue returns the ids of the texts that wait, as a client reads them from the log.
func (w *runsEnv) queue(id string) (ids []string) {
	w.t.Helper()
	for r, err := range w.sessions.Effective(w.t.Context(), id, session.Range{}) {
		w.ok(err)
		var e wire.RunEvent
		if r.Kind != record.KindRunEvent || json.Unmarshal(r.Payload, &e) != nil {
			continue
		}
		switch e.Event {
		case wire.RunSteered, wire.RunStarted:
			ids = append(ids, e.Steering...)
		case wire.RunSteeringDelivered, wire.RunSteeringWithdrawn:
			ids = slices.DeleteFunc(ids, func(s string) bool { return slices.Contains(e.Steering, s) })
		}
	}
	return ids
}

func (w *runsEnv) wantTimes(id, text string, n int) {
	w.t.Helper()
	if all := strings.Join(w.userTexts(id), "\n"); strings.Count(all, text) != n {
		w.t.Errorf("the model has %q %d times, want %d, in:\n%s", text, strings.Count(all, text), n, all)
	}
}

const answers = "  - text: one more\n  - text: one more\n  - text: one more\n"

// A text waits while an approval request waits, and reaches the next model call.
func TestSteer(t *testing.T) {
	w := begin(t, map[string]string{"writer": `
steps:
  - tool_uses: [{id: u1, tool: Bash, input: {command: git push}}]
  - expect: {user: user_steering}
    text: heeded
`})
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	s, err := w.runs.Steer(t.Context(), id, "be quick", "r5", ann)
	w.ok(err)
	if e := v.event(wire.RunSteered); e.Text != "be quick" || e.RequestID != "r5" || !slices.Equal(e.Steering, []string{s}) {
		t.Errorf("%+v", e)
	}
	if got := w.queue(id); !slices.Equal(got, []string{s}) {
		t.Errorf("queue %v", got)
	}
	_, err = w.runs.Decide(t.Context(), id, decision(q, approval.Allow), "")
	w.ok(err)
	if e := v.event(wire.RunSteeringDelivered); !slices.Equal(e.Steering, []string{s}) {
		t.Errorf("%+v", e)
	}
	if e := v.event(wire.RunCompleted); !strings.Contains(e.Text, "heeded") {
		t.Errorf("%+v", e)
	}
	w.wantCode(w.runs.Withdraw(t.Context(), id, s, ann), wire.CodeConflict)
}

// A text that arrives at the end of a run, in front of any of its last records, is rejected, or the
// model gets it: in this segment or in the next one.
func TestSteerAtEnd(t *testing.T) {
	for name, at := range map[string]string{
		"answer": `"text":"the answer"`, "turn": string(record.KindTurnClosed), "step": `"event":"step_completed"`, "run": `"event":"completed"`,
	} {
		t.Run(name, func(t *testing.T) {
			w, h := beginHooked(t, "steps:\n  - text: the answer\n"+answers)
			var once sync.Once
			var steered error
			h.set(func(id string, r session.Record) error {
				if string(r.Kind) == at || strings.Contains(string(r.Payload), at) {
					once.Do(func() { steered = w.steer(id, "wait, one more thing") })
				}
				return nil
			})
			id, v := w.prepareAndStart(single(), "go")
			v.event(wire.RunCompleted)
			w.waitEnded(id)
			if steered != nil {
				w.wantCode(steered, wire.CodeRunNotSteerable)
				w.wantTimes(id, "one more thing", 0)
				return
			}
			w.wantTimes(id, "one more thing", 1)
			if got := w.queue(id); len(got) > 0 {
				t.Errorf("queue %v", got)
			}
		})
	}
}

// A run that ends with waiting texts gives them to the next segment. Until then they can be
// withdrawn.
func TestSteerSurvivesEnd(t *testing.T) {
	for name, end := range map[string]func(w *runsEnv, id string){
		"stop":    func(w *runsEnv, id string) { w.ok(w.runs.Stop(w.t.Context(), id, "", ann)) },
		"restart": func(w *runsEnv, _ string) { w.restart() },
	} {
		for _, input := range []string{"", "go on"} {
			t.Run(name+" "+input, func(t *testing.T) {
				w := begin(t, map[string]string{"writer": pushScript + answers})
				id, v := w.prepareAndStart(single(), "go")
				v.approval()
				w.ok(w.steer(id, "the first"))
				drop, err := w.runs.Steer(t.Context(), id, "the second", "", ann)
				w.ok(err)
				w.ok(w.steer(id, "the third"))
				end(w, id)
				w.ok(w.runs.Withdraw(t.Context(), id, drop, ann))
				w.wantCode(w.runs.Withdraw(t.Context(), id, drop, ann), wire.CodeConflict)
				w.ok(w.runs.Continue(t.Context(), id, input, "", ann))
				v = w.watch(id, 0)
				v.event(wire.RunStarted)
				v.event(wire.RunStarted)
				if name == "restart" {
					v = w.watch(id, 0)
					_, err = w.runs.Decide(t.Context(), id, decision(v.approval(), approval.Allow), "")
					w.ok(err)
				}
				v.event(wire.RunCompleted)
				w.wantTimes(id, "the first\n\nthe third", 1)
				w.wantTimes(id, "the second", 0)
				if input != "" {
					w.wantTimes(id, input, 1)
					if all := strings.Join(w.userTexts(id), "\n"); strings.Index(all, input) < strings.Index(all, "the third") {
						t.Errorf("the model gets the newer input first:\n%s", all)
					}
				}
				if got := w.queue(id); len(got) > 0 {
					t.Errorf("queue %v", got)
				}
			})
		}
	}
}

// A daemon that is killed after the agent has recorded a text, but before the daemon has recorded
// that, does not give the text to the agent again.
func TestSteerKilledBeforeDelivered(t *testing.T) {
	w, h := beginHooked(t, `
steps:
  - tool_uses: [{id: u1, tool: Bash, input: {command: git status}}]
  - tool_uses: [{id: u2, tool: Bash, input: {command: git push}}]
`+answers)
	h.set(func(_ string, r session.Record) error {
		if strings.Contains(string(r.Payload), wire.RunSteeringDelivered) {
			return errors.New("killed")
		}
		return nil
	})
	id, v := w.prepareAndStart(single(), "go")
	q := v.approval()
	w.ok(w.steer(id, "be quick"))
	_, err := w.runs.Decide(t.Context(), id, decision(q, approval.Allow), "")
	w.ok(err)
	v.approval()
	h.set(nil)
	w.restart()
	w.ok(w.runs.Continue(t.Context(), id, "", "", ann))
	for _, q := range w.pending(id) {
		_, err = w.runs.Decide(t.Context(), id, decision(q, approval.Allow), "")
		w.ok(err)
	}
	w.watch(id, 0).event(wire.RunCompleted)
	w.wantTimes(id, "be quick", 1)
}

// pending returns the open approval requests of a run.
func (w *runsEnv) pending(id string) []approval.Request {
	w.t.Helper()
	list, err := approval.Pending(w.t.Context(), w.sessions, id)
	w.ok(err)
	return list
}

// backgroundTool runs in the background until end is closed.
type backgroundTool struct{ end chan struct{} }

func (backgroundTool) Spec() tool.Spec {
	return tool.Spec{Name: "Work", Description: "works", Input: json.RawMessage(`{"type":"object"}`), ReadOnly: true}
}

func (backgroundTool) Requests(*tool.Call) ([]policy.Request, error) {
	return []policy.Request{{Operation: policy.OpRead, Resource: "/", ReadOnly: true}}, nil
}

func (b backgroundTool) Run(context.Context, *tool.Call) (tool.Result, error) {
	<-b.end
	return tool.Text("worked"), nil
}

func (backgroundTool) Detach(*tool.Call) time.Duration { return 0 }
func (backgroundTool) Awaited(*tool.Call) bool         { return true }

// An agent that waits for a background task answers a text at once.
func TestSteerBetweenTurns(t *testing.T) {
	work := backgroundTool{make(chan struct{})}
	w := begin(t, map[string]string{"writer": `
steps:
  - tool_uses: [{id: u1, tool: Work, input: {}}]
  - text: it runs
  - expect: {user: how far}
    text: half way
  - text: all done
`})
	w.tools = []tool.Tool{work}
	p, err := w.runs.Prepare(t.Context(), runs.PrepareOptions{
		Strategy: single(), Actor: ann, Spec: runspec.Spec{Cwd: w.cwd, Permissions: runspec.Permissions{Mode: "bypassPermissions"}},
	})
	w.ok(err)
	w.ok(w.runs.Start(t.Context(), p.Run, "go", "", ann))
	v := w.watch(p.Run, 0)
	closed := func(r feed.Record) bool { return r.Kind == record.KindTurnClosed }
	v.until("the first turn", closed)
	w.ok(w.steer(p.Run, "how far is it?"))
	v.event(wire.RunSteeringDelivered)
	v.until("the second turn", closed)
	close(work.end)
	if e := v.event(wire.RunCompleted); !strings.Contains(e.Text, "all done") {
		t.Errorf("%+v", e)
	}
	w.wantTimes(p.Run, "how far", 1)
}

// Texts that are sent and withdrawn while tools run: the model gets every text once, in order,
// except those that were withdrawn.
func TestSteerAndWithdraw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		calls := rapid.IntRange(1, 3).Draw(rt, "calls")
		ops := rapid.SliceOfN(rapid.IntRange(-3, 3), 0, 12).Draw(rt, "ops")
		script := "steps:\n"
		for i := range calls {
			script += fmt.Sprintf("  - tool_uses: [{id: a%d, tool: Bash, input: {command: ls}}, {id: b%d, tool: Bash, input: {command: ls}}]\n", i, i)
		}
		w := begin(t, map[string]string{"writer": script + "  - text: done\n" + answers})
		defer w.stop()
		id := ""
		var want, ids []string
		step := 0
		w.during = func(string) {
			n := min(len(ops)/calls+1, len(ops)-step)
			for _, op := range ops[step : step+n] {
				if op > 0 {
					text := fmt.Sprintf("<text %d>", len(ids))
					s, err := w.runs.Steer(t.Context(), id, text, "", ann)
					w.ok(err)
					want, ids = append(want, text), append(ids, s)
				} else if at := len(ids) + op; op < 0 && at >= 0 {
					waits := slices.Contains(w.queue(id), ids[at])
					err := w.runs.Withdraw(t.Context(), id, ids[at], ann)
					if waits != (err == nil) {
						rt.Errorf("withdraw: %v, it waits: %v", err, waits)
					}
					if err == nil {
						want = slices.DeleteFunc(want, func(s string) bool { return s == fmt.Sprintf("<text %d>", at) })
					}
				}
			}
			step += n
		}
		p, err := w.runs.Prepare(t.Context(), runs.PrepareOptions{Strategy: single(), Actor: ann, Spec: runspec.Spec{Cwd: w.cwd, Permissions: runspec.Permissions{Mode: "bypassPermissions"}}})
		w.ok(err)
		id = p.Run
		w.ok(w.runs.Start(t.Context(), id, "go", "", ann))
		w.watch(id, 0).event(wire.RunCompleted)
		var got []string
		for _, text := range w.userTexts(id) {
			for _, line := range strings.Split(text, "\n") {
				if strings.HasPrefix(line, "<text") {
					got = append(got, line)
				}
			}
		}
		if !slices.Equal(got, want) {
			rt.Errorf("the model has %q, want %q", got, want)
		}
		if left := w.queue(id); len(left) > 0 {
			rt.Errorf("queue %v", left)
		}
	})
}
