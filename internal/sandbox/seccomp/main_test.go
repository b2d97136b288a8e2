//go:build linux && (amd64 || arm64)

package seccomp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// jobVariable makes the test binary run a job instead of tests.
const jobVariable = "HOLDFAST_SECCOMP_JOB"

// job is what a separate process tries.
type job struct {
	Filter  bool
	Options Options
	UID     int       // 0: the test's user
	Calls   []attempt // made by the thread that has the filter
	Send    bool      // the listener is passed as descriptor 3
	Exec    []string  // the program that it then executes
	Then    *job      // the job that a test binary then runs
	Foreign bool      // getpid through the 32-bit interface of amd64
	Stack   bool      // a second filter, whose listener would allow everything
	Naive   bool      // the filter does not refuse other listeners
	Close   bool      // the watcher has ended when the calls are made
}

// attempt is a call by its number, as the processor receives it.
type attempt struct {
	Number uint32
	Args   [6]uint64
}

// outcome is the result of a job.
type outcome struct {
	Errnos   []syscall.Errno
	Foreign  int64
	Stack    syscall.Errno
	Refusals []Refusal
	Failed   string
}

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		os.Exit(runJob(text))
	}
	os.Exit(m.Run())
}

// run runs a job in a separate process.
func run(t testing.TB, j job) outcome {
	t.Helper()
	text, err := start(t, j).Output()
	if err != nil {
		t.Fatalf("job: %v\n%s", err, text)
	}
	var o outcome
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatalf("job: %v in %q", err, text)
	}
	if o.Failed != "" {
		t.Fatal("job: ", o.Failed)
	}
	return o
}

func start(t testing.TB, j job) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), jobVariable+"="+string(text))
	c.Stderr = os.Stderr
	return c
}

// runJob is the job's side of run.
func runJob(text string) int {
	var j job
	var o outcome
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		o.Failed = err.Error()
	} else {
		var w *Watcher
		onOwnThread(func() { o, w = j.do() })
		if w != nil {
			o.Refusals = w.Done() // without Close: the thread with the filter has ended
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		return 1
	}
	return 0
}

// onOwnThread runs f on a thread that ends afterwards, together with its filters.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the main thread would not end
			onOwnThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

func (j job) do() (o outcome, w *Watcher) {
	if j.UID != 0 {
		for _, nr := range []uintptr{unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
			if _, _, errno := unix.RawSyscall(nr, uintptr(j.UID), uintptr(j.UID), uintptr(j.UID)); errno != 0 {
				return outcome{Failed: "become a user: " + errno.Error()}, nil
			}
		}
	}
	if j.Filter {
		listener, err := install(&j.Options, j.Naive)
		if err != nil {
			return outcome{Failed: err.Error()}, nil
		}
		switch {
		case j.Send:
			err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(listener.Fd())), nil, 0)
			if err = errors.Join(err, listener.Close()); err != nil {
				return outcome{Failed: "send the listener: " + err.Error()}, nil
			}
		case listener != nil:
			w = Watch(listener, nil)
		}
	}
	if j.Close {
		_ = w.Close()
	}
	for _, a := range j.Calls {
		o.Errnos = append(o.Errnos, a.make())
	}
	if j.Foreign {
		o.Foreign = foreignCall()
	}
	if j.Stack {
		o.Stack = stack()
	}
	if len(j.Exec) > 0 {
		o.Failed = fmt.Sprint("exec: ", j.become())
	}
	return o, w
}

// become executes the job's program, which inherits the filter.
func (j job) become() error {
	path, err := exec.LookPath(j.Exec[0])
	if err != nil {
		return err
	}
	env := append(os.Environ(), jobVariable+"=")
	if j.Then != nil {
		text, err := json.Marshal(j.Then)
		if err != nil {
			return err
		}
		env = append(env, jobVariable+"="+string(text))
	}
	last := map[string]string{} // the last value wins, even for programs that use the first
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		last[name] = e
	}
	return syscall.Exec(path, j.Exec, slices.Collect(maps.Values(last)))
}

func (a attempt) make() syscall.Errno {
	x := a.Args
	_, _, errno := unix.Syscall6(uintptr(a.Number),
		uintptr(x[0]), uintptr(x[1]), uintptr(x[2]), uintptr(x[3]), uintptr(x[4]), uintptr(x[5]))
	return errno
}

// install installs a filter on this thread.
func install(o *Options, naive bool) (listener *os.File, err error) {
	program, err := Filter(o)
	if err != nil {
		return nil, err
	}
	if naive {
		r := rules(o)
		delete(r, unix.SYS_SECCOMP)
		program = assemble(arch, spans(r), o.Notify)
	}
	flags := 0
	if o.Notify {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	fd, errno := load(program, flags)
	switch {
	case errno != 0:
		return nil, fmt.Errorf("install the filter: %w", errno)
	case o.Notify:
		return os.NewFile(uintptr(fd), "listener"), nil
	}
	return nil, nil
}

// load loads a program into the kernel.
func load(program []Instruction, flags int) (int, syscall.Errno) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err.(syscall.Errno) //nolint:errorlint // the number that the kernel said
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(flags), uintptr(unsafe.Pointer(&p)))
	return int(fd), errno
}

// isRoot reports whether actions that need root can be tried.
func isRoot() bool { return os.Geteuid() == 0 }

// optionSets returns all combinations of options.
func optionSets() []Options {
	var all []Options
	for i := range 1 << 7 {
		bit := func(n int) bool { return i>>n&1 == 1 }
		all = append(all, Options{Inet: bit(0), TCPOnly: bit(1), Unix: bit(2), Nested: bit(3), KeepProcessGroup: bit(4), Notify: bit(5), Writes: bit(6)})
	}
	return all
}

func (o Options) String() string {
	var on []string
	for name, is := range map[string]bool{
		"inet": o.Inet, "tcp only": o.TCPOnly, "unix": o.Unix, "nested": o.Nested, "no escape": o.KeepProcessGroup, "notify": o.Notify, "writes": o.Writes,
	} {
		if is {
			on = append(on, name)
		}
	}
	return "{" + strings.Join(on, ",") + "}"
}
