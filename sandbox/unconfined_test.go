package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

func unconfined(t *testing.T) *Sandbox {
	t.Helper()
	box, err := Open(nil, &OpenOptions{NoConfinement: true})
	if errors.Is(err, kernel.ErrUnsupported) {
		testneed.Need(t, "no pid namespaces here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

func TestUnconfined(t *testing.T) {
	box, dir := unconfined(t), t.TempDir()
	cmd := box.Command(context.Background(), "/bin/sh", "-c", "echo x > made; id -u; cat /root/nothing-there")
	cmd.Dir, cmd.Env = dir, os.Environ()
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), fmt.Sprintln(os.Getuid())) {
		t.Errorf("%q, %v", out, err)
	}
	if text := cmd.Report().Text(); text != "" {
		t.Errorf("the report is about nothing that was refused: %s", text)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(b) != "x\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestUnconfinedKillsDescendants(t *testing.T) {
	box := unconfined(t)
	cmd := box.Command(context.Background(), "/bin/sh", "-c", "(setsid sleep 1000 &); echo on")
	out, err := cmd.CombinedOutput() // ends when no process has the pipe open any more
	if err != nil || string(out) != "on\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func ExampleOpen_unconfined() {
	box, err := Open(nil, &OpenOptions{NoConfinement: true})
	if err != nil {
		fmt.Println("on") // a kernel without pid namespaces
		return
	}
	defer box.Close()
	out, _ := box.Command(context.Background(), "/bin/sh", "-c", "echo on; setsid sleep 1000 & exit 0").Output()
	fmt.Print(string(out))
	// Output: on
}
