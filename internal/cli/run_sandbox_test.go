package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

const quietPlay = "steps:\n  - text: done\n"

// A user can turn off the sandbox, but not against the managed settings.
func TestNoSandboxManaged(t *testing.T) {
	for managed, want := range map[string]outcome.Outcome{
		`{}`:                                      outcome.OK,
		`{"sandbox":{}}`:                          outcome.Denied,
		`{"sandbox":{"deniedCommands":["rm"]}}`:   outcome.Denied,
		`{"sandbox":{"enabled":false}}`:           outcome.OK,
		`{"permissions":{"deny":["Bash(rm:*)"]}}`: outcome.OK,
	} {
		dir := t.TempDir()
		write(t, dir, "play.yaml", quietPlay)
		write(t, dir, "managed.json", managed)
		p, _, errs := program(t, dir, "run", "-m", "scripted/play.yaml", "--no-sandbox", "go")
		p.Managed = filepath.Join(dir, "managed.json")
		if code := Run(t.Context(), p); code != want.Exit {
			t.Errorf("%s: exit code %d, want %d\n%s", managed, code, want.Exit, errs)
		}
		if reported := strings.Contains(errs.String(), "--no-sandbox"); !reported {
			t.Errorf("%s: no notice: %s", managed, errs)
		}
	}
}

// If commands cannot be confined, the run fails before anything happens, with a hint.
func TestRunWithoutSandboxSupport(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "play.yaml", quietPlay)
	p, _, errs := program(t, dir, "run", "-m", "scripted/play.yaml", "--settings", `{"sandbox":{"allowedWritePaths":["/nonexistent-of-a-test"]}}`, "go")
	if code := Run(t.Context(), p); code != outcome.Sandbox.Exit || !strings.Contains(errs.String(), "hint:") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// A run removes its temporary folders.
func TestRunRemovesTempFolders(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	write(t, dir, "play.yaml", quietPlay)
	p, _, errs := program(t, dir, "run", "-m", "scripted/play.yaml", "go")
	p.Env = append(p.Env, "TMPDIR="+temp)
	if code := Run(t.Context(), p); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, pattern := range []string{filepath.Join(temp, "*"), filepath.Join(p.Getenv("HOLDFAST_HOME"), "output", "*")} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	if _, err := os.Stat(p.Getenv("HOLDFAST_HOME")); err != nil {
		t.Error(err)
	}
}
