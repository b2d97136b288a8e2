package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

func openStore(t *testing.T) *Store {
	t.Helper()
	s, err := NewStore(t.Context(), filepath.Join(t.TempDir(), "transcripts.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func open(t *testing.T, s *Store, script string, o *agent.Options) *PersistentAgent {
	t.Helper()
	m, err := scripted.New([]byte(script), nil)
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewPersistentAgent(t.Context(), s, "one", m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Agent.Close() })
	return k
}

// stored returns the stored items as JSON.
func stored(t *testing.T, s *Store) []string {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), `SELECT json FROM items WHERE session_id = 'one' ORDER BY seq`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// checkSame checks that the stored transcript and the agent's are identical.
func checkSame(t *testing.T, s *Store, k *PersistentAgent) {
	t.Helper()
	var want []string
	for _, e := range k.Agent.Snapshot().Items {
		want = append(want, string(e.JSON))
	}
	if got := stored(t, s); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("stored:\n%s\ntranscript:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func prompt(t *testing.T, k *PersistentAgent, text string) string {
	t.Helper()
	answer, err := k.Prompt(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// lookOptions returns options with a read-only tool.
func lookOptions(t *testing.T) *agent.Options {
	t.Helper()
	l, err := tool.New(tool.Spec{Name: "Look", Description: "looks", ReadOnly: true},
		func(context.Context, *tool.Call, struct{}) (tool.Result, error) { return tool.Text("seen"), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.NewRegistry(l)
	if err != nil {
		t.Fatal(err)
	}
	return &agent.Options{Tools: r, Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}}
}

const lookTwice = `steps: [{tool_uses: [{tool: Look, input: {}}]}, {tool_uses: [{tool: Look, input: {}}]}, {text: done}]`

// Each item is stored once, in the order of the transcript.
func TestObserverMirrorsEachItemInOrder(t *testing.T) {
	s := openStore(t)
	k := open(t, s, lookTwice, lookOptions(t))
	if text := prompt(t, k, "look twice"); text != "done" {
		t.Fatal(text)
	}
	if n := len(stored(t, s)); n != 6 { // user, two rounds of use and result, answer
		t.Errorf("%d items", n)
	}
	checkSame(t, s, k)
}

// A stored transcript is restored unchanged, the first state awaits input, and the session continues.
func TestRoundTrip(t *testing.T) {
	s := openStore(t)
	first := open(t, s, lookTwice, lookOptions(t))
	prompt(t, first, "look twice")
	before := stored(t, s)

	second := open(t, s, `steps: [{text: again}]`, lookOptions(t))
	if second.Restored != len(before) {
		t.Fatalf("%d items restored of %d", second.Restored, len(before))
	}
	d := second.Agent.Driver(nil)
	step, err := second.Next(t.Context(), d)
	if err != nil || !step.AwaitingInput {
		t.Fatalf("the first step is %+v, %v", step, err)
	}
	checkSame(t, s, second) // restoring writes nothing
	if text := prompt(t, second, "continue"); text != "again" {
		t.Fatal(text)
	}
	after := stored(t, s)
	if len(after) != len(before)+2 || strings.Join(after[:len(before)], "\n") != strings.Join(before, "\n") {
		t.Errorf("%d items became %d", len(before), len(after))
	}
	checkSame(t, s, second)
}

// A snapshot has the transcript and the pending input, and changes nothing.
func TestSnapshot(t *testing.T) {
	s := openStore(t)
	k := open(t, s, `steps: [{text: hello}]`, nil)
	prompt(t, k, "hi")
	if err := k.Agent.Submit(t.Context(), transcript.Text{Text: "later"}); err != nil {
		t.Fatal(err)
	}
	snap := k.Agent.Snapshot()
	if len(snap.Items) != 2 || len(snap.Pending) != 1 || snap.Pending[0].Text() != "later" {
		t.Errorf("%d items, %d pending", len(snap.Items), len(snap.Pending))
	}
	checkSame(t, s, k)
}

// keepLast is a mutator that keeps the last two items.
type keepLast struct{}

func (keepLast) Name() string { return "keep-last" }

func (keepLast) Mutate(_ context.Context, c agent.MutatorContext) ([]transcript.Encoded, error) {
	if !c.TurnEnded || len(c.Items) < 3 {
		return nil, nil
	}
	return c.Items[len(c.Items)-2:], nil
}

// A rewrite replaces the stored transcript. Later items are added to it.
func TestRewriteReplacesStored(t *testing.T) {
	s := openStore(t)
	k := open(t, s, `steps: [{text: a}, {text: b}, {text: c}]`, &agent.Options{Mutators: []agent.Mutator{keepLast{}}})
	for _, text := range []string{"one", "two", "three"} {
		prompt(t, k, text)
		checkSame(t, s, k)
	}
	if n := len(stored(t, s)); n >= 6 {
		t.Errorf("nothing was rewritten: %d items", n)
	}
}

// A transcript that ends in an open tool call is repaired at the start. The repair is a rewrite.
func TestRepairAtStartIsStored(t *testing.T) {
	s := openStore(t)
	for _, it := range []transcript.Item{
		{ID: "u1", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "look"}}},
		{ID: "a1", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.ToolUse{ID: "c1", Name: "Look", Input: []byte(`{}`)}}},
	} {
		if err := s.Append(t.Context(), "one", it.MustEncode()); err != nil {
			t.Fatal(err)
		}
	}
	k := open(t, s, `steps: [{text: looked}, {text: done}]`, lookOptions(t))
	prompt(t, k, "continue")
	checkSame(t, s, k)
	if list := stored(t, s); len(list) != 5 { // including the missing result
		t.Errorf("%d items:\n%s", len(list), strings.Join(list, "\n"))
	}
	again := open(t, s, `steps: [{text: done}]`, lookOptions(t))
	if _, err := again.Next(t.Context(), again.Agent.Driver(nil)); err != nil {
		t.Fatal(err)
	}
	checkSame(t, s, again) // nothing is left to repair
}

// The program runs twice with one session.
func TestRunTwice(t *testing.T) {
	db := filepath.Join(t.TempDir(), "transcripts.db")
	for range 2 {
		if err := run(t.Context(), db, "notes", "remember the number 7"); err != nil {
			t.Fatal(err)
		}
	}
	s, err := NewStore(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if items, err := s.Load(t.Context(), "notes"); err != nil || len(items) != 4 {
		t.Errorf("%d items, %v", len(items), err)
	}
}
