package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// resumed resumes a session in a new process and answers its queued input.
func resumed(t *testing.T, store session.Store, id string) []transcript.Encoded {
	t.Helper()
	a := newAgent(t, play(t, step{text: "I see"}, step{text: "ok"}), agent.Options{
		Sessions: session.New(store, nil), Session: session.RestoreOptions{SessionID: id, Takeover: true},
	})
	answerQueue(t, a)
	items := a.Snapshot().Items
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	return items
}

// finishes reports whether a batch has the ToolFinished record of a call.
func finishes(b session.Batch, use string) bool {
	return slices.ContainsFunc(b.Records, func(r session.Record) bool {
		var f record.ToolFinished
		return r.Kind == record.KindToolFinished && json.Unmarshal(r.Payload, &f) == nil && f.Use == use
	})
}

// If the store fails while the end of a task is recorded, the agent stops. The next process reports
// the task once: its end, or that it was lost.
func TestBackgroundEndStoreFails(t *testing.T) {
	for name, written := range map[string]bool{"before it is written": false, "after it is written": true} {
		t.Run(name, func(t *testing.T) {
			inner, broken := memory.New(), false
			store := &faulty{inner, func(b session.Batch) (bool, bool) {
				if finishes(b, "c1") {
					broken = true
					return !written, written
				}
				return broken, false
			}}
			work := newSlow("work", 0)
			back := &agent.Background{}
			a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`)}}, step{text: "it runs"}, step{text: "more"}),
				agent.Options{Sessions: session.New(store, nil), Tools: registry(t, work), Background: back})
			prompt(t, a, "begin")
			work.end <- tool.Text("42")
			if err := back.Wait(t.Context(), "c1"); err != nil {
				t.Fatal(err)
			}
			if !written {
				if _, err := a.Prompt(t.Context(), "go on"); err == nil {
					t.Error("the agent continues although the end was not recorded")
				}
			}
			_ = a.Close() // fails: the end cannot be recorded
			want := map[bool]string{false: "outcome is unknown", true: "42"}[written]
			n, notes := answersOf(resumed(t, inner, a.SessionID()), "c1")
			if n != 1 || len(notes) != 1 || !strings.Contains(notes[0], want) {
				t.Errorf("%d results, notifications %q", n, notes)
			}
			b := newAgent(t, play(t, step{text: "ok"}), agent.Options{Sessions: session.New(inner, nil), Session: session.RestoreOptions{SessionID: a.SessionID()}})
			prompt(t, b, "and now?")
			if _, notes := answersOf(b.Snapshot().Items, "c1"); len(notes) != 1 {
				t.Errorf("notified again: %q", notes)
			}
		})
	}
}

func TestBackgroundToolPanics(t *testing.T) {
	for name, run := range map[string]func(){"it panics": func() { panic("kaboom") }, "it ends its goroutine": runtime.Goexit, "it fails": func() {}} {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{})
			bad := struct {
				probe
				late
			}{probe{name: "bad", run: func(context.Context, *tool.Call) (tool.Result, error) {
				<-begun
				run()
				return tool.Result{}, errors.New("ended")
			}}, late(0)}
			back := &agent.Background{}
			a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "bad", `{}`)}}, step{text: "it runs"}, step{text: "oh"}),
				agent.Options{Sessions: sessions(t), Tools: registry(t, bad), Background: back})
			prompt(t, a, "begin")
			close(begun)
			if err := back.Wait(t.Context(), "c1"); err != nil {
				t.Fatal(err)
			}
			answerQueue(t, a)
			if n, notes := answersOf(a.Snapshot().Items, "c1"); n != 1 || len(notes) != 1 || !strings.Contains(notes[0], " failed: ") {
				t.Errorf("%d results, notifications %q", n, notes)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// If the store fails while an agent is closed and a call is being detached, Close does not wait forever
// for the record.
func TestDetachStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := false
		store := &faulty{memory.New(), func(session.Batch) (bool, bool) { return broken, false }}
		work, person := newSlow("work", 0), &fixedAnswer{err: approval.ErrSuspend}
		work.readOnly = true
		bash := command("Bash")
		o := asking(agent.Options{Sessions: session.New(store, nil), Tools: registry(t, work, bash), Background: &agent.Background{}, Permissions: agent.Permissions{Ask: person.ask}})
		h := newSubagentEnv(t, o, []step{{uses: []transcript.ToolUse{use("c1", "work", `{}`), delegate("c2", "scout", "push", "")}}},
			map[string]*fake{"scout": play(t, pushCall(1))}, kind("scout"))
		if _, err := h.parent.Prompt(t.Context(), "begin"); !errors.Is(err, approval.ErrSuspend) {
			t.Fatal(err)
		}
		broken = true
		closed := make(chan error, 1)
		go func() { closed <- h.parent.Close() }()
		select {
		case err := <-closed:
			if err == nil {
				t.Error("closed without an error")
			}
		case <-time.After(time.Minute):
			panic("Close waits for ever")
		}
	})
}

// The kept output of a task is bounded, and the number of dropped bytes is reported.
func TestBackgroundOutputBounded(t *testing.T) {
	const size = 10 << 20
	written := make(chan struct{})
	flood := struct {
		probe
		late
	}{probe{name: "flood", run: func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		chunk := []byte(strings.Repeat("0123456789abcde\n", 1024))
		for range size / len(chunk) {
			_, _ = c.Output.Write(chunk)
		}
		close(written)
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}, late(0)}
	back := &agent.Background{}
	a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "flood", `{}`)}}, step{text: "it runs"}),
		agent.Options{Tools: registry(t, flood), Background: back})
	prompt(t, a, "begin")
	<-written
	_, text, lost, err := back.Output("c1")
	if err != nil || len(text) > 64<<10 || lost+int64(len(text)) != size {
		t.Errorf("%d bytes, %d lost: %v", len(text), lost, err)
	}
	if err := back.Stop(t.Context(), "c1"); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// A call that ends while it is being detached has one result, and a notification if that result says
// that it continues.
func TestDetachWhileEnding(t *testing.T) {
	const calls = 60
	quick := struct {
		probe
		late
	}{hasContent("quick", "42"), late(1)}
	var uses []transcript.ToolUse
	for i := range calls {
		uses = append(uses, use(fmt.Sprint("c", i), "quick", `{}`))
	}
	back := &agent.Background{}
	s := sessions(t)
	a := newAgent(t, play(t, step{uses: uses}, step{text: "1"}, step{text: "2"}, step{text: "3"}), agent.Options{
		Sessions: s, Tools: registry(t, quick), Background: back, Sleep: func(context.Context, time.Duration) error { return nil },
	})
	all := events(t, a, "begin")
	for i := range calls {
		_ = back.Wait(t.Context(), fmt.Sprint("c", i)) // most were not detached
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := newAgent(t, play(t, step{text: "4"}), agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: a.SessionID()}})
	prompt(t, b, "and?")
	items := b.Snapshot().Items
	for i := range calls {
		if n, _ := answersOf(items, fmt.Sprint("c", i)); n != 1 {
			t.Errorf("c%d has %d results", i, n)
		}
	}
	if _, notes := answersOf(items, ""); len(notes) != detached(all) {
		t.Errorf("%d notifications of %d calls that went on", len(notes), detached(all))
	}
}

// A background task continues after a compaction drops its use: no other call gets its id, and after a
// crash it is reported once.
func TestCompactionDuringBackgroundTask(t *testing.T) {
	store := memory.New()
	work := newSlow("work", 0)
	back := &agent.Background{}
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "work", `{}`)}}, step{text: long}, step{text: long},
		step{text: "the story"}, step{uses: []transcript.ToolUse{use("c1", "T", `{}`)}}, step{text: "on"})
	a := newAgent(t, m, agent.Options{
		Sessions: session.New(store, nil), Tools: registry(t, work, hasContent("T", "x")), Background: back, Compact: agent.Compact{KeepTokens: 10},
	})
	prompt(t, a, "a")
	prompt(t, a, "b")
	if before, after, err := a.Compact(t.Context(), ""); err != nil || after >= before {
		t.Fatalf("%d items became %d: %v", before, after, err)
	}
	prompt(t, a, "c")
	if list := back.List(); len(list) != 1 || !list[0].Running {
		t.Errorf("in the background: %+v", list)
	}
	if n, _ := answersOf(a.Snapshot().Items, "c1"); n != 0 {
		t.Errorf("the id of a call that runs was given to another one")
	}
	if _, notes := answersOf(resumed(t, store, a.SessionID()), "c1"); len(notes) != 1 || !strings.Contains(notes[0], "c1 (work)") {
		t.Errorf("notifications %q", notes)
	}
}
