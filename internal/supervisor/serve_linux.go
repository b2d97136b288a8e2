package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/supervisor/reaper"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// server is a supervisor.
type server struct {
	o      ServeOptions
	domain domain
	oom    meter
	egress *forwarder

	mu    sync.Mutex
	tasks map[string]*task
	conns map[*link]bool
	ended bool

	starting sync.Mutex   // held while a reaper is started, and while killStrays searches processes
	reapers  map[int]bool // by their process ids
}

// Serve listens and serves until the context ends; then it kills all processes within their grace times and
// returns nil. It changes this process: the process adopts orphans of its children and becomes inaccessible to
// other processes of its user.
//
// It serves only the host. It accepts connections from outside of its pid namespace, and from a
// process that the engine started in the container (see [Attach]).
func Serve(ctx context.Context, o ServeOptions) error {
	s := &server{
		o: o.withDefaults(os.Getenv), tasks: map[string]*task{}, conns: map[*link]bool{}, reapers: map[int]bool{}, oom: openMeter(),
	}
	lowerOOMScore()
	if err := errors.Join(
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
	); err != nil {
		return fmt.Errorf("set up the supervisor: %w", err)
	}
	l, err := listen(s.o.Socket)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.o.Socket, err)
	}
	if s.domain = probeDomain(filepath.Dir(s.o.Socket)); s.o.noLandlock {
		s.domain = domain{why: "switched off"}
	}
	s.egress = &forwarder{from: s.o.Proxy, to: s.o.Egress}
	s.egress.ensureListening()
	var conns sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.AcceptUnix()
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			fmt.Fprintln(s.o.Log, "holdfast supervise:", err)
			time.Sleep(50 * time.Millisecond) // accept ran out of descriptors, which is temporary, or failed in a harmless way
			continue
		}
		conns.Go(func() { s.serve(conn) })
	}
	s.shutDown()
	conns.Wait()
	s.egress.close()
	return nil
}

// lowerOOMScore makes the kernel kill other processes first, as far as permitted.
func lowerOOMScore() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("-900"), 0) }

// listen creates the socket and replaces that of an earlier supervisor. From then on it accepts connections.
func listen(path string) (*net.UnixListener, error) {
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	name := filepath.Base(path)
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, errors.New("the path exists and is not a socket")
	}
	fresh := name + ".new"
	if err := unix.Unlinkat(dir, fresh, 0); err != nil && err != unix.ENOENT {
		return nil, err
	}
	short := "/proc/self/fd/" + strconv.Itoa(dir) + "/" + fresh // a socket's path has at most 107 bytes
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: short})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the next supervisor removes it
	if err := errors.Join(os.Chmod(short, 0o600), unix.Renameat(dir, fresh, dir, name)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// serve serves one connection.
func (s *server) serve(conn *net.UnixConn) {
	l := newLink(conn, maxHeader)
	if err := s.admit(conn); err != nil {
		fmt.Fprintln(s.o.Log, "holdfast supervise:", err)
		_ = l.send(&frame{Type: typeRefused, Code: codePeer}, nil)
		l.end(err)
		return
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		l.end(ErrLost)
		return
	}
	s.conns[l] = true
	s.mu.Unlock()
	health := s.health()
	if l.send(&frame{Type: typeHello, Health: &health}, nil) == nil {
		c := &hostConn{server: s, link: l}
		l.run(c.handle)
		<-l.dead
		c.onDisconnect()
	}
	l.close()
	s.mu.Lock()
	delete(s.conns, l)
	s.mu.Unlock()
}

// admit checks that a connection comes from the host.
func (s *server) admit(conn *net.UnixConn) error {
	pid, _, err := credentials(conn)
	switch {
	case err != nil:
		return err
	case pid == 0 || s.o.anyPeer: // not a process of this namespace
		return nil
	case pid != 1 && reaper.Parent(pid) == 0 && !gone(conn):
		return nil // the engine started the process: all other processes in the container have a parent there
	}
	return fmt.Errorf("refused process %d: %w", pid, ErrRefused)
}

// gone reports whether the connected process has ended, so that its number may be reused. Kernels before 6.5
// cannot tell.
func gone(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	ended := false
	if raw.Control(func(fd uintptr) {
		const soPeerPidFD = 77
		peer, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, soPeerPidFD)
		if err != nil {
			ended = err != unix.ENOPROTOOPT
			return
		}
		ended = unix.PidfdSendSignal(peer, 0, nil, 0) == unix.ESRCH
		_ = unix.Close(peer)
	}) != nil {
		return true
	}
	return ended
}

func (s *server) health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Health{
		Version: version.Current().Version, Protocol: Protocol, Pid: os.Getpid(), UID: os.Getuid(),
		Confined: s.domain.files, SignalsConfined: s.domain.signals, Unconfined: s.domain.why,
		Processes: len(s.tasks), OOMKills: s.oom.count(), Proxy: s.egress.ensureListening(),
	}
}

// These are the limits of a process list, which must fit in maxAnswer.
const (
	maxListed  = 1000
	maxProgram = 100 // maximum number of bytes of a program's path, counted from its end
)

func (s *server) list() []Running {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Running
	for _, t := range s.tasks {
		program := t.order.Args[0]
		if len(program) > maxProgram {
			program = "…" + strings.ToValidUTF8(program[len(program)-maxProgram:], "")
		}
		out = append(out, Running{ID: t.order.ID, Program: program, Pid: t.pid, Started: t.started})
	}
	slices.SortFunc(out, func(a, b Running) int { return a.Started.Compare(b.Started) })
	return out[:min(len(out), maxListed)]
}

// shutDown kills all processes and closes the connections.
func (s *server) shutDown() {
	s.mu.Lock()
	s.ended = true
	var tasks []*task
	var longest time.Duration
	for _, t := range s.tasks {
		tasks = append(tasks, t)
		longest = max(longest, time.Duration(t.order.GraceMS)*time.Millisecond)
	}
	s.mu.Unlock()
	for _, t := range tasks {
		t.kill()
	}
	late, cancel := context.WithTimeout(context.Background(), longest+5*time.Second) // the host may no longer read the message about the exit
	defer cancel()
	for _, t := range tasks {
		select {
		case <-t.done:
		case <-late.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.conns {
		l.end(ErrLost)
	}
}

// killStrays kills the processes that a killed reaper left to us. All other processes below us are reapers or below
// one.
func (s *server) killStrays() {
	s.starting.Lock()
	defer s.starting.Unlock()
	isReaper := func(pid int) bool { return s.reapers[pid] }
	until := time.Now().Add(10 * time.Second) // stop then, so that other processes can be started even if the kernel cannot end one
	for pause := time.Millisecond; reaper.Kill(os.Getpid(), unix.SIGKILL, isReaper) > 0 && time.Now().Before(until); pause = min(2*pause, 100*time.Millisecond) {
		for _, pid := range reaper.Children(os.Getpid(), isReaper) {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
		time.Sleep(pause)
	}
}
