package strategy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFileIsPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, path := filepath.Join(dir, "pipe.md"), filepath.Join(dir, "s.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(pipe); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	text := "name: n\nversion: 1\nagents: {a: {systemPrompt: pipe.md}}\nflow: a\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}
