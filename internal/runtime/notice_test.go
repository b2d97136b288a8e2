package runtime

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Ignored settings of a run in the daemon are logged and emitted as notices to its client, unless that is
// the command line, which shows them itself.
func TestNoticesReachClient(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	own := filepath.Join(work, ".claude", "skills", "own")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, own, "SKILL.md", "---\nname: own\ndescription: is not trusted\n---\nHi.\n")
	write(t, dir, "play.yaml", "steps: [{text: done}]")
	const want = "1 skill of this folder (commands included) ignored: they changed or are not trusted"
	for _, via := range []string{"cli", "http"} {
		var log bytes.Buffer
		e := &env.Env{Vars: []string{"HOLDFAST_HOME=" + filepath.Join(dir, "home"), "HOME=" + dir, "PATH=" + os.Getenv("PATH")}}
		rt, err := Open(t.Context(), &Config{Env: e, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		made, err := rt.Make(t.Context(), runs.AgentRequest{Run: "r", Session: "r", Agent: strategy.Agent{Name: "a", Type: strategy.LLM}, Actor: runs.Actor{Name: "ann", Via: via}, Spec: runspec.Spec{Cwd: work, Model: "scripted/" + filepath.Join(dir, "play.yaml")}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(made.Model, &made.Options)
		if err != nil {
			t.Fatal(err)
		}
		made.Attach(a)
		reported := ""
		for e, err := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := e.(event.Notice); ok {
				reported += n.Text
			}
		}
		_ = a.Close()
		made.Close()
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(log.String(), want) {
			t.Errorf("logged %q", log.String())
		}
		if via == "http" && reported != want+"; review them with holdfast skills list, then run holdfast trust" || via == "cli" && reported != "" {
			t.Errorf("%s got %q", via, reported)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
