package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// lastResultOf returns the text of the newest tool result.
func lastResultOf(t testing.TB, a *agent.Agent) (text string) {
	t.Helper()
	for _, e := range a.Snapshot().Items {
		it, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range it.Parts {
			if r, ok := p.(transcript.ToolResult); ok {
				text = transcript.Item{Parts: r.Content}.Text()
			}
		}
	}
	return text
}

// An agent that resumes a session with new tools may change the files that the transcript shows.
func TestResumedSessionKnowsReadFiles(t *testing.T) {
	edit := step{uses: usesOf(use("e", "Edit", `{"file_path":"a","old_string":"one","new_string":"two"}`))}
	read := step{uses: usesOf(use("r", "Read", `{"file_path":"a"}`))}
	part := step{uses: usesOf(use("r", "Read", `{"file_path":"a","limit":1}`))}
	wrote := step{uses: usesOf(use("w", "Write", `{"file_path":"new","content":"one"}`))}
	compact := agent.Compact{Items: 4, Steps: []agent.Mutator{agent.CompactionStep{Step: "keepRecent", Items: 2}}}
	for name, c := range map[string]struct {
		first   []step
		compact agent.Compact
		between func(t *testing.T, dir string)
		last    step
		want    string
	}{
		"read":             {[]step{read, {text: "ok"}}, agent.Compact{}, nil, edit, "Successfully edited"},
		"read in part":     {[]step{part, {text: "ok"}}, agent.Compact{}, nil, edit, "Successfully edited"},
		"not read":         {[]step{{text: "ok"}}, agent.Compact{}, nil, edit, "has not been read in this session"},
		"compacted":        {[]step{read, {text: "ok"}, {text: "ok"}}, compact, nil, edit, "has not been read in this session"},
		"changed":          {[]step{read, {text: "ok"}}, agent.Compact{}, func(t *testing.T, dir string) { put(t, dir, "a", "one more") }, edit, "has changed since it was read"},
		"changed and back": {[]step{read, {text: "ok"}}, agent.Compact{}, func(t *testing.T, dir string) { put(t, dir, "a", "one\n") }, edit, "Successfully edited"},
		"written": {
			[]step{wrote, {text: "ok"}},
			agent.Compact{},
			nil,
			step{uses: usesOf(use("w2", "Write", `{"file_path":"new","content":"two"}`))},
			"Successfully wrote",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "a", "one\n")
			s := session.New(memory.New(), nil)
			o := agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "s"}, Compact: c.compact, Mask: masker(t)}
			o.Tools = registry(t, fileTools(t, dir)...)
			a := newAgent(t, play(t, c.first...), o)
			prompt(t, a, "go")
			if len(c.first) > 2 {
				prompt(t, a, "more")
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if c.between != nil {
				c.between(t, dir)
			}
			o.Tools = registry(t, fileTools(t, dir)...)
			b := newAgent(t, play(t, c.last, step{text: "done"}), o)
			prompt(t, b, "go on")
			if got := lastResultOf(t, b); !strings.Contains(got, c.want) {
				t.Errorf("the model read %q, want %q", got, c.want)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A resumed sub-agent, which has new tools each time, may change the files that its transcript shows.
func TestResumedSubagentKnowsReadFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "one")
	child := play(t,
		step{uses: usesOf(use("r", "Read", `{"file_path":"a"}`))}, step{text: "read"},
		step{uses: usesOf(use("e", "Edit", `{"file_path":"a","old_string":"one","new_string":"two"}`))}, step{text: "changed"})
	subs, err := agent.NewSubagents(&agent.SubagentOptions{
		Definitions: []agent.Definition{{Name: "w", Description: "works", Prompt: "work", Model: "w"}},
		Model:       func(string) (model.Model, error) { return child, nil },
		Tools: func(context.Context, agent.SubagentRequest) (agent.SubagentSetup, error) {
			return agent.SubagentSetup{Tools: registry(t, fileTools(t, dir)...)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := session.New(memory.New(), nil)
	m := play(t, step{uses: usesOf(delegate("c1", "w", "read it", ""))}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{Sessions: s, Subagents: subs, Tools: registry(t, subs.Tool())})
	prompt(t, a, "go")
	page, err := s.List(t.Context(), session.Query{Owner: a.SessionID()})
	if err != nil || len(page.Sessions) != 1 {
		t.Fatalf("%+v, %v", page.Sessions, err)
	}
	m.steps = append(m.steps, step{uses: usesOf(delegate("c2", "w", "change it", `,"resume":"`+page.Sessions[0].ID+`"`))}, step{text: "done"})
	prompt(t, a, "go on")
	if got, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(got) != "two" {
		text, _ := resultText(t, a, "c2")
		t.Errorf("a is %q, %v; the parent read %q", got, err, text)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
