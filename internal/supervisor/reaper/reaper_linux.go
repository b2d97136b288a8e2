package reaper

import (
	"bufio"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// lingerTime is the time that the program's remaining processes have to end by themselves.
const lingerTime = time.Second

// reaperState is the state of a reaper.
type reaperState struct {
	control *os.File
	grace   time.Duration
	pid     int

	mu      sync.Mutex
	ended   bool // true if the program has been waited for, so that its process id may be reused
	killing bool // killing has started
	killAll sync.Once
}

// Main runs a reaper. It does not return.
func Main() {
	const controlFD = 3
	for _, name := range names("/proc/self/fd") { // the program gets copies of its descriptors and inherits no others
		if fd, err := strconv.Atoi(name); err == nil && fd >= controlFD {
			syscall.CloseOnExec(fd)
		}
	}
	control := os.NewFile(controlFD, "control")
	score := openScore() // opened before this process becomes inaccessible to its own user
	prctl(syscall.PR_SET_DUMPABLE, 0)
	prctl(prSetChildSubreaper, 1)
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) // a core dump would contain secrets
	o, err := Read(control)
	if err != nil {
		os.Exit(1) // the supervisor gave up
	}
	k := &reaperState{control: control, grace: time.Duration(o.Grace) * time.Millisecond}
	pid, step, err := launch(o, score)
	if err != nil {
		errno := syscall.EINVAL
		_ = errors.As(err, &errno)
		k.send("failed " + strconv.Itoa(int(errno)) + " " + step)
		os.Exit(0)
	}
	k.pid = pid
	k.send("started " + strconv.Itoa(pid))
	dropStreams(o)
	go k.listen()
	k.wait()
}

const prSetChildSubreaper = 36

func prctl(option, arg uintptr) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, option, arg, 0, 0, 0, 0) // //nolint:dogsled // unsupported options are not needed
}

func (k *reaperState) send(line string) { _, _ = k.control.WriteString(line + "\n") }

// listen executes the supervisor's commands. When the supervisor is gone, the tree ends.
func (k *reaperState) listen() {
	lines := bufio.NewScanner(k.control)
	for lines.Scan() {
		word, number, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(number)
		switch {
		case err != nil:
		case word == "kill":
			k.kill(time.Duration(n) * time.Millisecond)
		case word == "signal":
			k.signal(syscall.Signal(n))
		}
	}
	k.kill(k.grace)
}

// kill sends SIGTERM to the program's group, and ends the tree after the grace time.
func (k *reaperState) kill(grace time.Duration) {
	if grace > 0 {
		k.signal(syscall.SIGTERM)
		k.signal(syscall.SIGCONT) // a stopped process could not react to SIGTERM
	}
	time.AfterFunc(grace, k.end)
}

func (k *reaperState) signal(sig syscall.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.ended {
		_ = syscall.Kill(-k.pid, sig)
	}
}

// end kills all processes below this one until none is left, which ends the reaper.
func (k *reaperState) end() {
	k.killAll.Do(func() {
		k.mu.Lock()
		k.killing = true
		k.mu.Unlock()
		for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
			// It makes several passes at once, to catch a process that repeatedly starts another
			// one and exits.
			for range 8 {
				if Kill(os.Getpid(), syscall.SIGKILL, nil) == 0 {
					break
				}
			}
			time.Sleep(pause)
		}
	})
}

// wait waits until all processes have ended. When the program has ended, its remaining processes
// are asked to end and then killed; when nothing is left, the reaper ends.
func (k *reaperState) wait() {
	for {
		err := anyEnded()
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil { // ECHILD
			k.send("gone")
			os.Exit(0)
		}
		k.mu.Lock() // the program's number must not be reused while it is signaled
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		main := err == nil && pid == k.pid && !k.ended
		k.ended = k.ended || main
		byReaper := k.killing
		k.mu.Unlock()
		if main {
			k.finished(status, byReaper)
		}
	}
}

func (k *reaperState) finished(status syscall.WaitStatus, byReaper bool) {
	code, sig := status.ExitStatus(), 0
	if status.Signaled() {
		sig = int(status.Signal())
		code = 128 + sig
	}
	k.send("exit " + strconv.Itoa(code) + " " + strconv.Itoa(sig) + " " + flag(byReaper))
	Kill(os.Getpid(), syscall.SIGTERM, nil)
	time.AfterFunc(min(max(k.grace, 0), lingerTime), k.end)
}

// anyEnded waits until a child has ended, without reaping it.
func anyEnded() error {
	const exited, leave = 4, 0x01000000 // WEXITED, WNOWAIT
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, 0, 0, 0, exited|leave, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// launch starts the program from a separate thread, which then ends. Only this thread is restricted
// by the Landlock ruleset, so the program is in the Landlock domain and the reaper is not.
func launch(o *Order, score *os.File) (pid int, step string, err error) {
	path, err := lookPath(o)
	if err != nil {
		return 0, "find " + strconv.Quote(o.Args[0]), err
	}
	if info, err := os.Stat(o.Dir); err != nil {
		return 0, "change to its folder", err
	} else if !info.IsDir() {
		return 0, "change to its folder", syscall.ENOTDIR
	}
	files, ruleset := []uintptr{0, 1, 2}, 4
	if o.Channel {
		files, ruleset = append(files, 4), 5
	}
	attr := &syscall.ProcAttr{Dir: o.Dir, Env: o.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true, Setctty: o.Terminal}}
	onThread(func() {
		if o.Confined {
			if err = restrict(ruleset); err != nil {
				step = "restrict it with Landlock"
				return
			}
		}
		raised := raiseScores(score, o.Adj)
		pid, err = syscall.ForkExec(path, o.Args, attr)
		step = "execute " + strconv.Quote(path)
		raised()
	})
	return pid, step, err
}

// onThread runs f on a thread that ends when f returns. This is never the first thread, because
// that thread does not end and represents this process for other processes.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if syscall.Gettid() == os.Getpid() {
			onThread(f) // on another thread, because this one is locked meanwhile
			runtime.UnlockOSThread()
			return
		}
		f() // and not unlocked
	}()
	<-done
}

func restrict(ruleset int) error {
	const prSetNoNewPrivs = 38
	prctl(prSetNoNewPrivs, 1)
	if _, _, errno := syscall.RawSyscall(sysLandlockRestrictSelf, uintptr(ruleset), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func openScore() *os.File {
	f, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return f
}

// raiseScores makes each process that is started more likely than the reaper to be killed for lack of
// memory, until the returned function is called.
func raiseScores(score *os.File, adj int) func() {
	var old [16]byte
	n, _ := score.ReadAt(old[:], 0) // also for a nil file
	if n == 0 {
		return func() {}
	}
	_, _ = score.WriteAt([]byte(strconv.Itoa(adj)), 0)
	return func() { _, _ = score.WriteAt(old[:n], 0) }
}

// lookPath finds the program. A name with a slash is a path, as in shells.
func lookPath(o *Order) (string, error) {
	name := o.Args[0]
	if strings.Contains(name, "/") {
		if !strings.HasPrefix(name, "/") {
			name = strings.TrimSuffix(o.Dir, "/") + "/" + name
		}
		return name, nil
	}
	var path string
	for _, entry := range o.Env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	var found error = syscall.ENOENT
	for dir := range strings.SplitSeq(path, ":") {
		if !strings.HasPrefix(dir, "/") {
			continue // skips a program of the project with the same name
		}
		file := strings.TrimSuffix(dir, "/") + "/" + name
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		if syscall.Access(file, 1) == nil {
			return file, nil
		}
		found = syscall.EACCES
	}
	return "", found
}

// dropStreams closes the program's streams, so that their other ends see it end.
func dropStreams(o *Order) {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil || syscall.Dup3(null, fd, syscall.O_CLOEXEC) != nil {
			_ = syscall.Close(fd)
		}
	}
	next := 4
	for _, given := range []bool{o.Channel, o.Confined} {
		if given {
			_ = syscall.Close(next)
			next++
		}
	}
}
