//go:build linux

package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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

	"github.com/holdfast-dev/holdfast/internal/sandbox/cgroup"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// A supervisor starts the commands of these tests: this program again, as root or as an ordinary user, with
// one sandbox. A test can kill it, and a variable in the environment identifies the processes that it
// started.
//
//	test ── orders, one per line ──► supervisor ── sandbox ──► command
//	     ◄──────────── results ────

const (
	supervisorVar = "HOLDFAST_TEST_SUPERVISOR" // settings of its sandbox
	bareVar       = "HOLDFAST_TEST_BARE"       // it cannot create namespaces
	markVar       = "HOLDFAST_TEST_MARK"
)

// order is a command that the supervisor runs.
type order struct {
	Script  string
	KillAt  string            // kill it when it has printed this text
	Signals []syscall.Signal  // send it these signals before
	Env     map[string]string // marked with the variable
}

// result is the result of a command, or of opening the sandbox.
type result struct {
	Open, Start string // error messages
	Absent      bool   // of a mechanism
	Out         string
	Code        int // -1: a signal ended it
	OOM         bool
	Report      string
	Took        time.Duration
}

// TestSupervisor is the supervisor if the program was started as one.
func TestSupervisor(t *testing.T) {
	settings := os.Getenv(supervisorVar)
	if settings == "" {
		t.Skip("the other tests start this")
	}
	results := json.NewEncoder(os.NewFile(3, "results"))
	if os.Getenv(bareVar) != "" {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
	}
	box, err := openBox(settings)
	if err != nil {
		_ = results.Encode(result{Open: err.Error(), Absent: errors.Is(err, kernel.ErrUnsupported) || errors.Is(err, cgroup.ErrUnavailable)})
		return
	}
	_ = results.Encode(result{})
	orders := json.NewDecoder(os.Stdin)
	for {
		var o order
		if orders.Decode(&o) != nil {
			break
		}
		_ = results.Encode(o.execute(box))
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
}

func openBox(settings string) (*sandbox.Sandbox, error) {
	s := &sandbox.Settings{}
	if err := s.Decode([]byte(settings)); err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(filepath.Dir(dir), "home")
	c, err := sandbox.NewChecker(s, &sandbox.Options{Home: home, Dir: dir})
	if err != nil {
		return nil, err
	}
	return sandbox.Open([]*sandbox.Checker{c}, &sandbox.OpenOptions{Folders: []string{dir}, Home: home})
}

func (o *order) execute(box *sandbox.Sandbox) result {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := box.Command(ctx, "/bin/sh", "-c", o.Script)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	for name, value := range o.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out := &outputWatcher{until: o.KillAt, then: func() {
		for _, s := range o.Signals {
			_ = cmd.Signal(s)
		}
		_ = cmd.Kill()
	}}
	cmd.Stdout, cmd.Stderr = out, out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return result{Start: err.Error()}
	}
	r := result{}
	err := cmd.Wait()
	r.Took, r.Out = time.Since(began), out.String()
	if cmd.State() == nil {
		r.Start = fmt.Sprint(err)
		return r
	}
	r.Code, r.OOM, r.Report = cmd.State().ExitCode(), cmd.State().OOM, cmd.Report().Text()
	return r
}

// outputWatcher stores output and calls a function once, when a text occurs in it.
type outputWatcher struct {
	mu    sync.Mutex
	out   bytes.Buffer
	until string
	then  func()
	once  sync.Once
}

func (h *outputWatcher) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.out.Write(p)
	if h.until != "" && bytes.Contains(h.out.Bytes(), []byte(h.until)) {
		h.once.Do(func() { go h.then() })
	}
	return n, err
}

func (h *outputWatcher) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out.String()
}

// supervisor is a supervisor that a test has started.
type supervisor struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	results *json.Decoder
	mark    string
	base    string
	dir     string // the workspace
	bare    bool
}

// caller is the user who starts commands.
type caller struct {
	uid  uint32
	bare bool // in an environment where namespaces are refused, like a container
}

// supervise starts a supervisor.
func supervise(t *testing.T, who caller, settings string) *supervisor {
	t.Helper()
	s := &supervisor{t: t, base: t.TempDir(), bare: who.bare}
	s.mark = filepath.Base(filepath.Dir(s.base)) + strconv.Itoa(os.Getpid())
	s.dir = filepath.Join(s.base, "work")
	program := filepath.Join(s.base, "supervisor")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err = errors.Join(err, os.WriteFile(program, b, 0o755), os.Mkdir(s.dir, 0o755), os.Mkdir(filepath.Join(s.base, "home"), 0o755)); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(program, "-test.run=^TestSupervisor$", "-test.timeout=5m")
	s.cmd.Env = []string{"PATH=/usr/bin:/bin", supervisorVar + "=" + settings, "TMPDIR=" + s.base}
	s.cmd.Dir, s.cmd.Stderr = s.dir, os.Stderr
	if who.uid != 0 {
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.uid, Gid: who.uid}}
		s.giveTo(who.uid)
	}
	if who.bare {
		s.cmd.Env = append(s.cmd.Env, bareVar+"=1")
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: int(who.uid), Size: 1}}
		s.cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids,
			Credential: &syscall.Credential{NoSetGroups: true},
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	s.cmd.ExtraFiles, s.results = []*os.File{w}, json.NewDecoder(bufio.NewReader(r))
	if s.stdin, err = s.cmd.StdinPipe(); err == nil {
		err = s.cmd.Start()
	}
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	switch first := s.result(); {
	case first.Absent:
		testneed.Need(t, "%s: a kernel that holds commands makes this run", first.Open)
	case first.Open != "":
		t.Fatal(first.Open)
	}
	return s
}

// giveTo makes the user the owner of the folders, and makes their parents accessible.
func (s *supervisor) giveTo(uid uint32) {
	for _, dir := range []string{s.base, s.dir, filepath.Join(s.base, "home")} {
		if err := os.Chown(dir, int(uid), int(uid)); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(s.base), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// send sends an order and does not wait.
func (s *supervisor) send(o order) {
	s.t.Helper()
	o.Env = map[string]string{markVar: s.mark}
	if err := json.NewEncoder(s.stdin).Encode(o); err != nil {
		s.t.Fatal(err)
	}
}

func (s *supervisor) result() result {
	s.t.Helper()
	var r result
	if err := s.results.Decode(&r); err != nil {
		s.t.Fatalf("the supervisor says nothing: %v", err)
	}
	return r
}

// run sends an order, waits for its end, and checks that no process of it is left and that the next command
// works.
func (s *supervisor) run(o order) result {
	s.t.Helper()
	s.send(o)
	r := s.result()
	if r.Start != "" {
		s.t.Fatalf("not started: %s", r.Start)
	}
	s.nothingRuns()
	s.send(order{Script: "/bin/echo fine"})
	if next := s.result(); next.Out != "fine\n" || next.Code != 0 {
		s.t.Errorf("the next command: %+v", next)
	}
	return r
}

// running lists the processes of commands.
func (s *supervisor) running() []string {
	var out []string
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range environs {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(markVar+"="+s.mark)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
			out = append(out, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

// nothingRuns checks that no process is left when Wait has returned. Without a pid namespace, killed
// processes may end slightly later.
func (s *supervisor) nothingRuns() {
	s.t.Helper()
	if s.bare {
		eventually(s.t, "the end of what was killed", func() bool { return len(s.running()) == 0 })
	}
	if left := s.running(); len(left) > 0 {
		s.t.Errorf("still running: %q", left)
	}
}

// groups lists the control groups of the supervisor.
func (s *supervisor) groups() []string {
	name := fmt.Sprintf("holdfast-%d-", s.cmd.Process.Pid)
	var out []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), name) {
			out = append(out, p)
		}
		return nil
	})
	return out
}

// end makes the supervisor close its sandbox, and checks that nothing is left.
func (s *supervisor) end() {
	_ = s.stdin.Close()
	_ = s.cmd.Wait()
	s.nothingRuns()
	if left := s.groups(); len(left) > 0 {
		s.t.Errorf("left: %q", left)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || bytes.Contains(mounts, []byte(s.base)) {
		s.t.Errorf("mounts are left, or cannot be read: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(s.base, "home")); err != nil || len(left) > 0 {
		s.t.Errorf("in the home folder are %v, %v", left, err)
	}
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after 20 s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
