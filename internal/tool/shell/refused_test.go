package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/tool"
)

// newRefusedEnv has a script that writes into a folder outside of the workspace, which it names.
func newRefusedEnv(t *testing.T, opts *shell.Options, s *sandbox.Settings) (b *shellEnv, tree string) {
	t.Helper()
	outside, ok := testneed.OutsideTmp()
	if !ok {
		t.Skip("no folder of this user outside of /tmp: set HOME to one")
	}
	home, err := os.MkdirTemp(outside, "holdfast-refused-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if home, err = filepath.EvalSymlinks(home); err != nil {
		t.Fatal(err)
	}
	b = openWith(t, opts, s, &sandbox.OpenOptions{Home: home})
	tree = filepath.Join(home, ".tool")
	script := "echo run >>runs; mkdir -p " + tree + "/data && echo hi >" + tree + "/data/x && echo written"
	if err := os.WriteFile(filepath.Join(b.dir, "w.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return b, tree
}

func timesRun(t *testing.T, b *shellEnv) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// A write that the sandbox refuses is one question, with the folder that the command needs. After a
// yes the command runs again.
func TestRefusedWriteIsAQuestion(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer error
		runs   int
		want   []string
	}{
		{"yes", nil, 2, []string{"written", "this was allowed, and the command was run again"}},
		{"no", errors.New("permission denied by the user"), 1, []string{"not run again: permission denied by the user", "holdfast sandbox allow --write "}},
		{"nobody", tool.ErrUndecided, 1, []string{"holdfast sandbox allow --write ", "Exit code: 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, tree := newRefusedEnv(t, nil, &sandbox.Settings{})
			var asked []policy.Request
			c := call(`{"command":"sh w.sh"}`)
			c.Ask = func(_ context.Context, r policy.Request) error {
				asked = append(asked, r)
				return tt.answer
			}
			r, err := b.bash.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if len(asked) != 1 || asked[0].Tool != "Bash" || asked[0].Operation != policy.OpWrite || asked[0].Resource != tree || asked[0].Base != "absent" || !asked[0].Opens() {
				t.Fatalf("asked %+v, about %s", asked, tree)
			}
			var in struct{ Command, Refused string }
			if err := json.Unmarshal(asked[0].Input, &in); err != nil || in.Command != "sh w.sh" || !strings.Contains(in.Refused, tree) {
				t.Errorf("shown %s", asked[0].Input)
			}
			if n := timesRun(t, b); n != tt.runs {
				t.Errorf("it ran %d times", n)
			}
			for _, want := range tt.want {
				if !strings.Contains(textOf(r), want) {
					t.Errorf("%q is not in:\n%s", want, textOf(r))
				}
			}
			if _, err := os.Stat(tree); (err == nil) != (tt.answer == nil) {
				t.Errorf("%s: %v", tree, err)
			}
			// The yes was for this command.
			os.RemoveAll(tree)
			asked = nil
			if _, err := b.bash.Run(t.Context(), c); err != nil || len(asked) != 1 {
				t.Errorf("then asked %+v, %v", asked, err)
			}
		})
	}
}

// A kind of sockets is a question if the command has told of the error, and not if it only tried.
func TestRefusedSocketsAreAQuestion(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		testneed.Need(t, "no python3 here: scripts/services env tools")
	}
	for line, want := range map[string]int{
		`python3 -c 'import socket; socket.socket(socket.AF_UNIX); print("opened")'`: 1,
		`python3 -c '
import socket
try: socket.socket(socket.AF_UNIX)
except OSError: pass
print("opened")'; exit 1`: 0,
	} {
		b, _ := newRefusedEnv(t, nil, &sandbox.Settings{})
		asked := 0
		c := call("")
		c.Input, _ = json.Marshal(map[string]string{"command": line})
		c.Ask = func(_ context.Context, r policy.Request) error {
			if asked++; r.Resource != shell.UnixSockets || r.Operation != "" || !r.Opens() {
				t.Errorf("asked %+v", r)
			}
			return nil
		}
		r, err := b.bash.Run(t.Context(), c)
		if err != nil || asked != want || !strings.Contains(textOf(r), "opened") {
			t.Errorf("%s: asked %d times, %q, %v", line, asked, textOf(r), err)
		}
	}
}

// What is open for the session is open from the start, and no longer once it is revoked.
func TestOpenedForTheSession(t *testing.T) {
	open := &sandbox.Settings{}
	b, tree := newRefusedEnv(t, &shell.Options{SandboxGrants: func() *sandbox.Settings { return open }}, &sandbox.Settings{})
	open = &sandbox.Settings{AdditionalWritePaths: []string{tree}}
	if got, _ := b.run(t.Context(), "sh w.sh", 0); got != "written\n" {
		t.Errorf("while it is open: %q", got)
	}
	open = &sandbox.Settings{}
	if got, _ := b.run(t.Context(), "sh w.sh", 0); !strings.Contains(got, "Read-only file system") {
		t.Errorf("once it is closed: %q", got)
	}
}

// What only the sandbox's settings, an administrator or a person outside could open is no question.
func TestNoQuestion(t *testing.T) {
	for name, tt := range map[string]struct {
		settings sandbox.Settings
		line     string
	}{
		"allowedWritePaths":  {sandbox.Settings{AllowedWritePaths: []string{"/dev/shm"}}, "sh w.sh"},
		"the home folder":    {sandbox.Settings{}, "touch $HOME/file-of-mine/.. ; mkdir $HOME/../x"},
		"starts a shell":     {sandbox.Settings{}, "echo x >>$HOME/.bashrc"},
		"a system folder":    {sandbox.Settings{}, "touch /usr/bin/x"},
		"the program's own":  {sandbox.Settings{}, "sh w.sh || true"},
		"git's hooks":        {sandbox.Settings{}, "mkdir -p $HOME/.config/git && touch $HOME/.config/git/config"},
		"an error by itself": {sandbox.Settings{}, "cat /nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := newRefusedEnv(t, nil, &tt.settings)
			c := call("")
			c.Input, _ = json.Marshal(map[string]string{"command": tt.line})
			c.Ask = func(_ context.Context, r policy.Request) error {
				t.Errorf("asked %+v", r)
				return nil
			}
			if r, err := b.bash.Run(t.Context(), c); err != nil || textOf(r) == "" {
				t.Errorf("%q, %v", textOf(r), err)
			}
		})
	}
}
