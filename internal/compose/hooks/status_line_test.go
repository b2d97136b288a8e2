package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
)

// statusLine opens the status line with a command in the user's settings.
func statusLine(t *testing.T, command string, noSandbox bool) *StatusLine {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	e := &env.Env{Vars: []string{"HOME=" + home, "HOLDFAST_HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-1"}, Managed: filepath.Join(home, "none")}
	text := `{"statusLine": {"type": "command", "command": "` + command + `"}}`
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := e.SettingsFor(dir)
	if err != nil {
		t.Fatal(err)
	}
	line, err := OpenStatusLine(&Options{Env: e, Settings: s, Folders: []string{s.Cwd()}, NoSandbox: noSandbox})
	if err != nil {
		t.Skipf("no sandbox here: %v", err)
	}
	t.Cleanup(line.Close)
	return line
}

func TestStatusLine(t *testing.T) {
	for _, noSandbox := range []bool{false, true} {
		for _, tt := range []struct{ command, out, err string }{
			{"cat; echo :$COLUMNS", "in\n:70\n", ""},
			{"echo ${ANTHROPIC_API_KEY:-no key}", "no key\n", ""},
			{"true", "", "it printed nothing"},
			{"echo bad >&2; exit 3", "", "it ended with exit code 3: bad"},
			{"head -c 50000 /dev/zero | tr '\\\\0' x", strings.Repeat("x", statusOutput), ""},
		} {
			out, err := statusLine(t, tt.command, noSandbox).Run(t.Context(), []byte("in\n"), 70)
			if out != tt.out || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
				t.Errorf("%s (no sandbox: %t): %q %v", tt.command, noSandbox, out[:min(len(out), 80)], err)
			}
		}
	}
}

// The command cannot change the project.
func TestStatusLineReadsOnly(t *testing.T) {
	s := statusLine(t, "echo x > made; echo done", false)
	if _, err := s.Run(t.Context(), nil, 80); err != nil {
		t.Log(err)
	}
	if _, err := os.Stat(filepath.Join(s.need.Settings.Cwd(), "made")); err == nil {
		t.Error("it wrote a file")
	}
}

func TestStatusLineTakesTooLong(t *testing.T) {
	start := time.Now()
	_, err := statusLine(t, "sleep 60 & sleep 60", true).Run(t.Context(), nil, 80)
	if err == nil || err.Error() != "it did not end within 2s" || time.Since(start) > 20*time.Second {
		t.Errorf("%v after %s", err, time.Since(start))
	}
}
