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

// toldIn are the texts of a request's messages, by role.
func toldIn(f *fake, n int) (list []string) {
	for _, e := range f.items(&f.asked[n]) {
		list = append(list, string(e.Role())+": "+e.Text())
	}
	return list
}

func TestInstructionsComeFirstAndStay(t *testing.T) {
	s := sessions(t)
	var heard []string
	o := agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"},
		Instructions: agent.Instructions{Text: "Run the tests.", Loaded: []hook.Input{{File: hook.File{Path: "/w/AGENTS.md", Memory: "Project", LoadReason: "session_start"}}}},
		Hooks: agent.Hooks{Registry: hooking(t, hook.InstructionsLoaded, func(_ context.Context, in hook.Input) (*hook.Output, error) {
			heard = append(heard, fmt.Sprint(in.Event, " ", in.File.LoadReason, " ", in.File.Memory, " ", in.File.Path))
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
	if got := toldIn(run("hi", step{text: "hello"}), 0); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	want = append(want, "assistant: hello", "user: more")
	if got := toldIn(run("more", step{text: "x"}), 0); !slices.Equal(got, want) {
		t.Errorf("the prefix has changed: %q", got)
	}
	o.Instructions.Text = "Run them all."
	got := toldIn(run("third", step{text: "y"}), 0)
	if n := len(got); !slices.Equal(got[:4], want) || !strings.Contains(got[n-2], "files changed") || !strings.HasSuffix(got[n-2], "Run them all.") {
		t.Errorf("%q", got)
	}
	if got := toldIn(run("fourth", step{text: "y"}), 0); strings.Count(strings.Join(got, "\n"), "Run them all.") != 1 {
		t.Errorf("told twice: %q", got)
	}
	o.Instructions.Text = ""
	if got := toldIn(run("fifth", step{text: "y"}), 0); !strings.Contains(got[len(got)-2], "no longer apply") {
		t.Errorf("%q", got)
	}
	if len(heard) != 5 || heard[0] != "InstructionsLoaded session_start Project /w/AGENTS.md" {
		t.Errorf("%q", heard)
	}
}

func TestInstructionsAreToldAgainAfterACompaction(t *testing.T) {
	var heard []string
	m := play(t, step{text: strings.Repeat("x", 4000)}, step{text: "b"}, step{text: "the story"}, step{text: "on"})
	a := newAgent(t, m, agent.Options{
		Compact:      agent.Compact{KeepTokens: 100},
		Instructions: agent.Instructions{Text: "Run the tests.", Loaded: []hook.Input{{File: hook.File{Path: "/w/AGENTS.md", LoadReason: "include"}}}},
		Hooks: agent.Hooks{Registry: hooking(t, hook.InstructionsLoaded, func(_ context.Context, in hook.Input) (*hook.Output, error) {
			heard = append(heard, in.File.LoadReason)
			return nil, nil
		})},
	})
	prompt(t, a, "a")
	prompt(t, a, "b")
	if _, _, err := a.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	prompt(t, a, "c")
	got := toldIn(m, 3)
	if !slices.Contains(got, "notification: Run the tests.") || strings.HasPrefix(got[0], string(transcript.RoleNotification)) {
		t.Errorf("%q", got)
	}
	if want := []string{"include", "compact"}; !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
}
