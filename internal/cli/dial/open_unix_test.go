//go:build unix

package dial

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

// program returns a program with a home of its own, whose path is short enough for a socket.
func program(t *testing.T, executable string) (p *command.Program, home string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	home = filepath.Join(dir, "home")
	p = &command.Program{Env: []string{"HOLDFAST_HOME=" + home, "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LISTEN_FDS=3", "HOLDFAST_DAEMON_TOKEN=secret"}}
	p.Executable = func() (string, error) { return executable, nil }
	p.SetDefaults()
	return p, home
}

// stopDaemon ends the daemon of a home. Another process cannot signal its end, so this polls.
func stopDaemon(t *testing.T, home string) {
	t.Helper()
	info, running, err := listen.State(home)
	if err != nil || !running {
		t.Fatalf("no daemon to stop: %v", err)
	}
	if err := syscall.Kill(info.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); running && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		_, running, _ = listen.State(home)
	}
	if running {
		t.Error("the daemon does not stop")
	}
}

// Programs that start a daemon at the same time get the same one, in a session of its own.
func TestOpenStartsOne(t *testing.T) {
	p, home := program(t, testprogram.Path(t))
	var wg sync.WaitGroup
	conns := make([]*Conn, 3)
	for i := range conns {
		wg.Go(func() {
			c, err := Open(t.Context(), p, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			conns[i] = c
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	defer stopDaemon(t, home)
	pid := conns[0].Info().PID
	for _, c := range conns {
		if !c.Daemon || c.Notice.Text != "" || c.Info().PID != pid || pid == os.Getpid() {
			t.Errorf("%+v: %+v", c, c.Info())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if sid, err := getsid(pid); err != nil || sid != pid {
		t.Errorf("the session of the daemon is %d: %v", sid, err)
	}
	if st, err := os.Stat(listen.LogFile(home)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", st, err)
	}
	if info, _, _ := listen.State(home); info.ExitIdle != ExitIdle.String() {
		t.Errorf("it ends after %q", info.ExitIdle)
	}
	c, err := Open(t.Context(), p, Options{Store: "sqlite:" + filepath.Join(home, "other.db")})
	if err != nil {
		t.Fatal(err)
	}
	if c.Daemon || !strings.Contains(c.Notice.Text, "serves another store") || c.Info().PID != os.Getpid() {
		t.Errorf("%+v", c.Notice)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A daemon that was just killed still accepts a connection and breaks it. Then another one is started.
func TestOpenAfterKill(t *testing.T) {
	for _, bytes := range []int{1, 64 << 10} { // that it reads: the client sees a reset, or the end
		p, home := program(t, testprogram.Path(t))
		if err := os.MkdirAll(listen.Dir(home), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", filepath.Join(listen.Dir(home), listen.SocketName))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, bytes))
			_ = l.Close()
			_ = c.Close()
		}()
		c, err := Open(t.Context(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !c.Daemon {
			t.Errorf("no daemon: %+v", c.Notice)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, running, _ := listen.State(home); running {
			stopDaemon(t, home)
		}
	}
}

// A daemon that cannot start says why, and the conversation has a server in this process.
func TestOpenStartFails(t *testing.T) {
	script := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho 'holdfast: the disk is green' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, executable := range []string{script, "/nowhere"} {
		p, home := program(t, executable)
		c, err := Open(t.Context(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c.Daemon || executable == script && !strings.Contains(c.Notice.Text, "the disk is green") || !strings.Contains(c.Notice.Hint, listen.LogFile(home)) {
			t.Errorf("%+v", c.Notice)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A server in this process leaves nothing behind, and removes what a killed process has left.
func TestOpenHere(t *testing.T) {
	p, home := program(t, "/nowhere")
	old := filepath.Join(listen.Dir(home), privatePrefix+"old")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	leaveSocket(t, filepath.Join(old, listen.SocketName))
	for _, o := range []Options{{NoDaemon: true}, {Store: "memory:"}} {
		c, err := Open(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		if c.Daemon || c.Notice.Text != "" || c.Info().PID != os.Getpid() || c.Info().Caller.Agent {
			t.Errorf("%+v: %+v", c, c.Info())
		}
		if st, err := os.Stat(filepath.Dir(c.Address())); err != nil || st.Mode().Perm() != 0o700 || !strings.HasPrefix(c.Address(), home) {
			t.Errorf("%s: %v, %v", c.Address(), st, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, running, err := listen.State(home); running || err != nil {
		t.Errorf("a daemon runs: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(listen.Dir(home), privatePrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	p.Env = append(p.Env, "HOLDFAST_NO_DAEMON=1")
	c, err := Open(t.Context(), p, Options{})
	if err != nil || c.Daemon {
		t.Fatalf("%+v: %v", c, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// With a home folder whose path is too long for a socket, the folder is elsewhere, and what a killed
// process has left there is removed, too.
func TestOpenHereLongPath(t *testing.T) {
	p, _ := program(t, "/nowhere")
	outside, err := os.MkdirTemp("/tmp", "hf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(outside) })
	old := filepath.Join(outside, outsidePrefix+privatePrefix+"old")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	leaveSocket(t, filepath.Join(old, listen.SocketName))
	p.Env = append(p.Env, "HOLDFAST_HOME="+filepath.Join(t.TempDir(), strings.Repeat("long", 30)), "XDG_RUNTIME_DIR="+outside)
	c, err := Open(t.Context(), p, Options{NoDaemon: true})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Address(), outside) {
		t.Errorf("the socket is %s", c.Address())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A daemon that does not answer in time does not stay.
func TestStartGivesUp(t *testing.T) {
	script, file := filepath.Join(t.TempDir(), "silent"), filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho $$ > "+file+".new\nmv "+file+".new "+file+"\nexec sleep 100\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, home := program(t, script)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // another process cannot signal that it runs, so this polls
		for {
			if _, err := os.Stat(file); err == nil || t.Context().Err() != nil {
				cancel()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if _, err := start(ctx, p, home, ""); err == nil {
		t.Fatal("no error")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

// leaveSocket creates a socket on which nothing listens, as a killed process leaves it.
func leaveSocket(t *testing.T, path string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Close(fd); err != nil {
		t.Fatal(err)
	}
}

func getsid(pid int) (int, error) {
	sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sid), nil
}

// BenchmarkOpen measures the time until a client is ready.
func BenchmarkOpen(b *testing.B) {
	executable := testprogram.Path(b)
	for name, o := range map[string]Options{"daemon": {}, "here": {NoDaemon: true}} {
		b.Run(name, func(b *testing.B) {
			dir, err := os.MkdirTemp("/tmp", "hf")
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = os.RemoveAll(dir) }()
			home := filepath.Join(dir, "home")
			p := &command.Program{Env: []string{"HOLDFAST_HOME=" + home, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}}
			p.Executable = func() (string, error) { return executable, nil }
			p.SetDefaults()
			begun, first := time.Now(), time.Duration(0)
			for b.Loop() {
				c, err := Open(b.Context(), p, o)
				if err != nil {
					b.Fatal(err)
				}
				if first == 0 {
					first = time.Since(begun)
				}
				_ = c.Close()
			}
			b.ReportMetric(float64(first.Microseconds())/1000, "first-ms") // with the start of the daemon, or a new store
			if info, running, _ := listen.State(home); running {
				_ = syscall.Kill(info.PID, syscall.SIGTERM)
			}
		})
	}
}
