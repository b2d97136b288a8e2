package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// requestTexts returns the texts of a request's messages, with their roles.
func requestTexts(f *fake, n int) (list []string) {
	for _, e := range f.items(&f.asked[n]) {
		list = append(list, string(e.Role())+": "+e.Text())
	}
	return list
}

func TestInstructionsFirstAndStable(t *testing.T) {
	s := sessions(t)
	var hookRuns []string
	o := agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"},
		Instructions: agent.Instructions{Text: "Run the tests.", Loaded: []hook.Input{{File: hook.File{Path: "/w/AGENTS.md", Memory: "Project", LoadReason: "session_start"}}}},
		Hooks: agent.Hooks{Registry: registryWith(t, hook.InstructionsLoaded, func(_ context.Context, in hook.Input) (*hook.Output, error) {
			hookRuns = append(hookRuns, fmt.Sprint(in.Event, " ", in.File.LoadReason, " ", in.File.Memory, " ", in.File.Path))
			return nil, nil
		})},
	}
	run := func(text string, steps ...step) *fake {
		t.Helper()
		m := play(t, steps...)
		a := newAgent(t, m, o)
		prompt(t, a, text)
		a.Close()
		return m
	}
	want := []string{"notification: Run the tests.", "user: hi"}
	if got := requestTexts(run("hi", step{text: "hello"}), 0); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	want = append(want, "assistant: hello", "user: more")
	if got := requestTexts(run("more", step{text: "x"}), 0); !slices.Equal(got, want) {
		t.Errorf("the prefix has changed: %q", got)
	}
	o.Instructions.Text = "Run them all."
	got := requestTexts(run("third", step{text: "y"}), 0)
	if n := len(got); !slices.Equal(got[:4], want) || !strings.Contains(got[n-2], "files changed") || !strings.HasSuffix(got[n-2], "Run them all.") {
		t.Errorf("%q", got)
	}
	if got := requestTexts(run("fourth", step{text: "y"}), 0); strings.Count(strings.Join(got, "\n"), "Run them all.") != 1 {
		t.Errorf("sent twice: %q", got)
	}
	o.Instructions.Text = ""
	if got := requestTexts(run("fifth", step{text: "y"}), 0); !strings.Contains(got[len(got)-2], "no longer apply") {
		t.Errorf("%q", got)
	}
	if len(hookRuns) != 5 || hookRuns[0] != "InstructionsLoaded session_start Project /w/AGENTS.md" {
		t.Errorf("%q", hookRuns)
	}
}

func TestInstructionsSentAgainAfterCompaction(t *testing.T) {
	var hookRuns []string
	m := play(t, step{text: strings.Repeat("x", 4000)}, step{text: "b"}, step{text: "the story"}, step{text: "on"})
	a := newAgent(t, m, agent.Options{
		Compact:      agent.Compact{KeepTokens: 100},
		Instructions: agent.Instructions{Text: "Run the tests.", Loaded: []hook.Input{{File: hook.File{Path: "/w/AGENTS.md", LoadReason: "include"}}}},
		Hooks: agent.Hooks{Registry: registryWith(t, hook.InstructionsLoaded, func(_ context.Context, in hook.Input) (*hook.Output, error) {
			hookRuns = append(hookRuns, in.File.LoadReason)
			return nil, nil
		})},
	})
	prompt(t, a, "a")
	prompt(t, a, "b")
	if _, _, err := a.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	prompt(t, a, "c")
	got := requestTexts(m, 3)
	if !slices.Contains(got, "notification: Run the tests.") || strings.HasPrefix(got[0], string(transcript.RoleNotification)) {
		t.Errorf("%q", got)
	}
	if want := []string{"include", "compact"}; !slices.Equal(hookRuns, want) {
		t.Errorf("heard %q, want %q", hookRuns, want)
	}
}
