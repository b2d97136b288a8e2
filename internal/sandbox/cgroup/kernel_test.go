//go:build linux

package cgroup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// These tests use the groups of this machine.

// open creates a real group and closes it at the end of the test.
func open(t *testing.T, l Limits) *Group {
	t.Helper()
	g, err := Open(l)
	if errors.Is(err, ErrUnavailable) {
		testneed.Root(t, "making control groups")
		testneed.Need(t, "%v: run the tests where control groups may be written", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		for _, f := range g.folders {
			if f.exists() {
				t.Errorf("%s is left", f.path)
			}
		}
	})
	return g
}

func (f *folder) exists() bool {
	_, err := os.Stat(f.path)
	return err == nil
}

// inside returns a shell that moves itself into a group and runs a script there.
func inside(t *testing.T, g *Group, script string) *exec.Cmd {
	t.Helper()
	var move strings.Builder
	for i := range g.Procs() {
		fmt.Fprintf(&move, "echo 0 >&%d || exit 99\nexec %d>&-\n", 3+i, 3+i)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", move.String()+script)
	cmd.ExtraFiles = g.Procs()
	return cmd
}

func run(t *testing.T, cmd *exec.Cmd) (string, syscall.WaitStatus) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// wait waits until a condition is true.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not after 10 s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestMemory(t *testing.T) {
	const limit = 32 << 20
	g := open(t, Limits{Memory: limit})
	for round := 1; round <= 2; round++ { // the group continues after processes in it were killed
		// dd has its whole block in memory
		out, status := run(t, inside(t, g, "exec dd if=/dev/zero of=/dev/null bs=128M count=1"))
		if status.Signal() != syscall.SIGKILL {
			t.Errorf("ended with %v: %s", status, out)
		}
		if g.OOM() != round {
			t.Errorf("%d were killed, want %d", g.OOM(), round)
		}
	}
	if out, status := run(t, inside(t, g, "dd if=/dev/zero of=/dev/null bs=4M count=1")); status != 0 {
		t.Errorf("what fits: %v: %s", status, out)
	}
	if peak := g.Peak(); peak > limit || peak < limit/2 {
		t.Errorf("peak %d", peak)
	}
}

// TestMemoryOfTmpfs fills a file system in memory.
func TestMemoryOfTmpfs(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "holdfast-test-")
	if err != nil {
		testneed.Need(t, "no tmpfs to fill: %v", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	g := open(t, Limits{Memory: 32 << 20})
	out, status := run(t, inside(t, g, "exec dd if=/dev/zero of="+dir+"/x bs=1M count=100"))
	if status.Signal() != syscall.SIGKILL || g.OOM() == 0 {
		t.Errorf("ended with %v, %d killed: %s", status, g.OOM(), out)
	}
}

func TestProcesses(t *testing.T) {
	g := open(t, Limits{Processes: 10})
	// a shell that cannot fork ends; the earlier ones continue
	cmd := inside(t, g, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 100 & done 2>/dev/null; wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, "forks are refused", func() bool { return g.RefusedForks() > 0 })
	refused := g.RefusedForks()
	if n := len(g.folders[0].processes()); n < 8 || n > 10 {
		t.Errorf("%d processes in a group for 10", n)
	}
	if err := g.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if n := len(g.folders[0].processes()); n != 0 {
		t.Errorf("%d processes after a kill", n)
	}
	wait(t, "somebody has waited for those that were killed", func() bool { return g.folders[0].number("pids.current", "") == 0 })
	if now := g.RefusedForks(); now < refused || now > refused+5 {
		t.Errorf("%d forks refused, before the kill %d", now, refused)
	}
	if out, status := run(t, inside(t, g, "for i in 1 2 3; do true & done; wait; echo done")); out != "done\n" {
		t.Errorf("the group cannot be used after a kill: %v: %s", status, out)
	}
}

// TestKillForkBomb checks that processes are killed faster than they fork.
func TestKillForkBomb(t *testing.T) {
	g := open(t, Limits{Processes: 60})
	cmd := inside(t, g, "b() { b | b & }; b; wait; while :; do b; done 2>/dev/null")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, "the limit is reached", func() bool { return g.RefusedForks() > 0 })
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

func TestCPU(t *testing.T) {
	g := open(t, Limits{CPUs: 0.2})
	begin := time.Now()
	// this is less than 0.1 s of a whole processor
	cmd := inside(t, g, "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done")
	out, status := run(t, cmd)
	if status != 0 {
		t.Fatalf("%v: %s", status, out)
	}
	used, took := cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), time.Since(begin)
	if share := used.Seconds() / took.Seconds(); share > 0.3 {
		t.Errorf("used %v in %v: %.2f of a processor", used, took, share)
	}
}

// TestCPUAbove requests more than the parent group has.
func TestCPUAbove(t *testing.T) {
	above := open(t, Limits{CPUs: 0.5})
	if above.folders[0].version != 1 {
		t.Skip("version 2 takes the lesser by itself")
	}
	s := machine()
	p := *above.folders[0].place
	p.dir = above.folders[0].path
	g := &Group{}
	if err := g.add(s, &p, &Limits{CPUs: 2}); err != nil {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseKills checks that Close ends processes that ignore signals, have left their session, or have
// created groups in the group.
func TestCloseKills(t *testing.T) {
	for name, l := range map[string]Limits{
		"all": {Memory: 64 << 20, Processes: 50, CPUs: 1}, "memory": {Memory: 64 << 20}, "cpu": {CPUs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := open(t, l)
			cmd := inside(t, g, `trap "" TERM HUP INT; setsid sleep 1000 & (setsid sleep 1000 &) ; sleep 1000`)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wait(t, "four processes", func() bool { return len(g.folders[0].processes()) == 4 })
			all := g.folders[0].processes()
			deeper := filepath.Join(g.folders[0].path, "deeper")
			if err := os.Mkdir(deeper, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := write(deeper+"/cgroup.procs", strconv.Itoa(all[0].pid)); err != nil {
				t.Fatal(err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait()
			for _, p := range all {
				wait(t, "the end of a process", func() bool { return !running(p.pid) })
			}
		})
	}
}

// running reports whether a process runs; it is false for a zombie.
func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(b, []byte(") "))
	return !bytes.HasPrefix(after, []byte("Z")) && !bytes.HasPrefix(after, []byte("X"))
}

// TestUnifiedKill uses the hierarchy of version 2, even without controllers.
func TestUnifiedKill(t *testing.T) {
	s := machine()
	list, err := s.hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(h hierarchy) bool { return h.version == 2 && h.current != "" && s.writable(h.current) })
	if i < 0 {
		testneed.Root(t, "writing control groups")
		testneed.Need(t, "no hierarchy of version 2 that may be written")
	}
	g := &Group{}
	if err := g.add(s, &place{version: 2, dir: list[i].current}, &Limits{}); err != nil {
		t.Fatal(err)
	}
	cmd := inside(t, g, "trap '' TERM; (setsid sleep 1000 &); sleep 1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, "three processes", func() bool { return len(g.folders[0].processes()) == 3 })
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if g.folders[0].exists() {
		t.Error("the folder is left")
	}
}

// TestDetect checks that Detect agrees with which groups can be created.
func TestDetect(t *testing.T) {
	s := Detect()
	if len(s.Controllers) != len(controllers) {
		t.Fatalf("%+v", s)
	}
	for i, l := range []Limits{{Processes: 9}, {Memory: 1 << 20}, {CPUs: 1}} {
		c := s.Controllers[i]
		g, err := Open(l)
		if (err == nil) != c.Available || (s.Allows(l) == nil) != c.Available {
			t.Errorf("%s: detected %v, made %v", c.Name, c.Available, err)
		}
		if err != nil {
			continue
		}
		if f := g.folders[0]; path.Dir(f.path) != c.Folder || f.version != c.Version {
			t.Errorf("%s: made in %s, detected %+v", c.Name, f.path, c)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}
