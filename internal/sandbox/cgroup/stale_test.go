//go:build linux

package cgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// These tests start this program again as another process that has a group.

const ownerVar = "HOLDFAST_TEST_CGROUP_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerVar) == "" {
		os.Exit(m.Run())
	}
	g, err := Open(Limits{Memory: 64 << 20, Processes: 50, CPUs: 1})
	if err != nil {
		fmt.Printf("error %v\n", err)
		os.Exit(1)
	}
	for _, f := range g.folders {
		fmt.Println("folder", f.path)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends it
	if err := g.Close(); err != nil {
		fmt.Printf("error %v\n", err)
		os.Exit(1)
	}
}

// owner is another process that has a group.
type owner struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	folders []string
	failed  string
}

func newOwner(t *testing.T, program string, who *syscall.Credential) *owner {
	t.Helper()
	o := &owner{cmd: exec.CommandContext(t.Context(), program)}
	o.cmd.Env = append(os.Environ(), ownerVar+"=1")
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	o.cmd.Dir = "/"
	stdin, err := o.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	o.stdin = stdin
	stdout, err := o.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.end)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "ready" {
		switch kind, rest, _ := strings.Cut(lines.Text(), " "); kind {
		case "folder":
			o.folders = append(o.folders, rest)
		case "error":
			o.failed = rest
		}
	}
	return o
}

// end makes the owner close its group.
func (o *owner) end() {
	_ = o.stdin.Close()
	_ = o.cmd.Wait()
}

// crash kills the owner, as a power failure would.
func (o *owner) crash() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
}

func (o *owner) left() int {
	n := 0
	for _, f := range o.folders {
		if _, err := os.Stat(f); err == nil {
			n++
		}
	}
	return n
}

// TestStaleGroups checks that the next Open removes the group of a crashed owner and the processes in it, and
// does not touch the group of a running owner.
func TestStaleGroups(t *testing.T) {
	l := Limits{Memory: 64 << 20, Processes: 50, CPUs: 1}
	open(t, l) // skip if there are none
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	alive, crashed := newOwner(t, self, nil), newOwner(t, self, nil)
	if len(alive.folders) == 0 || len(crashed.folders) == 0 {
		t.Fatal(alive.failed, crashed.failed)
	}
	var sleepers [2]*exec.Cmd
	for i, o := range []*owner{alive, crashed} {
		sleepers[i] = exec.CommandContext(t.Context(), "/bin/sleep", "1000")
		if err := sleepers[i].Start(); err != nil {
			t.Fatal(err)
		}
		for _, f := range o.folders {
			if err := write(f+"/cgroup.procs", strconv.Itoa(sleepers[i].Process.Pid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	foreign := filepath.Join(filepath.Dir(alive.folders[0]), "holdfast-of-somebody")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Rmdir(foreign) }()
	crashed.crash()
	if n := crashed.left(); n != len(crashed.folders) {
		t.Fatalf("of %d folders %d are left before somebody sweeps", len(crashed.folders), n)
	}
	open(t, l)
	if n := crashed.left(); n != 0 {
		t.Errorf("%d folders of a crashed owner are left", n)
	}
	if n := alive.left(); n != len(alive.folders) {
		t.Errorf("of %d folders of a living owner %d are left", len(alive.folders), n)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error("a group that is not ours was removed")
	}
	if err := sleepers[1].Wait(); err == nil || sleepers[1].ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("a process of the crashed owner: %v", err)
	}
	if !running(sleepers[0].Process.Pid) {
		t.Error("a process of the living owner was killed")
	}
	alive.end()
	if n := alive.left(); n != 0 {
		t.Errorf("%d folders are left after the end", n)
	}
	_ = sleepers[0].Wait()
}

// TestManyOpen checks that processes that create groups at the same time do not remove each other's.
func TestManyOpen(t *testing.T) {
	open(t, Limits{Processes: 10})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				g, err := Open(Limits{Processes: 10})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(g.folders[0].path); err != nil {
					t.Error(err)
				}
				if err := g.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// user has a copy of this program that it can execute.
func user(t *testing.T) (program string, who *syscall.Credential) {
	t.Helper()
	testneed.Root(t, "becoming another user")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "holdfast-cgroup-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program = filepath.Join(dir, "owner")
	if err := errors.Join(os.WriteFile(program, b, 0o755), os.Chmod(dir, 0o755), os.Chmod(program, 0o755)); err != nil {
		t.Fatal(err)
	}
	return program, &syscall.Credential{Uid: 12345, Gid: 12345}
}

// TestUser checks that an ordinary user has no groups until one is delegated.
func TestUser(t *testing.T) {
	program, who := user(t)
	if o := newOwner(t, program, who); !strings.Contains(o.failed, ErrUnavailable.Error()) {
		t.Fatalf("made %q, error %q", o.folders, o.failed)
	}
	g := open(t, Limits{Memory: 256 << 20, Processes: 100, CPUs: 2})
	if g.folders[0].version != 1 {
		t.Skip("a group with processes gives nothing to groups in it in version 2: the data has that case")
	}
	for _, f := range g.folders {
		if err := os.Chown(f.path, int(who.Uid), int(who.Gid)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(f.path+"/cgroup.procs", int(who.Uid), int(who.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	// A shell of the user moves itself into the group and starts the owner there.
	script := `exec setpriv --reuid 12345 --regid 12345 --clear-groups "$0"`
	if _, err := exec.LookPath("setpriv"); err != nil {
		testneed.Need(t, "no setpriv on the PATH: apt-get install util-linux makes this run")
	}
	cmd := inside(t, g, script)
	cmd.Args = append(cmd.Args, program)
	cmd.Env, cmd.Dir = append(os.Environ(), ownerVar+"=1"), "/"
	cmd.Stdin = bytes.NewReader(nil)
	began := time.Now()
	out, status := run(t, cmd)
	if status != 0 || !strings.Contains(out, "folder "+g.folders[0].path+"/holdfast-") {
		t.Errorf("ended with %v after %v: %s", status, time.Since(began), out)
	}
}
