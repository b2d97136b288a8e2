package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/supervisor/reaper"
)

// task is one process, its reaper and its streams.
type task struct {
	server  *server
	order   *order
	link    *link
	pid     int
	started time.Time

	reaper  *os.Process
	control *os.File // to the reaper
	lines   *bufio.Reader

	streamEnds           // the supervisor's ends of its streams
	in, channelIn *inbox // from the host
	out, errs     *outbox
	channelOut    *outbox
	tail          tail
	stderrDone    chan struct{}
	writing       sync.Mutex // to the reaper
	pumps         sync.WaitGroup
	watching      sync.WaitGroup
	done          chan struct{} // closed when nothing of the process is left
	status        ended
	exited        bool
}

// oomScore makes the kernel kill an agent's process for lack of memory before the supervisor and the reapers.
const oomScore = 800

// start starts a process; [task.run] starts its streams. The error is [ErrRunning], or says why nothing runs.
func (s *server) start(o *order, l *link) (*task, error) {
	t := &task{server: s, order: o, link: l, started: time.Now(), done: make(chan struct{}), stderrDone: make(chan struct{})}
	s.mu.Lock()
	switch {
	case s.ended:
		s.mu.Unlock()
		return nil, errors.New("the supervisor is shutting down")
	case s.tasks[o.ID] != nil:
		s.mu.Unlock()
		return nil, ErrRunning
	}
	s.tasks[o.ID] = t
	s.mu.Unlock()
	if err := t.launch(); err != nil {
		t.close()
		s.forget(t)
		close(t.done)
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended { // meanwhile
		t.kill()
	}
	return t, nil
}

func (s *server) forget(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tasks, t.order.ID)
}

// launch starts the reaper and waits until the program runs.
func (t *task) launch() error {
	processEnds, err := t.open(t.order)
	defer closeAll(processEnds)
	if err != nil {
		return err
	}
	local, control, err := socketPair()
	if err != nil {
		return err
	}
	t.writing.Lock()
	t.control, t.lines = local, bufio.NewReader(local)
	t.writing.Unlock()
	files := append([]*os.File{processEnds[0], processEnds[1], processEnds[2], control}, processEnds[3:]...)
	defer control.Close()
	if t.server.domain.files {
		rules, err := t.server.domain.ruleset()
		if err != nil {
			return errors.Join(err, local.Close())
		}
		defer rules.Close()
		files = append(files, rules)
	}
	if err := t.fork(files); err != nil {
		return errors.Join(fmt.Errorf("start a reaper: %w", err), local.Close())
	}
	o := &reaper.Order{
		Args: t.order.Args, Env: mergeEnv(t.server.o.environ(t.order.Terminal != nil, t.server.egress.ensureListening()), t.order.Env),
		Dir: t.order.Dir, Channel: t.order.Channel, Confined: t.server.domain.files, Terminal: t.order.Terminal != nil,
		Adj: oomScore, Grace: int(t.order.GraceMS),
	}
	if err = o.Write(local); err == nil {
		err = t.awaitStart()
	}
	if err != nil {
		_ = local.Close() // this ends the reaper and any process that it has started
		t.reap()
	}
	return err
}

// fork starts the reaper, which is the holdfast program.
func (t *task) fork(files []*os.File) error {
	s := t.server
	s.starting.Lock()
	defer s.starting.Unlock()
	p, err := os.StartProcess("/proc/self/exe", []string{"holdfast", "supervise", "child"}, &os.ProcAttr{
		Dir: "/", Files: files, Env: []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}, Sys: &unix.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return err
	}
	t.reaper = p
	s.reapers[p.Pid] = true
	return nil
}

// awaitStart waits for the reaper's report that the program runs.
func (t *task) awaitStart() error {
	line, err := t.lines.ReadString('\n')
	if err != nil {
		return errors.New("the reaper ended before it had started the program")
	}
	word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	number, step, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
	case word == "started":
		t.server.mu.Lock()
		t.pid = n
		t.server.mu.Unlock()
		return nil
	case word == "failed":
		return fmt.Errorf("%s: %w", step, unix.Errno(n))
	}
	return fmt.Errorf("unexpected output of the reaper: %q", line)
}

// reap waits for the reaper. Its status shows whether it was killed.
func (t *task) reap() *os.ProcessState {
	state, _ := t.reaper.Wait()
	s := t.server
	s.starting.Lock()
	delete(s.reapers, t.reaper.Pid)
	s.starting.Unlock()
	return state
}

// sendReaper sends a command to the reaper, which may have ended already.
func (t *task) sendReaper(word string, n int) {
	t.writing.Lock()
	defer t.writing.Unlock()
	_, _ = t.control.WriteString(word + " " + strconv.Itoa(n) + "\n") // control may be nil while the process starts
}

// kill ends the process and everything it started, within its grace time.
func (t *task) kill() { t.sendReaper("kill", int(t.order.GraceMS)) }

// run starts the streams and watches for the end.
func (t *task) run() {
	t.in, t.out, t.errs = newInbox(t.link, streamIn), newOutbox(t.link, streamOut), newOutbox(t.link, streamErr)
	t.pumps.Go(t.feed)
	t.pumps.Go(func() { drain(t.out, t.stdout) })
	t.pumps.Go(func() {
		defer close(t.stderrDone)
		if t.stderr != nil { // nil with a terminal
			drain(t.errs, io.TeeReader(t.stderr, &t.tail))
			return
		}
		_ = t.errs.Close()
	})
	if t.channel != nil {
		t.channelIn, t.channelOut = newInbox(t.link, streamChannel), newOutbox(t.link, streamChannel)
		t.pumps.Go(func() { drain(t.channelOut, t.channel) })
		t.pumps.Go(func() {
			_, err := io.Copy(t.channel, t.channelIn)
			if err != nil {
				t.channelIn.drop()
			}
			_ = shutWrite(t.channel)
		})
	}
	t.watching.Go(t.watch)
	t.watching.Go(t.meter)
}

// watch follows the reaper's reports until everything has ended.
func (t *task) watch() {
	finished := false
	for !finished {
		line, err := t.lines.ReadString('\n')
		if err != nil {
			break
		}
		f := strings.Fields(line)
		switch {
		case len(f) == 4 && f[0] == "exit":
			t.exit(f[1], f[2], f[3] == "1")
		case len(f) == 1 && f[0] == "gone":
			finished = true
		}
	}
	state := t.reap()
	if !finished {
		t.orphaned(state)
	}
	select {
	case <-t.stderrDone: // all output has been sent
	case <-time.After(time.Second): // another process holds standard error open, or no one reads it
	case <-t.link.dead:
	}
	t.status.Tail = t.tail.bytes()
	t.server.forget(t)
	_ = t.link.send(&frame{Type: typeExit, Exit: &t.status}, nil)
	close(t.done)
}

func (t *task) exit(code, signal string, byReaper bool) {
	t.status.Code, _ = strconv.Atoi(code)
	if n, _ := strconv.Atoi(signal); n != 0 {
		t.status.Signal = unix.SignalName(unix.Signal(n))
	}
	// SIGKILL has ended the process or its child: a shell exits with this code if its child was
	// killed.
	killed := t.status.Code == 128+int(unix.SIGKILL)
	t.status.OOM = killed && !byReaper && t.server.oom.recent()
	t.exited = true
}

// orphaned ends the processes of a reaper that was itself killed.
func (t *task) orphaned(state *os.ProcessState) {
	if !t.exited {
		t.status = ended{Code: 128 + int(unix.SIGKILL), Signal: "SIGKILL"}
		if w, ok := state.Sys().(unix.WaitStatus); ok && w.Signaled() {
			t.status.OOM = w.Signal() == unix.SIGKILL && t.server.oom.recent()
		}
	}
	t.server.killStrays()
}

// meter repeatedly checks whether the kernel has killed a process for lack of memory.
func (t *task) meter() {
	tick := time.NewTicker(meterPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.server.oom.count()
		case <-t.done:
			return
		}
	}
}

// lost ends the process because the host is gone, and waits until all of its processes have ended.
func (t *task) lost() {
	t.kill()
	t.in.finish(ErrLost)
	t.out.fail(ErrLost)
	t.errs.fail(ErrLost)
	if t.channel != nil {
		t.channelIn.finish(ErrLost)
		t.channelOut.fail(ErrLost)
	}
	<-t.done
	t.watching.Wait()
	t.close()
	t.pumps.Wait()
	_ = t.control.Close()
}
