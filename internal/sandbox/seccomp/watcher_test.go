//go:build linux && (amd64 || arm64)

package seccomp

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// watched is a process whose filter's listener belongs to the test.
type watched struct {
	*exec.Cmd
	listener *os.File
	stdout   bytes.Buffer
	stderr   bytes.Buffer
}

// watchedJob starts a job and receives its listener.
func watchedJob(t *testing.T, j job) *watched {
	t.Helper()
	j.Filter, j.Send, j.Options.Notify = true, true, true
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	childEnd := os.NewFile(uintptr(pair[1]), "theirs")
	defer unix.Close(pair[0])
	w := &watched{Cmd: start(t, j)}
	w.ExtraFiles = []*os.File{childEnd}
	w.Stdout, w.Stderr = &w.stdout, &w.stderr
	err = w.Start()
	childEnd.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Process.Kill(); _ = w.Wait() })
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		_ = w.Wait()
		t.Fatalf("%d messages (%v); %s%s", len(messages), err, &w.stdout, &w.stderr)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	w.listener = os.NewFile(uintptr(fds[0]), "listener")
	return w
}

// finish watches until the processes have ended.
func (w *watched) finish(t *testing.T) []Refusal {
	t.Helper()
	watcher := Watch(w.listener, nil)
	defer watcher.Close()
	if err := w.Wait(); err != nil {
		t.Errorf("%v: %s%s", err, &w.stdout, &w.stderr)
	}
	return watcher.Done()
}

// Common programs work, and the calls that they try routinely are not reported.
func TestPrograms(t *testing.T) {
	for _, argv := range [][]string{
		{"sh", "-c", "echo a | cat; ls -l / >/dev/null; (exit 0) & wait; printf x >f; chmod 755 f; mkfifo p; rm f p"},
		{"id"},
		{"getent", "passwd", "root"},
		{"git", "init", "-q", "repo"},
		{"python3", "-c", "import socket, subprocess, multiprocessing as m; a, b = socket.socketpair(); subprocess.run(['true']); m.Pool(2).map(len, ['a'])"},
		{"node", "-e", "require('fs').promises.readFile('/etc/passwd').then(() => require('child_process').execSync('true'))"},
	} {
		t.Run(argv[0], func(t *testing.T) {
			if _, err := exec.LookPath(argv[0]); err != nil {
				testneed.Need(t, "no %s on the PATH: install it and this runs", argv[0])
			}
			t.Chdir(t.TempDir())
			if reported := watchedJob(t, job{Exec: argv}).finish(t); len(reported) > 0 {
				t.Errorf("reported %v", reported)
			}
		})
	}
}

// A file that is opened for writing and a folder that is created are reported before that, by absolute path,
// and the call continues.
func TestWrites(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	const script = "mkdir a; cd a; : >b; : >>../c; cat b; cat >/dev/full; mkdir /nowhere/d; (umask 0; chmod 600 b); exec 9</dev/null"
	var reported []string
	w := watchedJob(t, job{Options: Options{Writes: true}, Exec: []string{"sh", "-c", script + "; exit 0"}})
	watcher := Watch(w.listener, func(path string) { reported = append(reported, path) })
	defer watcher.Close()
	if err := w.Wait(); err != nil {
		t.Errorf("%v: %s%s", err, &w.stdout, &w.stderr)
	}
	if refused := watcher.Done(); len(refused) != 0 {
		t.Errorf("refused %v", refused)
	}
	want := []string{dir + "/a", dir + "/a/b", dir + "/c", "/dev/full", "/nowhere/d"}
	if !slices.Equal(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
	for _, name := range []string{"a/b", "c"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// A unix socket is reported unless it belongs to the C library's name lookup.
func TestClientSocketsReported(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		testneed.Need(t, "no python3 on the PATH: apt-get install python3 makes this run")
	}
	const client = `import socket
try: socket.socket(socket.AF_UNIX)
except PermissionError: pass
else: raise SystemExit("a unix socket")`
	reported := watchedJob(t, job{Exec: []string{"python3", "-c", client}}).finish(t)
	if want := []Refusal{{"socket(AF_UNIX)", 1}}; !slices.Equal(reported, want) {
		t.Errorf("reported %v, want %v", reported, want)
	}

	// Go's clients pass the same arguments, but from their own code.
	own := socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if o := run(t, job{Filter: true, Options: Options{Notify: true}, Calls: []attempt{own}}); len(o.Refusals) != 1 {
		t.Errorf("reported %v, want the socket", o.Refusals)
	}
}

// Each refusal is counted once, even with concurrent calls.
func TestConcurrent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	calls := slices.Concat(slices.Repeat([]attempt{peek}, 200), slices.Repeat([]attempt{at(unix.SYS_KEYCTL, wrong)}, 100))
	reported := watchedJob(t, job{
		Exec: []string{"sh", "-c", `"$0" & "$0" & "$0" & "$0" & wait`, self},
		Then: &job{Calls: calls},
	}).finish(t)
	if want := []Refusal{{"ptrace", 800}, {"keyctl", 400}}; !slices.Equal(reported, want) {
		t.Errorf("reported %v, want %v", reported, want)
	}
}

// The arguments determine the name under which a refusal is counted.
func TestRefusalNames(t *testing.T) {
	for want, a := range map[string]attempt{
		"clone(CLONE_NEWUSER|CLONE_NEWNS)":  at(unix.SYS_CLONE, junk|unix.CLONE_NEWNS|unix.CLONE_NEWUSER|17),
		"unshare(CLONE_NEWNET)":             at(unix.SYS_UNSHARE, unix.CLONE_NEWNET),
		"unshare":                           at(unix.SYS_UNSHARE, unix.CLONE_NEWTIME),
		"socket(AF_INET)":                   socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP),
		"socket(AF_INET6, SOCK_DGRAM)":      socket(junk|unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0),
		"socket(AF_INET, SOCK_RAW)":         socket(unix.AF_INET, unix.SOCK_RAW, 1),
		"socket(AF_INET, SOCK_STREAM, 132)": socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP),
		"socket(AF_VSOCK)":                  socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		"socket(77)":                        socket(77, unix.SOCK_STREAM, 0),
		"socketpair(AF_UNIX, SOCK_DGRAM)":   at(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC),
		"socketpair(AF_TIPC)":               at(unix.SYS_SOCKETPAIR, unix.AF_TIPC, unix.SOCK_STREAM),
		"ioctl(TIOCSTI)":                    at(unix.SYS_IOCTL, 0, junk|unix.TIOCSTI),
		"mknodat(S_IFBLK)":                  at(unix.SYS_MKNODAT, 0, 0, unix.S_IFBLK|0o600),
		"mknodat(S_ISUID)":                  at(unix.SYS_MKNODAT, 0, 0, unix.S_IFREG|0o4755),
		"fchmodat(S_ISUID|S_ISGID)":         at(unix.SYS_FCHMODAT, 0, 0, 0o6755),
		"fchmod(S_ISGID)":                   at(unix.SYS_FCHMOD, 0, 0o2755),
		"openat(S_ISUID)":                   at(unix.SYS_OPENAT, 0, 0, unix.O_CREAT, 0o4755),
		"sendto(MSG_FASTOPEN)":              at(unix.SYS_SENDTO, 0, 0, 0, unix.MSG_FASTOPEN),
		"ptrace":                            peek,
		"call 9999":                         at(9999),
	} {
		c := call{number: a.Number, arch: arch, args: a.Args}
		if got := c.name(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The number of different recorded calls is limited.
func TestManyNames(t *testing.T) {
	var calls []attempt
	for family := range uint64(200) {
		calls = append(calls, socket(1000+family, unix.SOCK_STREAM, 0))
	}
	o := run(t, job{Filter: true, Options: Options{Notify: true}, Calls: calls})
	sum := 0
	for _, r := range o.Refusals {
		sum += r.Count
	}
	if want := (Refusal{otherCalls, 200 - maxNames + 1}); len(o.Refusals) != maxNames || sum != 200 || o.Refusals[0] != want {
		t.Errorf("%d names, %d calls, first %v; want %d, 200 and %v", len(o.Refusals), sum, o.Refusals[0], maxNames, want)
	}
}

// waitForCall waits until a process is in a call that has not been answered.
func waitForCall(t *testing.T, listener *os.File) {
	t.Helper()
	p := []unix.PollFd{{Fd: int32(listener.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, 20_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 1 || p[0].Revents&unix.POLLIN == 0 {
			t.Fatalf("no call came: %v, %#x", err, p[0].Revents)
		}
		return
	}
}

// A process that waits for an answer gets an error when the watcher is closed.
func TestCloseUnblocksWaiting(t *testing.T) {
	w := watchedJob(t, job{Calls: []attempt{peek}})
	waitForCall(t, w.listener)
	w.listener.Close()
	if err := w.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &w.stderr)
	}
	var o outcome
	if err := json.Unmarshal(w.stdout.Bytes(), &o); err != nil || o.Errnos[0] != unix.ENOSYS {
		t.Errorf("%v (%v), want %v", o, err, unix.ENOSYS)
	}
}

// Killing a process that waits for an answer does not stop the watcher.
func TestKilledWhileWaiting(t *testing.T) {
	w := watchedJob(t, job{Calls: []attempt{peek}})
	waitForCall(t, w.listener)
	if err := w.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = w.Wait()
	if reported := Watch(w.listener, nil).Done(); len(reported) != 0 {
		t.Errorf("reported %v", reported)
	}
}

// Close ends a watcher whose processes are still running; it can be called repeatedly.
func TestClose(t *testing.T) {
	w := watchedJob(t, job{Exec: []string{"cat", "/dev/zero"}})
	watcher := Watch(w.listener, nil)
	for range 3 {
		if err := watcher.Close(); err != nil {
			t.Error(err)
		}
	}
	if reported := watcher.Done(); len(reported) != 0 {
		t.Errorf("reported %v", reported)
	}
}

// Watch of a descriptor that is not a listener fails, and Close returns the error.
func TestWatchInvalidDescriptor(t *testing.T) {
	closed, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	w := Watch(closed, nil)
	if reported := w.Done(); len(reported) != 0 {
		t.Errorf("reported %v", reported)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "refused calls") {
		t.Errorf("%v, want why there is nothing to listen on", err)
	}

	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	if reported := Watch(file, nil).Done(); len(reported) != 0 {
		t.Errorf("a plain file reported %v", reported)
	}
}
