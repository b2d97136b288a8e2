package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

// tryOutOfMemory: when memory runs out, one session ends with that error; the others continue, and the
// container is recreated after they end.
func tryOutOfMemory(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	c := ensure(t, w, "blog")
	other := begin(t, c, "wait")
	exit, err := w.Exec(t.Context(), "blog", ExecOptions{Args: []string{"holdfast", "eat"}})
	if err != nil || !exit.OOM || exit.Code != 137 {
		t.Fatalf("%+v, %v", exit, err)
	}
	if err := Failure(exit); err == nil || err.Error() != "Container ran out of memory. It will be recreated on next use." || !strings.Contains(hint(err), "memory") {
		t.Errorf("%v", err)
	}
	if n, err := c.OOMKills(t.Context()); err != nil || n < 1 {
		t.Errorf("%d, %v", n, err)
	}
	again := ensure(t, w, "blog")
	if again.ID != c.ID || !strings.Contains(again.Outdated, "memory") {
		t.Errorf("it is in use: %+v", again)
	}
	if exit := other.finish(t); exit.Code != 0 {
		n, err := c.OOMKills(t.Context())
		t.Errorf("the other session: %+v; the kernel has killed %d times (%v)", exit, n, err)
	}
	_ = again.Close()
	_ = c.Close()
	if recreated := ensure(t, w, "blog"); recreated.ID == c.ID || recreated.Outdated != "" {
		t.Errorf("%+v", recreated)
	}
}

// tryCancelLeavesNothing: canceling a command ends it and every process it has started.
func tryCancelLeavesNothing(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	ctx, cancel := context.WithCancel(t.Context())
	r, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := w.Exec(ctx, "blog", ExecOptions{Args: []string{"holdfast", "spawn"}, Stdin: blocked{t.Context()}, Stdout: out})
		done <- err
	}()
	line := make([]byte, 5)
	if _, err := io.ReadFull(r, line); err != nil || string(line) != "child" {
		t.Fatalf("%q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	got := strings.Fields(output(t, w, "blog", "ps"))
	for _, word := range got {
		if word == "spawn" || word == "wait" {
			t.Errorf("left inside: %s", got)
		}
	}
}

// blocked is an input that never returns data.
type blocked struct{ ctx context.Context }

func (b blocked) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, io.EOF }

func TestExec(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	var out, failed bytes.Buffer
	for _, tt := range []struct {
		name    string
		o       ExecOptions
		code    int
		out     string
		failed  string
		wantErr string
	}{
		{"a word", ExecOptions{Args: []string{"holdfast", "say", "a", "b c"}}, 0, "a b c\n", "", ""},
		{"an input", ExecOptions{Args: []string{"holdfast", "cat"}, Stdin: strings.NewReader("text")}, 0, "text", "", ""},
		{"no input", ExecOptions{Args: []string{"holdfast", "cat"}}, 0, "", "", ""},
		{"an exit code", ExecOptions{Args: []string{"holdfast", "exit", "2", "boom"}}, 2, "", "boom\n", "Sandbox error (exit 2): boom"},
		{"no words", ExecOptions{Args: []string{"holdfast", "exit", "3"}}, 3, "", "", "Sandbox error (exit 3)"},
		{"a folder", ExecOptions{Args: []string{"holdfast", "read", "note"}, Dir: homeFolder}, 0, "kept", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			output(t, w, "blog", "write", "/home/agent/note", "kept")
			out.Reset()
			failed.Reset()
			tt.o.Stdout, tt.o.Stderr = &out, &failed
			exit, err := w.Exec(t.Context(), "blog", tt.o)
			if err != nil || exit.Code != tt.code || out.String() != tt.out || failed.String() != tt.failed {
				t.Errorf("%+v, %v, %q, %q", exit, err, out.String(), failed.String())
			}
			if err := Failure(exit); (err == nil) != (tt.wantErr == "") || err != nil && err.Error() != tt.wantErr {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := w.Exec(t.Context(), "blog", ExecOptions{Args: []string{"nothing"}}); !errors.Is(err, supervisor.ErrNotStarted) {
		t.Errorf("%v", err)
	}
	if _, err := w.Exec(t.Context(), "blog", ExecOptions{Args: []string{"holdfast", "env"}, Env: []string{"LD_PRELOAD=x"}}); !errors.Is(err, supervisor.ErrSpec) {
		t.Errorf("%v", err)
	}
}

// tryNothingSecret: a secret that is passed to a process is not readable by others.
func tryNothingSecret(t *testing.T) {
	t.Helper()
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	s, err := w.Create(t.Context(), Settings{Slug: "blog", Image: image, Credentials: []string{"GITHUB_TOKEN"}})
	if err != nil {
		t.Fatal(err)
	}
	secret := "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"
	t.Setenv("GITHUB_TOKEN", secret)
	c := ensure(t, w, "blog")
	var out bytes.Buffer
	o := ExecOptions{Args: []string{"holdfast", "env"}, Env: []string{"GITHUB_TOKEN=" + secret}, Stdout: &out}
	if exit, err := w.Exec(t.Context(), "blog", o); err != nil || exit.Code != 0 || !strings.Contains(out.String(), secret) || !strings.Contains(out.String(), "HOME=/home/agent\n") {
		t.Fatalf("%+v, %v, %s", exit, err, out.String())
	}
	if env := output(t, w, "blog", "env"); strings.Contains(env, secret) {
		t.Error("another session has it")
	}
	raw, err := e.InspectRaw(t.Context(), c.ID)
	if err != nil || strings.Contains(string(raw), secret) {
		t.Errorf("inspect has it: %v", err)
	}
	if !strings.Contains(string(raw), `"User":"`) || strings.Contains(string(raw), `"User":"0`) || strings.Contains(string(raw), `"User":""`) {
		t.Error("no user, or root")
	}
	text, err := e.Logs(t.Context(), c.ID, 1000)
	if err != nil || strings.Contains(text, secret) {
		t.Errorf("the log has it: %v", err)
	}
	err = filepath.WalkDir(w.dirs(s).Base, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if b, err := os.ReadFile(path); err != nil || bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s has it: %v", path, err)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Where sockets of the host do not work in containers, a bridge process next to the supervisor is used.
func TestBridge(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	c := ensure(t, w, "blog")
	w.setBridged()
	if again := ensure(t, w, "blog"); again.ID != c.ID {
		t.Error("another container")
	}
	if got := output(t, w, "blog", "say", "over", "the", "bridge"); got != "over the bridge\n" {
		t.Errorf("%q", got)
	}
	working := begin(t, c, "wait")
	if s, err := w.ContainerState(t.Context(), "blog"); err != nil || s.Processes != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if exit := working.finish(t); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
}

// A project folder that the agent cannot write is reported before anything starts.
func TestProjectOfAnotherUser(t *testing.T) {
	testneed.Root(t, "a folder of another user")
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	project := t.TempDir()
	if _, err := w.Create(t.Context(), Settings{Slug: "blog", Image: image, Project: project}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Ensure(t.Context(), "blog"); !errors.Is(err, ErrWrongUser) || !strings.Contains(err.Error(), project) || !strings.Contains(hint(err), "chown -R 4711:4711 "+project) {
		t.Errorf("%v (hint: %s)", err, hint(err))
	}
	if err := os.Chown(project, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	ensure(t, w, "blog")
	output(t, w, "blog", "write", "/work/file", "made")
	if b, err := os.ReadFile(filepath.Join(project, "file")); err != nil || string(b) != "made" {
		t.Errorf("%q, %v", b, err)
	}
	home := filepath.Join(w.folder(), "blog", "home")
	if err := os.Chown(home, 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Ensure(t.Context(), "blog"); !errors.Is(err, ErrWrongUser) || !strings.Contains(err.Error(), home) {
		t.Errorf("%v", err)
	}
}

func TestFailure(t *testing.T) {
	for _, tt := range []struct {
		exit supervisor.Exit
		want string
	}{
		{supervisor.Exit{}, ""},
		{supervisor.Exit{Code: 2, Stderr: "boom"}, "Sandbox error (exit 2): boom"},
		{supervisor.Exit{Code: 137, Signal: "SIGKILL"}, "Sandbox error (exit 137): ended by SIGKILL"},
		{supervisor.Exit{Code: 137, Signal: "SIGKILL", OOM: true, Stderr: "x"}, "Container ran out of memory. It will be recreated on next use."},
	} {
		err := Failure(tt.exit)
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%+v: %v", tt.exit, err)
		}
	}
}
