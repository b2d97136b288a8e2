package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/docgen"
)

// program returns a Program in a new folder, and its output.
func program(t *testing.T, dir string, args ...string) (p *command.Program, out, errs *bytes.Buffer) {
	t.Helper()
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return &command.Program{
		Args: args, Env: []string{"HOLDFAST_HOME=" + filepath.Join(dir, "home"), "HOME=" + dir, "PATH=" + os.Getenv("PATH")},
		Stdout: out, Stderr: errs, Getwd: func() (string, error) { return dir, nil },
		Clock: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}, out, errs
}

// write writes a file in a folder.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const streamPlay = `
name: play
chunk: 5
price: {input: 3, output: 15}
steps:
  - thinking: "hm \u202e"
    text: I look.
    usage: {input: 100, output: 10}
    tool_uses:
      - {id: r1, tool: Read, input: {file_path: a.txt}}
      - {id: w1, tool: Write, input: {file_path: b.txt, content: x}}
  - text: It ended.
    usage: {input: 200, output: 20}
`

// normalize replaces what differs from run to run.
func normalize(dir, s string) string {
	s = strings.ReplaceAll(s, dir, "/dir")
	for _, r := range [][2]string{
		{`"uuid":"[0-9a-f-]{36}"`, `"uuid":"UUID"`},
		{`01[0-9A-HJKMNP-TV-Z]{24}`, "ULID"},
		{`"holdfast_version":"[^"]+"`, `"holdfast_version":"V"`},
	} {
		s = regexp.MustCompile(r[0]).ReplaceAllString(s, r[1])
	}
	return s
}

func TestStreamGolden(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		code int
	}{
		{"stream", []string{"--output-format", "stream-json", "--permission-mode", "bypassPermissions"}, 0},
		{"partial", []string{"--output-format", "stream-json", "--include-partial-messages", "--permission-mode", "bypassPermissions"}, 0},
		{"denied", []string{"--output-format", "stream-json"}, 3},
		{"json", []string{"--output-format", "json", "--permission-mode", "bypassPermissions"}, 0},
		{"max_turns", []string{"--output-format", "json", "--max-turns", "1"}, 5},
		{"budget", []string{"--output-format", "json", "--max-budget-usd", "0.0001"}, 5},
		{"unknown_session", []string{"--output-format", "stream-json", "--resume", "nowhere"}, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, "play.yaml", streamPlay)
			write(t, dir, "a.txt", "one\n")
			args := append([]string{"run", "-m", "scripted/play.yaml"}, tt.args...)
			if tt.code != 9 {
				args = append(args, "--session-id", "golden")
			}
			p, out, errs := program(t, dir, append(args, "go")...)
			if code := Run(t.Context(), p); code != tt.code {
				t.Errorf("exit code %d, want %d; stderr: %s", code, tt.code, errs)
			}
			if errs.Len() > 0 {
				t.Errorf("stderr: %s", errs)
			}
			for line := range strings.Lines(out.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
			got, golden := normalize(dir, out.String()), filepath.Join("testdata", "stream", tt.name+".jsonl")
			docgen.Golden(t, golden, got)
		})
	}
}
