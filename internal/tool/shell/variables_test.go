package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/shell"
)

// What hooks export is there in every command, and nothing else of it shows.
func TestVariables(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		file := filepath.Join(t.TempDir(), "env.sh")
		b := open(t, &shell.Options{EnvFile: file})
		want := func(line, want string) {
			t.Helper()
			if got, _ := b.run(t.Context(), line, 0); got != want {
				t.Errorf("%s: got %q, want %q", line, got, want)
			}
		}
		want("echo ${A-none}", "none\n") // there is no file yet
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("")
		want("echo ${A-none}", "none\n")
		write("export A='one two'\nexport B=\"$A three\" # all\necho noise\nfalse\n")
		want("echo $A; sh -c 'echo $B'", "one two\none two three\n")
		want("echo $? $LINENO", "0 1\n")
		want("\necho $LINENO", "2\n")
		want("cd . && echo $A", "one two\n")
		want("echo ${HOLDFAST_VARIABLES-gone}; env | grep -c HOLDFAST_VARIABLES", "gone\n0\nExit code: 1")
		want("# a comment\ncat <<E\n$A\nE", "one two\n")
		write("export A=new PATH=\"/opt/x:$PATH\"\n")
		want("echo $A ${B-none} ${PATH%%:*}", "new none /opt/x\n")
		write("export A='")
		if got, _ := b.run(t.Context(), "echo went on", 0); !strings.Contains(got, "unexpected EOF") || !strings.HasSuffix(got, "went on\n") {
			t.Errorf("a script that is broken: %q", got)
		}
	})
}

// A script that cannot be taken as it is keeps commands from starting.
func TestBadVariables(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"large": "export A=" + strings.Repeat("x", 64<<10),
		"NUL":   "export A=\x00",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b := open(t, &shell.Options{EnvFile: file})
		if got, r := b.run(t.Context(), "touch ran", 0); !r.IsError || !strings.Contains(got, "variables set by hooks") {
			t.Errorf("%s: %q", name, got)
		}
		if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
			t.Errorf("%s: the command ran", name)
		}
	}
	b := open(t, &shell.Options{EnvFile: dir})
	if got, r := b.run(t.Context(), "touch ran", 0); !r.IsError {
		t.Errorf("a folder: %q", got)
	}
}
