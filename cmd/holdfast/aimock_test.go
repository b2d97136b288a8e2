package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/aimock"
)

// TestMain runs the program itself when a test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("HOLDFAST_TEST_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// homeEnv is a folder with a git repository, a home and a model server.
type homeEnv struct {
	t    *testing.T
	repo string
	env  []string
	args []string // of every run: model and mode
}

func newHomeEnv(t *testing.T, model string, env ...string) *homeEnv {
	t.Helper()
	h := &homeEnv{t: t, repo: filepath.Join(t.TempDir(), "repo")}
	h.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "HOLDFAST_HOME=" + t.TempDir(), "HOLDFAST_TEST_PROGRAM=1",
	}, env...)
	h.args = []string{"-m", model, "--permission-mode", "bypassPermissions"}
	if err := os.Mkdir(h.repo, 0o755); err != nil {
		t.Fatal(err)
	}
	h.write("greet.sh", "#!/bin/sh\necho helo world\n")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "first"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = h.repo, h.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return h
}

func (h *homeEnv) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.repo, name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *homeEnv) read(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.repo, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

// holdfast runs the program and returns its output.
func (h *homeEnv) holdfast(args ...string) (stdout, stderr string) {
	h.t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env = h.repo, h.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		h.t.Fatalf("holdfast %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

func (h *homeEnv) run(args ...string) (stdout string) {
	h.t.Helper()
	stdout, _ = h.holdfast(append(append([]string{"run"}, h.args...), args...)...)
	return stdout
}

// The main use case against aimock, an independent model server, in both protocols: an agent edits a real
// repository, is resumed, and continues differently in a fork.
func TestMainUseCaseWithAimock(t *testing.T) {
	url := aimock.Start(t, "testdata/aimock.json")
	for _, c := range []struct {
		wire, model string
		env         []string
	}{
		{"messages", "anthropic/claude-sonnet-4-6", []string{"ANTHROPIC_API_KEY=sk-made-up", "ANTHROPIC_BASE_URL=" + url}},
		{"chat completions", "openai/gpt-5.1", []string{"OPENAI_API_KEY=sk-made-up", "OPENAI_BASE_URL=" + url + "/v1"}},
	} {
		t.Run(c.wire, func(t *testing.T) {
			h := newHomeEnv(t, c.model, c.env...)
			out := h.run("--output-format", "stream-json", "--include-partial-messages", "fix the greeting")
			if h.read("greet.sh") != "#!/bin/sh\necho hello world\n" {
				t.Errorf("greet.sh is %q", h.read("greet.sh"))
			}
			types := map[string]int{}
			var session string
			for line := range strings.Lines(out) {
				var m struct {
					Type      string `json:"type"`
					SessionID string `json:"session_id"`
					Result    string `json:"result"`
				}
				if err := json.Unmarshal([]byte(line), &m); err != nil {
					t.Fatalf("%v in %s", err, line)
				}
				types[m.Type]++
				session = m.SessionID
			}
			if types["system"] != 1 || types["assistant"] < 4 || types["user"] != 3 || types["result"] != 1 || types["stream_event"] < 8 {
				t.Errorf("events %v", types)
			}

			if got := h.run("-c", "what did you change?"); !strings.Contains(got, "helo became hello") {
				t.Errorf("-c answered %q", got)
			}

			first := h.items(session)[0]
			got := h.run("--resume", session, "--fork-session", "--at", first, "do it another way")
			if !strings.Contains(got, "I wrote a note instead.") || h.read("notes.txt") != "the greeting has a typing error\n" {
				t.Errorf("the fork answered %q", got)
			}

			list, _ := h.holdfast("sessions", "list", "--json")
			if n := strings.Count(list, `"parent": "`+session) + strings.Count(list, `"parent":"`+session); n != 1 {
				t.Errorf("the list names %d forks of %s:\n%s", n, session, list)
			}
			show, _ := h.holdfast("sessions", "show", session)
			for _, want := range []string{"fix the greeting", "Edit", "what did you change?"} {
				if !strings.Contains(show, want) {
					t.Errorf("show does not print %q:\n%s", want, show)
				}
			}
			if n := len(h.items(session)); n != 10 {
				t.Errorf("the source has %d items after the fork, want 10", n)
			}
			h.holdfast("sessions", "verify", session)
		})
	}
}

// items lists the IDs of a session's items from its export.
func (h *homeEnv) items(session string) (ids []string) {
	h.t.Helper()
	out, _ := h.holdfast("sessions", "export", session)
	for line := range strings.Lines(out) {
		var rec struct {
			Kind    string `json:"kind"`
			Payload struct {
				Item struct {
					ID string `json:"id"`
				} `json:"item"`
			} `json:"payload"`
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			h.t.Fatalf("%v in %s", err, line)
		}
		if rec.Kind == "item" {
			ids = append(ids, rec.Payload.Item.ID)
		}
	}
	return ids
}
