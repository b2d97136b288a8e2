package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// A workspace below /tmp, where commands have a private folder, is visible even if it is not writable.
func TestWorkspaceBelowTmpVisible(t *testing.T) {
	work, other, temp := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{work, other} {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("seen"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := NewChecker(&Settings{AllowedWritePaths: []string{temp}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	box, err := Open([]*Checker{c}, &OpenOptions{Folders: []string{work}, Temp: temp})
	if errors.Is(err, kernel.ErrUnsupported) {
		testneed.Need(t, "no sandbox here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	script := "cat " + work + "/file; echo > " + work + "/new; cat " + other + "/file"
	cmd := box.Command(context.Background(), "/bin/sh", "-c", script)
	cmd.Dir = work
	out, err := cmd.Output()
	if string(out) != "seen" || err == nil {
		t.Errorf("it printed %q, and %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(work, "new")); err == nil {
		t.Error("the workspace was written")
	}
}
