package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// crashingStore is a store whose process is killed after a number of batches: later batches do not reach
// it, and leases expire.
type crashingStore struct {
	*memory.Store
	mu   sync.Mutex
	left int
	dead bool
}

var errKilled = errors.New("killed")

func (m *crashingStore) Append(ctx context.Context, id string, b session.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		m.dead = true
		return errKilled
	}
	m.left--
	return m.Store.Append(ctx, id, b)
}

// TestSubagentKilledAtEveryRecord checks that the parent's call gets one result, which has the
// sub-agent's id, and that the sub-agent can be resumed.
func TestSubagentKilledAtEveryRecord(t *testing.T) {
	for name, more := range map[string]string{"foreground": "", "background": `,"run_in_background":true`} {
		t.Run(name, func(t *testing.T) {
			killed := 0
			for n := 1; ; n++ {
				dead, counts := killedAfter(t, n, more)
				if counts {
					killed++
				}
				if !dead {
					break
				}
			}
			if killed < 5 {
				t.Errorf("there was something to look at after %d kills only", killed)
			}
		})
	}
}

// killedAfter kills a run with a sub-agent after n batches and resumes it. dead reports whether the run
// had that many batches, counts whether its call was recorded.
func killedAfter(t *testing.T, n int, more string) (dead, counts bool) {
	t.Helper()
	disk := memory.New()
	store := &crashingStore{Store: disk, left: n}
	o := agent.Options{Session: session.RestoreOptions{SessionID: "lead"}, Tools: registry(t, hasContent("look", "a tree"))}
	first := o
	first.Sessions, first.Background = session.New(store, nil), &agent.Background{}
	child := play(t, step{uses: []transcript.ToolUse{use("x1", "look", `{}`)}}, step{text: "found it"})
	h := newSubagentEnv(t, first, []step{{uses: []transcript.ToolUse{delegate("c1", "scout", "find it", more)}}, {text: "so"}, {text: "so it is"}},
		map[string]*fake{"scout": child}, kind("scout"))
	for _, err := range h.parent.Work(t.Context(), transcript.Text{Text: "begin"}) {
		if err != nil {
			break
		}
	}
	_ = h.parent.Close() // ends the goroutines; nothing is recorded
	if dead = store.dead; !dead {
		return false, false
	}
	second := o
	second.Sessions, second.Background, second.Session.Takeover = session.New(disk, nil), &agent.Background{}, true
	loaded, err := second.Sessions.Load(t.Context(), "lead", nil)
	if err != nil || !calledIn(loaded.Items, "c1") {
		return true, false
	}
	answered, _ := answersOf(loaded.Items, "c1")
	before, err := second.Sessions.List(t.Context(), session.Query{Owner: "lead"})
	if err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("killed after %d batches", n)
	again := func() *fake { return play(t, step{text: "again"}, step{text: "again"}, step{text: "again"}) }
	kinds := map[string]*fake{"scout": again()}
	b := newSubagentEnv(t, second, []step{{text: "I see"}, {text: "I see"}}, kinds, kind("scout"))
	prompt(t, b.parent, "go on")
	items := b.parent.Snapshot().Items
	results, notes := answersOf(items, "c1")
	if results != 1 {
		t.Errorf("%s: the call has %d results", at, results)
	}
	if len(before.Sessions) == 1 {
		id := before.Sessions[0].ID
		text, _ := resultText(t, b.parent, "c1")
		if !strings.Contains(text+strings.Join(notes, "\n"), id) {
			t.Errorf("%s, answered %d: nothing names %s: %q %q", at, answered, id, text, notes)
		}
		b.play.steps = append(b.play.steps, step{uses: []transcript.ToolUse{delegate("c2", "scout", "and then?", `,"resume":"`+id+`"`)}}, step{text: "done"})
		b.play.steps = b.play.steps[len(b.play.steps)-2:]
		prompt(t, b.parent, "go on with it")
		if text, isError := resultText(t, b.parent, "c2"); isError || !strings.HasPrefix(text, "again") {
			t.Errorf("%s: after resume the result is %q, error %v", at, text, isError)
		}
	}
	if err := b.parent.Close(); err != nil {
		t.Errorf("%s: %v", at, err)
	}
	for _, m := range append(before.Sessions, session.Meta{ID: "lead"}) {
		if r, err := second.Sessions.Verify(t.Context(), m.ID); err != nil || !r.OK() {
			t.Errorf("%s: %s: %+v %v", at, m.ID, r, err)
		}
	}
	return true, true
}

func calledIn(items []transcript.Encoded, use string) bool {
	for _, e := range items {
		for _, u := range e.Uses() {
			if u.ID == use {
				return true
			}
		}
	}
	return false
}

// A process that loses its session loses its sub-agents, too: they do nothing more, and the new lease
// holder can resume them.
func TestTakeoverEndsSubagents(t *testing.T) {
	store := memory.New()
	o := agent.Options{Session: session.RestoreOptions{SessionID: "lead"}}
	first, second := o, o
	ran := false
	danger := probe{name: "danger", run: func(context.Context, *tool.Call) (tool.Result, error) {
		ran = true
		return tool.Text("boom"), nil
	}}
	// The old process cannot end during the takeover: its lease expires.
	first.Sessions, first.Tools = session.New(store, &session.Options{TTL: 2 * time.Second}), registry(t, danger)
	second.Sessions, second.Session.Takeover = session.New(store, nil), true
	var taken string
	takes := func(context.Context) {
		begun, err := second.Sessions.Children(t.Context(), "lead")
		if err != nil || len(begun) != 1 {
			t.Errorf("begun %+v: %v", begun, err)
			return
		}
		taken = begun[0].ID
		b := newSubagentEnv(t, second, []step{{uses: []transcript.ToolUse{delegate("c2", "scout", "go on", `,"resume":"`+taken+`"`)}}, {text: "so"}},
			map[string]*fake{"scout": play(t, step{text: "mine now"})}, kind("scout"))
		prompt(t, b.parent, "go on")
		if text, isError := resultText(t, b.parent, "c2"); isError || !strings.HasPrefix(text, "mine now") {
			t.Errorf("after resume the result is %q, error %v", text, isError)
		}
		if err := b.parent.Close(); err != nil {
			t.Error(err)
		}
	}
	a := newSubagentEnv(t, first, []step{{uses: []transcript.ToolUse{delegate("c1", "scout", "go", "")}}},
		map[string]*fake{"scout": play(t, step{uses: []transcript.ToolUse{use("x1", "danger", `{}`)}, during: takes})}, kind("scout"))
	if _, err := a.parent.Prompt(t.Context(), "begin"); !errors.Is(err, session.ErrFenced) {
		t.Errorf("the old process ended with %v", err)
	}
	_ = a.parent.Close() // fails: it has lost the session
	if ran {
		t.Error("it went on")
	}
	if r, err := second.Sessions.Verify(t.Context(), taken); err != nil || !r.OK() {
		t.Errorf("%+v %v", r, err)
	}
}
