package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// opened opens a sandbox for the workspace ws of a tree.
func opened(t testing.TB, root string, list ...testLayer) *Sandbox {
	t.Helper()
	s, err := Open(layersFor(t, root, list), &OpenOptions{Folders: []string{root + "/ws"}, Home: root + "/home", State: []string{root + "/home/.holdfast"}})
	if errors.Is(err, kernel.ErrUnsupported) {
		testneed.Need(t, "this kernel cannot hold commands: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// shell runs a script in a sandbox and returns its output and whether it succeeded.
func shell(t testing.TB, s *Sandbox, line string) (string, bool) {
	t.Helper()
	out, err := s.Command(t.Context(), "/bin/sh", "-c", line).CombinedOutput()
	if _, ended := errors.AsType[*ExitError](err); err != nil && !ended {
		t.Fatalf("%s: %v", line, err)
	}
	return string(out), err == nil
}

// TestOrdinaryWork checks that protected paths do not prevent the use of git.
func TestOrdinaryWork(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		testneed.Need(t, "no git on the PATH: apt-get install git makes this run")
	}
	root := plant(t, "ws/f: x", "home/")
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.email", "a@b.test"}, {"config", "user.name", "a"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root + "/ws"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	s := opened(t, root)
	for _, line := range []string{
		"git add -A && git commit -q -m one && git branch other && git checkout -q -b third && echo y > f && git commit -qam two",
		"git checkout -q other && git merge -q third && git log --oneline && test -z \"$(git status --porcelain)\"",
		"git init -q sub && cd sub && git status", "mkdir -p a/b && mv a c && rm -r c",
	} {
		if out, ok := shell(t, s, line); !ok {
			t.Errorf("%s: %s", line, out)
		}
	}
	for _, line := range []string{
		"echo x > .git/hooks/pre-commit", "git config core.hooksPath /tmp", "mv .git g", "mkdir .claude", "echo > .mcp.json", "touch .vscode/x",
		"rm -rf .git/hooks", "echo > .git/config.worktree",
	} {
		if out, ok := shell(t, s, line); ok {
			t.Errorf("%s succeeded: %s", line, out)
		}
	}
	if list := entriesOf(root+"/ws/.git/hooks", 100); slices.ContainsFunc(list, func(e os.DirEntry) bool { return e.Name() == "pre-commit" }) {
		t.Error("a hook was planted")
	}
}

// TestRefreshAfterChange checks that files that the user creates between two commands are protected in the second
// one, and that a command cannot start if a file that an earlier one left cannot be protected.
func TestRefreshAfterChange(t *testing.T) {
	root := plant(t, "ws/", "home/")
	s := opened(t, root)
	before := s.Digest()
	if err := s.Refresh(); err != nil || s.Digest() != before {
		t.Errorf("nothing changed: %v", err)
	}
	if err := os.MkdirAll(root+"/ws/.git/hooks", 0o755); err != nil {
		t.Fatal(err)
	}
	if out, ok := shell(t, s, "echo x > .git/hooks/post-commit"); ok {
		t.Errorf("a hook was planted: %s", out)
	}
	if s.Digest() == before {
		t.Error("the digest is the same")
	}
	if err := os.WriteFile(root+"/.mcp.json", []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(root+"/.mcp.json", root+"/ws/.mcp.json"); err != nil { // as editors save, also over a placeholder
		t.Fatal(err)
	}
	if out, ok := shell(t, s, "cat .mcp.json && ! echo x > .mcp.json"); !ok {
		t.Errorf("a file that came to be: %s", out)
	}
	if err := os.Rename(root+"/ws", root+"/moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("home", root+"/ws"); err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(); err == nil || !strings.Contains(err.Error(), "became a symbolic link") {
		t.Errorf("a workspace that became a link: %v", err)
	}
}

func TestStatusAndClose(t *testing.T) {
	root := plant(t, "ws/", "home/")
	s := opened(t, root)
	if got := s.Status(); !strings.HasPrefix(got, "kernel: files (writes to "+root+"/ws), network private localhost only, 10 protected names") {
		t.Errorf("got %q", got)
	}
	if !strings.HasPrefix(s.Digest(), "sha256:") || len(s.Digest()) != 71 {
		t.Errorf("got %q", s.Digest())
	}
	c := s.Command(t.Context(), "/bin/sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("the command was not killed")
	}
	if err := s.Command(t.Context(), "/bin/true").Run(); !errors.Is(err, errClosed) {
		t.Errorf("a command of a closed sandbox: %v", err)
	}
}

// TestLocalhostIsShared checks that later commands reach a background server, even after the policy has
// changed; a command with a private localhost and another sandbox do not.
func TestLocalhostIsShared(t *testing.T) {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		testneed.Need(t, "no python3: apt-get install python3 makes this run")
	}
	root := plant(t, "ws/", "home/")
	s, other := opened(t, root), opened(t, root)
	ctx, stop := context.WithCancel(t.Context())
	server := s.Command(ctx, "/usr/bin/python3", "-c", `import socket
s = socket.create_server(("127.0.0.1", 8123))
print("ready", flush=True)
while True:
    s.accept()[0].close()`)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stop()
		_ = server.Wait()
	}()
	if _, err := io.ReadFull(out, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	reach := func(s *Sandbox, alone bool) bool {
		c := s.Command(t.Context(), "/usr/bin/python3", "-c", `import socket; socket.create_connection(("127.0.0.1", 8123))`)
		c.PrivateLocalhost = alone
		return c.Run() == nil
	}
	first, _ := shell(t, s, "readlink /proc/self/ns/net")
	if second, _ := shell(t, s, "readlink /proc/self/ns/net"); first != second {
		t.Skip("commands share no namespaces here, as with the race detector")
	}
	if !reach(s, false) {
		t.Error("the next command does not reach what listens")
	}
	if reach(s, true) || reach(other, false) {
		t.Error("a command that is alone, or one of another sandbox, reaches what listens")
	}
	before := s.Digest()
	if err := os.MkdirAll(root+"/ws/.git/hooks", 0o755); err != nil {
		t.Fatal(err)
	}
	if !reach(s, false) || s.Digest() == before {
		t.Errorf("after the policy has changed (%v), a command does not reach what listens", s.Digest() != before)
	}
}
