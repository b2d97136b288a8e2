package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/settings"
)

// everyday are simple commands as agents run them.
var everyday = []string{
	"ls -la", "git status", "git log --oneline -10", "go test ./...", "npm run build", "cat README.md", "grep -rn TODO src",
	"make test", "python3 script.py --flag", "cargo build --release", "mkdir -p a/b/c", "docker ps -a", "echo hello world",
	"find . -name '*.go'", "sed -n 1,10p file.txt",
}

func checkBatchOf(t testing.TB, text string) *checkBatch {
	t.Helper()
	s, err := settings.Load(&settings.Options{Cwd: t.TempDir(), Alone: true, Files: []string{text}})
	if err != nil {
		t.Fatal(err)
	}
	return &checkBatch{judge: newJudge(s, "/home/u")}
}

// BenchmarkPolicyCheck is one simple command, from the JSON of the line to that of
// the answer: 50,000 a second on one core are 20 µs each.
func BenchmarkPolicyCheck(b *testing.B) {
	for _, bb := range []struct{ name, settings string }{
		{"no-rules", `{}`},
		{"rules", `{"permissions": {"allow": ["Bash(git log:*)", "Read", "Bash(npm run test:*)"], "ask": ["Bash(git push:*)"], "deny": ["Bash(rm:*)", "Read(.env)"]}}`},
		{"sandbox", `{"permissions": {"deny": ["Bash(rm:*)"]}, "sandbox": {"deniedCommands": ["rm", "sudo", "curl"]}}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := checkBatchOf(b, bb.settings)
			var lines [][]byte
			for i, command := range everyday {
				line, err := json.Marshal(map[string]any{"id": i, "tool": "Bash", "input": map[string]string{"command": command}, "cwd": "/w", "mode": "default"})
				if err != nil {
					b.Fatal(err)
				}
				lines = append(lines, line)
			}
			var out []byte
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				out = c.line(b.Context(), out[:0], i, lines[i%len(lines)], nil)
			}
			if c.bad > 0 {
				b.Errorf("%d bad lines: %s", c.bad, out)
			}
		})
	}
}

var (
	_ = bytes.Equal
	_ = fmt.Sprint
	_ = strings.Contains
	_ = policy.Allow
)
