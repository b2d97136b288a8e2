//go:build linux && (amd64 || arm64)

package kernel

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stranger is an unprivileged user: the tests run as root and as this user.
const stranger = 12345

// TestMain runs all tests a second time as an ordinary user, in a separate folder.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && os.Getuid() == 0 && os.Getenv("HOLDFAST_TEST_USER") == "" {
		code = asUser()
	}
	os.Exit(code)
}

func asUser() int {
	dir, err := os.MkdirTemp("", "user")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	self := filepath.Join(dir, "kernel.test")
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(self, program, 0o755), os.Mkdir(dir+"/tmp", 0o755), os.Chown(dir+"/tmp", stranger, stranger)); err != nil {
		panic(err)
	}
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool { // drop paths of this package's build
		return strings.HasPrefix(arg, "-test.testlogfile") || strings.HasPrefix(arg, "-test.coverprofile")
	})
	cmd := exec.Command(self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOLDFAST_TEST_USER=1", "TMPDIR="+dir+"/tmp", "HOME="+dir+"/tmp", "GOCOVERDIR=")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	if err := cmd.Run(); err != nil {
		println("as an ordinary user:", err.Error())
		return 1
	}
	return 0
}

// eachWay are the two ways to start a command.
func eachWay(t *testing.T, test func(t *testing.T, prepare func(*Policy) *Jail)) {
	for _, way := range []struct {
		name   string
		reexec bool
	}{{"memory shared", false}, {"by our own program", true}} {
		t.Run(way.name, func(t *testing.T) {
			if mustReexec && !way.reexec {
				t.Skip("the race detector does not allow it")
			}
			test(t, func(p *Policy) *Jail {
				t.Helper()
				j, err := Prepare(p)
				if err != nil {
					t.Fatal(err)
				}
				j.reexec = way.reexec
				t.Cleanup(func() {
					if err := j.Close(); err != nil {
						t.Error(err)
					}
				})
				return j
			})
		})
	}
}

// ended is the result of a command.
type ended struct {
	out string
	*State
}

func start(t testing.TB, j *Jail, a Attr, script string) (*Process, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	t.Cleanup(func() { r.Close() })
	a.Path, a.Args, a.Files = "/bin/sh", []string{"sh", "-c", script}, append([]*os.File{nil, w, w}, a.Files...)
	a.Env = append(a.Env, "PATH="+os.Getenv("PATH"))
	proc, err := j.Start(&a)
	if err != nil {
		t.Fatal(err)
	}
	return proc, r
}

func sh(t testing.TB, j *Jail, dir, script string) ended {
	t.Helper()
	proc, r := start(t, j, Attr{Dir: dir}, script)
	out, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	s, err := proc.Wait()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return ended{string(out), s}
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestFiles(t *testing.T) {
	eachWay(t, func(t *testing.T, prepare func(*Policy) *Jail) {
		outside, work := t.TempDir(), t.TempDir()
		write(t, outside+"/file", "outside")
		write(t, work+"/file", "inside")
		write(t, work+"/secret/key", "hidden")
		write(t, work+"/.env", "hidden")
		write(t, work+"/.git/config", "config")
		write(t, work+"/.git/hooks/sample", "sample")
		home, err := os.MkdirTemp("/var/tmp", "home")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(home)
		j := prepare(&Policy{
			Read: []string{"/", outside}, Write: []string{work},
			Hide: []string{work + "/secret", work + "/.env"}, Pin: []string{work + "/.git"},
			ReadOnly: []string{work + "/.git/config", work + "/.git/hooks"},
			Forbid:   []Name{{work + "/.mcp.json", false}, {work + "/.vscode", false}},
		})
		for _, tt := range []struct {
			name, script, want string
			fails              bool
		}{
			{"read", "cat file ../*/file", "insideoutside", false},
			{"write", "echo new > made && cat made", "new\n", false},
			{"write outside", "echo x > " + outside + "/file", "Read-only file system", true},
			{"make outside", "mkdir " + outside + "/d", "Read-only file system", true},
			{"chmod outside", "chmod 777 " + outside + "/file", "Read-only file system", true},
			{"read a hidden file", "cat .env", "Permission denied", true},
			{"read in a hidden folder", "cat secret/key", "Permission denied", true},
			{"list a hidden folder", "ls secret", "Permission denied", true},
			{"open what hides", "chmod 777 secret", "Read-only file system", true},
			{"remove what hides", "rm -rf secret", "busy", true},
			{"move what hides", "mv secret elsewhere", "busy", true},
			{"write a fixed file", "echo x >> .git/config", "Read-only file system", true},
			{"make a hook", "echo x > .git/hooks/pre-commit", "Read-only file system", true},
			{"move the hooks", "mv .git/hooks .git/old", "busy", true},
			{"move what is pinned", "mv .git old", "busy", true},
			{"write in what is pinned", "echo x > .git/index && cat .git/index", "x\n", false},
			{"make a forbidden file", "echo x > .mcp.json", "", true},
			{"put a forbidden file", "echo x > y && mv -f y .mcp.json", "", true},
			{"link a forbidden file", "echo x > y; ln -f y .mcp.json", "", true},
			{"remove the placeholder", "rm -f .mcp.json", "busy", true},
			{"make a forbidden folder's file", "mkdir -p .vscode; echo x > .vscode/tasks.json", "irectory", true},
			{"temporary files are its own", "ls -A /tmp /var/tmp | grep -v /; echo x > /tmp/x; cat /var/tmp/x", "x\n", false},
			{"shared memory is its own", "ls -A /dev/shm; echo x > /dev/shm/x", "", false},
			{"devices", "head -c 4 /dev/zero | wc -c; echo x > /dev/null; head -c 1 /dev/urandom | wc -c", "4\n1\n", false},
			{"disks", "head -c 1 /dev/vda", "ermission denied", true},
			{"kernel messages", "head -c 1 /dev/kmsg", "ermission denied", true},
			{"kernel settings", "echo x > /proc/sys/kernel/core_pattern", "Read-only file system", true},
			{"processes are its own", "ls -d /proc/[0-9]* | wc -l", "", false},
			{"set the user", "cp /bin/sh s && chmod u+s s", "not permitted", true},
			{"capabilities", "grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status | tr -d '0\\t\\n'", "CapInh:CapPrm:CapEff:CapAmb:", false},
			{"no new privileges", "grep NoNewPrivs /proc/self/status", "NoNewPrivs:\t1\n", false},
			{"descriptors", "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 ", false},
			{"network", "cat /proc/net/dev | wc -l", "3\n", false},
		} {
			t.Run(tt.name, func(t *testing.T) {
				got := sh(t, j, work, tt.script)
				if !strings.Contains(got.out, tt.want) || (got.Status != 0) != tt.fails {
					t.Errorf("%s: %q, status %d; want %q", tt.script, got.out, got.Status, tt.want)
				}
			})
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		for _, name := range []string{".mcp.json", ".vscode"} {
			if _, err := os.Lstat(work + "/" + name); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left: %v", name, err)
			}
		}
	})
}

// With a umask that makes new folders inaccessible, a command still has its files, and it inherits that
// umask.
func TestUmask(t *testing.T) {
	work := t.TempDir() + "/a/b"
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	eachWay(t, func(t *testing.T, prepare func(*Policy) *Jail) {
		j := prepare(&Policy{Read: []string{"/"}, Write: []string{work}})
		defer syscall.Umask(syscall.Umask(0o177))
		if got := sh(t, j, work, "umask; echo hi > f && cat f; rm f"); got.out != "0177\nhi\n" {
			t.Errorf("%q", got.out)
		}
	})
}

func TestEnd(t *testing.T) {
	eachWay(t, func(t *testing.T, prepare func(*Policy) *Jail) {
		j := prepare(&Policy{Read: []string{"/"}})
		for _, tt := range []struct {
			script string
			code   int
			signal syscall.Signal
		}{
			{"true", 0, 0},
			{"exit 42", 42, 0},
			{"kill -9 $$", -1, syscall.SIGKILL},
			{"kill -TERM $$", -1, syscall.SIGTERM},
			{"kill -9 1 2>/dev/null; kill -TERM 1 2>/dev/null; exit 3", 3, 0},
			{"(sleep 100 &) ; setsid sleep 100 & exit 5", 5, 0},
		} {
			got := sh(t, j, "/", tt.script)
			if got.Status.ExitStatus() != tt.code && tt.signal == 0 || tt.signal != 0 && got.Status.Signal() != tt.signal {
				t.Errorf("%s: %v, %q", tt.script, got.Status, got.out)
			}
		}
	})
}

func TestStartFails(t *testing.T) {
	eachWay(t, func(t *testing.T, prepare func(*Policy) *Jail) {
		j := prepare(&Policy{Read: []string{"/"}})
		for _, tt := range []struct {
			path, dir, step string
			err             error
		}{
			{"/no/such", "/", "execute /no/such", os.ErrNotExist},
			{"/etc/passwd", "/", "execute /etc/passwd", os.ErrPermission},
			{"/bin/true", "/no/such", "enter /no/such", os.ErrNotExist},
		} {
			proc, err := j.Start(&Attr{Path: tt.path, Args: []string{"x"}, Dir: tt.dir})
			if err != nil {
				t.Fatal(err)
			}
			_, err = proc.Wait()
			e, ok := errors.AsType[*StartError](err)
			if !ok || e.Step != tt.step || !errors.Is(err, tt.err) {
				t.Errorf("%s in %s: %v", tt.path, tt.dir, err)
			}
		}
	})
}

func TestSignal(t *testing.T) {
	eachWay(t, func(t *testing.T, prepare func(*Policy) *Jail) {
		j := prepare(&Policy{Read: []string{"/"}})
		proc, r := start(t, j, Attr{Dir: "/"}, "trap 'echo got; exit 7' TERM; echo begun; while :; do :; done")
		buf := make([]byte, 6)
		if _, err := io.ReadFull(r, buf); err != nil {
			t.Fatal(err)
		}
		if err := proc.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(r)
		s, err := proc.Wait()
		if err != nil || s.Status.ExitStatus() != 7 || string(rest) != "got\n" {
			t.Errorf("%v, %v, %q", s, err, rest)
		}
		if err := proc.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("after the end: %v", err)
		}

		proc, r = start(t, j, Attr{Dir: "/"}, "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo begun; sleep 100' & wait; sleep 100")
		if _, err := io.ReadFull(r, buf); err != nil {
			t.Fatal(err)
		}
		if err := proc.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); err != nil { // until the last process that has it open ends
			t.Error(err)
		}
		if s, err := proc.Wait(); err != nil || s.Status.Signal() != syscall.SIGKILL {
			t.Errorf("%v, %v", s, err)
		}
	})
}

// Killing the process that started a command ends the command and all its processes.
func TestParentDies(t *testing.T) {
	if os.Getenv("HOLDFAST_TEST_PARENT") != "" {
		j, err := Prepare(&Policy{Read: []string{"/"}})
		if err != nil {
			t.Fatal(err)
		}
		j.reexec = j.reexec || os.Getenv("HOLDFAST_TEST_PARENT") == "true"
		_, _ = j.Start(&Attr{Path: "/bin/sh", Args: []string{"sh", "-c", "setsid sleep 100 & echo begun; sleep 100"}, Files: []*os.File{nil, os.Stdout}})
		time.Sleep(time.Minute) // it is killed
	}
	for _, again := range []bool{false, true} {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestParentDies$")
		cmd.Env = append(os.Environ(), "HOLDFAST_TEST_USER=1", "HOLDFAST_TEST_PARENT="+strconv.FormatBool(again))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 6)
		if _, err := io.ReadFull(out, buf); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, out); err != nil { // ends when no process has it open
			t.Error(err)
		}
		_ = cmd.Wait()
	}
}

func TestProxy(t *testing.T) {
	eachWay(t, func(t *testing.T, prepare func(*Policy) *Jail) {
		j := prepare(&Policy{Read: []string{"/"}, Network: ProxyNetwork})
		proc, r := start(t, j, Attr{Dir: "/", Serve: func(l net.Listener) {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, "hello from outside\n")
				c.Close()
			}
		}}, `bash -c 'exec 5<>/dev/tcp/127.0.0.1/3128; cat <&5; exec 6<>/dev/tcp/127.0.0.1/3129'`)
		out, _ := io.ReadAll(r)
		s, err := proc.Wait()
		if err != nil || !strings.Contains(string(out), "hello from outside") || !strings.Contains(string(out), "ermission denied") {
			t.Errorf("%v, %v, %q", s, err, out)
		}
	})
}

func TestRefusedCallsReported(t *testing.T) {
	eachWay(t, func(t *testing.T, prepare func(*Policy) *Jail) {
		j := prepare(&Policy{Read: []string{"/"}, Notify: true})
		got := sh(t, j, "/", "unshare -Ur true; unshare -Ur true")
		if len(got.Refused) != 1 || got.Refused[0].Call != "unshare(CLONE_NEWUSER)" || got.Refused[0].Count != 2 {
			t.Errorf("%v, %q", got.Refused, got.out)
		}
	})
}

// A forbidden name that was created nevertheless is reported.
func TestAppeared(t *testing.T) {
	work := t.TempDir()
	j, err := Prepare(&Policy{Read: []string{"/"}, Write: []string{work}, Forbid: []Name{{work + "/.mcp.json", false}}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	proc, r := start(t, j, Attr{Dir: work}, "echo begun; while ! echo '{}' 2>/dev/null > .mcp.json; do sleep 0.01; done")
	if _, err := io.ReadFull(r, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(work + "/.mcp.json"); err != nil {
		t.Fatal(err)
	}
	s, err := proc.Wait()
	if err != nil || len(s.Appeared) != 1 || s.Appeared[0] != work+"/.mcp.json" {
		t.Error(s, err)
	}
	if got := sh(t, j, work, "true"); len(got.Appeared) != 0 {
		t.Errorf("reported again: %v", got.Appeared)
	}
}

// Two sandboxes share placeholders: the first to end leaves them to the other.
func TestPlaceholdersShared(t *testing.T) {
	work := t.TempDir()
	p := &Policy{Read: []string{"/"}, Write: []string{work}, Forbid: []Name{{work + "/.mcp.json", false}, {work + "/commondir", true}}}
	a, err := Prepare(p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Prepare(p)
	if err != nil {
		t.Fatal(err)
	}
	proc, _ := start(t, b, Attr{Dir: work}, "sleep 100")
	if got := sh(t, a, work, "true"); got.Status != 0 {
		t.Error(got)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for _, n := range p.Forbid {
		if !IsPlaceholder(n.Path) {
			t.Errorf("%s is no placeholder while the second runs", n.Path)
		}
	}
	if err := proc.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if _, err := proc.Wait(); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(work); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v are left", entries, err)
	}
}
