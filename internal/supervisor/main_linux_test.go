package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/supervisor/reaper"
)

// TestMain also runs the supervisor, its reapers, and programs below them.
func TestMain(m *testing.M) {
	if reaper.IsInvocation(os.Args[1:]) {
		reaper.Main()
	}
	if len(os.Args) > 2 && os.Args[1] == "test-serve" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT) // as the program
		defer stop()
		o := ServeOptions{Socket: os.Args[2], Proxy: "-", Log: os.Stderr, anyPeer: os.Getenv("ANY_PEER") == "1", Home: os.Getenv("AGENT_HOME"), noLandlock: os.Getenv("NO_LANDLOCK") == "1"}
		if p := os.Getenv("PROXY"); p != "" {
			o.Proxy = p
		}
		if err := Serve(ctx, o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "test-attach" {
		if err := Attach(context.Background(), AttachOptions{Socket: os.Args[2], Stdin: os.Stdin, Stdout: os.Stdout}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const patience = 60 * time.Second // for actions that take a moment on an idle machine

// supervisorEnv is a supervisor of a test.
type supervisorEnv struct {
	t      testing.TB
	dir    string // for processes
	socket string
	cmd    *exec.Cmd
	log    *bytes.Buffer
}

// newSupervisor starts a supervisor in a separate process. It ends with the test, together with all its processes.
func newSupervisor(t testing.TB, env ...string) *supervisorEnv {
	t.Helper()
	return newSupervisorIn(t, t.TempDir(), exec.Command(os.Args[0], "test-serve"), env...)
}

// newUnprivilegedSupervisor starts one without rights, as in a container: root's processes may read files of others
// that Landlock would deny.
func newUnprivilegedSupervisor(t testing.TB) *supervisorEnv {
	t.Helper()
	if os.Getuid() != 0 {
		return newSupervisor(t)
	}
	const uid = 4711
	dir, err := os.MkdirTemp("", "holdfast-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(program, b, 0o755), os.Chmod(dir, 0o755), os.Chown(dir, uid, uid))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "test-serve")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return newSupervisorIn(t, dir, cmd)
}

func newSupervisorIn(t testing.TB, dir string, cmd *exec.Cmd, env ...string) *supervisorEnv {
	t.Helper()
	h := &supervisorEnv{t: t, dir: filepath.Join(dir, "work"), socket: filepath.Join(dir, "run", SocketName), log: &bytes.Buffer{}, cmd: cmd}
	for _, d := range []string{h.dir, filepath.Dir(h.socket)} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if a := cmd.SysProcAttr; a != nil && a.Credential != nil {
			if err := os.Chown(d, int(a.Credential.Uid), int(a.Credential.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.Args = append(cmd.Args, h.socket)
	cmd.Env = append([]string{"ANY_PEER=1", "PATH=" + os.Getenv("PATH"), "AGENT_HOME=" + h.dir}, env...)
	h.cmd.Stderr = h.log
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.cmd.Process.Signal(syscall.SIGTERM)
		if err := h.cmd.Wait(); err != nil && !strings.Contains(err.Error(), "killed") {
			t.Errorf("the supervisor: %v\n%s", err, h.log)
		}
	})
	wait(t, "the supervisor listens", func() bool { _, err := os.Lstat(h.socket); return err == nil })
	return h
}

func wait(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// dial connects; the connection ends with the test.
func (h *supervisorEnv) dial() *Conn {
	h.t.Helper()
	var c *Conn
	wait(h.t, "the supervisor answers", func() bool {
		var err error
		c, err = Dial(h.t.Context(), h.socket)
		if err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			h.t.Fatal(err)
		}
		return err == nil
	})
	h.t.Cleanup(func() { _ = c.Close() })
	return c
}

var last atomic.Int64

// name returns an id that no other process of the tests has.
func name() string { return "p" + strconv.FormatInt(last.Add(1), 10) }

// start starts a shell script.
func (h *supervisorEnv) start(script string, change ...func(*Spec)) *Process {
	h.t.Helper()
	s := Spec{ID: name(), Args: []string{"sh", "-c", script}, Dir: h.dir}
	for _, c := range change {
		c(&s)
	}
	p, err := h.dial().Start(h.t.Context(), s)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

func grace(d time.Duration) func(*Spec) { return func(s *Spec) { s.Grace = d } }

// exitOf waits for a process's end.
func exitOf(t testing.TB, p *Process) Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	e, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// output reads the output of a process until it ends.
func output(t testing.TB, p *Process) string {
	t.Helper()
	b, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// line reads one line of a process's output.
func line(t testing.TB, p *Process) string {
	t.Helper()
	var b []byte
	for c := make([]byte, 1); ; {
		if _, err := p.Stdout().Read(c); err != nil {
			t.Fatalf("%v after %q; %s", err, b, p.Stderr())
		}
		if c[0] == '\n' {
			return string(b)
		}
		b = append(b, c[0])
	}
}

// number reads a line that contains a process id.
func number(t testing.TB, p *Process) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(line(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// alive reports whether a process exists and has not ended.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	return len(f) > 0 && string(f[0]) != "Z" && string(f[0]) != "X"
}

// countBelow counts the descendants of a process.
func countBelow(t testing.TB, pid int) int {
	t.Helper()
	return len(reaper.Tree(pid, nil))
}

func itoa(n int) string { return strconv.Itoa(n) }

func parentOf(t testing.TB, pid int) int {
	t.Helper()
	n := reaper.Parent(pid)
	if n <= 0 {
		t.Fatalf("process %d has parent %d", pid, n)
	}
	return n
}

// newSupervisorAt starts another supervisor on the same socket.
func newSupervisorAt(t testing.TB, h *supervisorEnv) *exec.Cmd {
	t.Helper()
	before, err := os.Lstat(h.socket)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "test-serve", h.socket)
	cmd.Env = h.cmd.Env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	wait(t, "the second one listens", func() bool {
		now, err := os.Lstat(h.socket)
		return err == nil && !os.SameFile(before, now)
	})
	return cmd
}
