package supervisor

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/freeport"
	"github.com/holdfast-dev/holdfast/internal/supervisor/reaper"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// A supervisor controls everything in a container, so processes in the container must not control the
// supervisor.
func TestStrangersRefused(t *testing.T) {
	h := newSupervisor(t, "ANY_PEER=0")
	_, err := Dial(t.Context(), h.socket) // this process is in the same pid namespace
	if !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
}

// inNamespace is a supervisor in a new pid namespace, as in a container.
func inNamespace(t *testing.T) *supervisorEnv {
	t.Helper()
	for _, program := range []string{"unshare", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			testneed.Need(t, "no %s on the PATH: apt-get install util-linux makes this run", program)
		}
	}
	if out, err := exec.Command("unshare", "-r", "-p", "-f", "--mount-proc", "true").CombinedOutput(); err != nil {
		testneed.Need(t, "no namespaces here: %v %s", err, out)
	}
	cmd := exec.Command("unshare", "-r", "-p", "-f", "--mount-proc", "--kill-child", os.Args[0], "test-serve")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return newSupervisorIn(t, t.TempDir(), cmd, "ANY_PEER=0")
}

func TestPeers(t *testing.T) {
	h := inNamespace(t)
	init := -1
	wait(t, "its process is there", func() bool {
		if c := reaper.Children(h.cmd.Process.Pid, nil); len(c) == 1 {
			init = c[0]
		}
		return init > 0
	})
	p := h.start("exec cat") // From outside: that is the host.
	if p.Pid() >= init {
		t.Errorf("process %d is not counted from inside", p.Pid())
	}
	if peer := p.conn.Peer(); peer.Pid != init || peer.UID != os.Getuid() {
		t.Errorf("%+v listens, want process %d", peer, init)
	}

	// From inside it is a stranger, directly and through attach.
	refused := h.start(os.Args[0] + " test-attach " + h.socket)
	if out := output(t, refused); !strings.Contains(out, `"refused"`) || strings.Contains(out, `"hello"`) {
		t.Errorf("a process inside received %q", out)
	}
	// A process that an engine starts inside has no parent there.
	bridge := exec.Command("nsenter", "-t", itoa(init), "-U", "-p", "-m", "--preserve-credentials", os.Args[0], "test-attach", h.socket)
	in, err := bridge.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := bridge.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	bridge.Stderr = &stderr
	if err := bridge.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := NewConn(t.Context(), &pipes{in, out})
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	q, err := c.Start(t.Context(), Spec{ID: "over-the-bridge", Args: []string{"sh", "-c", "echo $$; cat"}, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	if number(t, q) != q.Pid() || c.Peer() != (Peer{}) {
		t.Errorf("process %d, %+v", q.Pid(), c.Peer())
	}
	_ = q.Stdin().Close()
	if e := exitOf(t, q); e.Code != 0 {
		t.Errorf("%+v", e)
	}
	_ = c.Close()
	if err := bridge.Wait(); err != nil {
		t.Errorf("the bridge: %v\n%s", err, &stderr)
	}
	_ = p.Stdin().Close()
	exitOf(t, p)
	_ = h.cmd.Process.Kill() // it ends with process 1
}

// pipes are the streams of an exec.
type pipes struct {
	io.WriteCloser
	out io.ReadCloser
}

func (p *pipes) Read(b []byte) (int, error) { return p.out.Read(b) }
func (p *pipes) Close() error               { return errors.Join(p.WriteCloser.Close(), p.out.Close()) }

// attach ends when the supervisor ends, even if its output is not read.
func TestAttachEnds(t *testing.T) {
	h := newSupervisor(t)
	bridge := exec.Command(os.Args[0], "test-attach", h.socket)
	in, err := bridge.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := bridge.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bridge.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // enough to fill every pipe on the way back
		for {
			if _, err := io.WriteString(in, `{"t":"ping","n":1}`+"\n"); err != nil {
				return
			}
		}
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = bridge.Wait()
}

func TestDialRejectsLinks(t *testing.T) {
	h := newSupervisor(t)
	dir := filepath.Dir(h.socket)
	link, fifo, file := filepath.Join(dir, "link"), filepath.Join(dir, "fifo"), filepath.Join(dir, "file")
	if err := errors.Join(os.Symlink(h.socket, link), unix.Mkfifo(fifo, 0o600), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		link: "not a socket", fifo: "not a socket", file: "not a socket", dir: "not a socket",
		filepath.Join(dir, "nothing"): "no such file", filepath.Join(file, "x"): "not a directory",
	} {
		if _, err := Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	long := filepath.Join(dir, strings.Repeat("d", 200))
	if err := errors.Join(os.Mkdir(long, 0o700), os.Link(h.socket, filepath.Join(long, "s"))); err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), filepath.Join(long, "s"))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// A supervisor does not replace a file that is not a socket.
func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	if err := os.WriteFile(socket, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{socket: "not a socket", filepath.Join(dir, "no", "s"): "no such file"} {
		out, err := exec.Command(os.Args[0], "test-serve", path).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v %s", path, err, out)
		}
	}
}

func TestForward(t *testing.T) {
	addr := "127.0.0.1:" + strconv.Itoa(freeport.Pick(t))
	h := newSupervisor(t, "PROXY="+addr)
	if env := output(t, h.start("env")); strings.Contains(strings.ToLower(env), "proxy") {
		t.Errorf("a proxy that is not there: %s", env)
	}
	l, err := net.Listen("unix", filepath.Join(filepath.Dir(h.socket), EgressName))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // repeats its input, after it has read all of it
				b, _ := io.ReadAll(c)
				_, _ = c.Write(bytes.ToUpper(b))
				_ = c.Close()
			}()
		}
	}()
	if env := output(t, h.start("env")); !strings.Contains(env, "\nhttps_proxy=http://"+addr+"\n") {
		t.Errorf("no proxy in %s", env)
	}
	if health, err := h.dial().Ping(t.Context()); err != nil || !health.Proxy {
		t.Errorf("%+v, %v", health, err)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "hello")
	_ = c.(*net.TCPConn).CloseWrite()
	if b, err := io.ReadAll(c); err != nil || string(b) != "HELLO" {
		t.Errorf("%q, %v", b, err)
	}
}
