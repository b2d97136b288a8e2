//go:build unix

package instructions_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/instructions"
)

func TestFIFOIgnored(t *testing.T) {
	dir := writeTree(t, map[string]string{"w/x": "", "user/.claude/x": ""})
	for _, name := range []string{"/w/AGENTS.md", "/user/.claude/CLAUDE.md"} {
		if err := syscall.Mkfifo(dir+name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := load(t, instructions.Options{Cwd: dir + "/w", User: dir + "/user"})
	if n := strings.Join(s.Notices(), "\n"); len(s.Files()) > 0 || strings.Count(n, "not a regular file") != 2 {
		t.Error(n)
	}
}

func TestWorldWritableIgnored(t *testing.T) {
	dir := writeTree(t, map[string]string{"w/x": "", "user/.claude/CLAUDE.md": "x"})
	if err := os.Chmod(dir+"/user/.claude/CLAUDE.md", 0o666); err != nil {
		t.Fatal(err)
	}
	s := load(t, instructions.Options{Cwd: dir + "/w", User: dir + "/user"})
	if n := s.Notices(); len(s.Files()) > 0 || len(n) != 1 || !strings.Contains(n[0], "it is world-writable; hint: chmod o-w") {
		t.Error(n)
	}
}
