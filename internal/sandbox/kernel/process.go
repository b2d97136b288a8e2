//go:build linux && (amd64 || arm64)

package kernel

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/sandbox/seccomp"
)

// Messages of a command's process over its control socket. Each has a type byte and either a descriptor or a
// number.
const (
	messageListener  = 'L' // the proxy's listener
	messageNotify    = 'N' // the descriptor that reports refused system calls
	messageStatus    = 'S' // init reports how the command ended
	messageExec      = 'E' // a copy of this program reports why it could not continue
	messageNamespace = 'R' // a namespace of the shared namespaces
)

const (
	messageSize = 8
	statusSize  = messageSize + int(unsafe.Sizeof(syscall.Rusage{}))
)

// Process is a command that was started.
type Process struct {
	jail    *Jail
	path    string
	pid     int
	helper  int // the helper process that created the command in shared namespaces; 0 means none
	pidfd   *os.File
	control int // the socket; init has the other end
	began   time.Time
	killed  int // number of out-of-memory kills in the group at the start

	program *program // kept here because the child uses this memory until it executes a program
	slots   []uint64
	shared  *os.File // the file with the child's slots, if the child is a copy of this program
	offset  int64

	reader   chan struct{}                   // closed when all messages have been read; nil if Wait reads them
	watcher  atomic.Pointer[seccomp.Watcher] // nil until the command has sent the watcher's descriptor
	listener net.Listener
	spaces   []*os.File // of the shared namespaces
	state    State      // as reported by init
	reported bool
	exec     syscall.Errno

	ended          chan struct{} // closed when the command has ended
	memoryExceeded atomic.Bool   // the command was killed because it used too much memory

	mu   sync.Mutex
	done bool
}

// noClone3 is true if the kernel does not provide clone3, or a filter around this process refuses
// it.
var noClone3 atomic.Bool

// Start starts a command and returns when the kernel has created its process. If the command could
// not be executed, Wait may return the *[StartError] instead.
func (j *Jail) Start(a *Attr) (*Process, error) {
	if err := j.placeholders.add(); err != nil {
		return nil, err
	}
	if err := j.watch.begin(); err != nil {
		j.placeholders.done()
		return nil, err
	}
	proc, err := j.start(a)
	if err != nil {
		j.placeholders.done()
		j.watch.ended(nil)
		return nil, err
	}
	j.watch.started(proc)
	return proc, nil
}

func (j *Jail) start(a *Attr) (*Process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, &StartError{"create the control socket", err}
	}
	defer unix.Close(pair[1])
	p := &Process{jail: j, path: a.Path, control: pair[0], began: time.Now(), ended: make(chan struct{})}
	if j.group != nil {
		p.killed = j.group.OOM()
	}
	if j.reexec {
		err = p.reexec(a, pair[1])
	} else {
		err = p.startShared(a, pair[1])
	}
	if err != nil {
		unix.Close(p.control)
		if p.shared != nil {
			p.shared.Close()
		}
		return nil, err
	}
	if j.policy.Notify || j.policy.Network == ProxyNetwork {
		p.reader = make(chan struct{})
		go func() {
			defer close(p.reader)
			p.listen(a)
		}()
	}
	if j.memory > 0 {
		go p.watchMemory()
	}
	return p, nil
}

// namespaceFlags returns the namespaces of a command.
func (j *Jail) namespaceFlags() uintptr {
	if j.weaker {
		return 0
	}
	if j.policy.Open {
		if canMakePidNS() {
			return unix.CLONE_NEWPID
		}
		return unix.CLONE_NEWUSER | unix.CLONE_NEWPID
	}
	flags := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if j.policy.Network != NoSockets {
		flags |= unix.CLONE_NEWNET
	}
	return uintptr(flags)
}

// startShared starts the command in a process that shares this process's memory until it executes a program.
func (p *Process) startShared(a *Attr, control int) error {
	fds := descriptors{control: control}
	for _, f := range a.Files {
		fd := -1
		if f != nil {
			fd = int(f.Fd())
		}
		fds.files = append(fds.files, fd)
	}
	if err := p.openDescriptors(&fds); err != nil {
		return err
	}
	if r := p.jail.sharedSpacesFor(a); r != nil {
		child := p.buildProgram(a, &fds, r)
		err := p.startInNamespace(child)
		runtime.KeepAlive(a)
		if err == nil {
			return nil
		}
		r.refuse() // use new namespaces instead
	}
	p.buildProgram(a, &fds, nil)
	ops, slots, data := &p.program.ops[0], &p.slots[0], &p.program.data[0]

	pidfd := int32(-1)
	flags := p.jail.namespaceFlags() | unix.CLONE_VM | unix.CLONE_PIDFD
	pid := -int64(unix.ENOSYS)
	if !noClone3.Load() {
		args := [8]uint64{uint64(flags) | unix.CLONE_CLEAR_SIGHAND, uint64(uintptr(unsafe.Pointer(&pidfd))), 0, 0, uint64(unix.SIGCHLD), 0, 0, 0}
		pid = spawn(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0, ops, slots, data)
		if pid == -int64(unix.ENOSYS) {
			noClone3.Store(true)
		}
	}
	if pid == -int64(unix.ENOSYS) {
		pid = spawn(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, uintptr(unsafe.Pointer(&pidfd)), ops, slots, data)
	}
	runtime.KeepAlive(a)
	if pid < 0 {
		return &StartError{"create namespaces", unix.Errno(-pid)}
	}
	p.pid, p.pidfd = int(pid), os.NewFile(uintptr(pidfd), "pidfd")
	return nil
}

// buildProgram builds the program for a command that shares this process's memory.
func (p *Process) buildProgram(a *Attr, d *descriptors, r *sharedSpaces) helperChild {
	var child helperChild
	p.program, child = p.jail.assemble(a, d, true, r)
	p.slots = p.program.load()
	p.slots[slotControl], p.slots[slotInit] = uint64(d.control), uint64(d.init)
	return child
}

// openDescriptors collects the descriptors that do not belong to the command.
func (p *Process) openDescriptors(d *descriptors) error {
	if !p.jail.weaker {
		f, err := initProgram()
		if err != nil {
			return &StartError{"create init", err}
		}
		d.init = int(f.Fd())
	}
	if p.jail.group != nil {
		for _, f := range p.jail.group.Procs() {
			d.groups = append(d.groups, int(f.Fd()))
		}
	}
	return nil
}

// listen handles the messages of the command's process until it has ended.
func (p *Process) listen(a *Attr) {
	for !p.reported {
		m, fd, err := p.receive()
		if err != nil {
			return
		}
		switch m[0] {
		case messageListener:
			l, err := net.FileListener(fd)
			fd.Close()
			if err == nil && a.Serve != nil {
				p.listener = l
				go a.Serve(l)
			}
		case messageNotify:
			p.watcher.Store(seccomp.Watch(fd, a.OnWrite))
		case messageNamespace:
			p.spaces = append(p.spaces, fd)
		case messageExec:
			p.exec = syscall.Errno(binary.LittleEndian.Uint32(m[4:]))
		case messageStatus:
			if len(m) == statusSize {
				p.state.Status = syscall.WaitStatus(binary.LittleEndian.Uint32(m[4:]))
				copy((*[statusSize - messageSize]byte)(unsafe.Pointer(&p.state.Usage))[:], m[messageSize:])
				p.reported = true
			}
		}
	}
}

var errEnd = errors.New("end of messages")

// receive waits for one message.
func (p *Process) receive() (message []byte, fd *os.File, err error) {
	var buf [statusSize]byte
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(p.control, buf[:], oob, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, oobn, _, _, err = unix.Recvmsg(p.control, buf[:], oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return nil, nil, err
	}
	if n < messageSize {
		return nil, nil, errEnd
	}
	if kind := buf[0]; kind != messageListener && kind != messageNotify && kind != messageNamespace {
		return buf[:n], nil, nil
	}
	list, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(list) != 1 {
		return nil, nil, errEnd
	}
	fds, err := unix.ParseUnixRights(&list[0])
	if err != nil || len(fds) != 1 {
		return nil, nil, errEnd
	}
	_ = unix.SetNonblock(fds[0], true)
	return buf[:n], os.NewFile(uintptr(fds[0]), "from the sandbox"), nil
}

// Pid returns the process id on the host. With a pid namespace it is the id of the command's init.
func (p *Process) Pid() int { return p.pid }

// Signal sends a signal to the command. SIGKILL ends the command and all its processes. After the
// command has ended, Signal returns [os.ErrProcessDone].
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return os.ErrProcessDone
	}
	if p.jail.weaker && s == syscall.SIGKILL {
		return unix.Kill(-p.pid, s)
	}
	return unix.PidfdSendSignal(int(p.pidfd.Fd()), s, nil, 0)
}

// Wait waits until the command and all its processes have ended. It must be called only once.
func (p *Process) Wait() (*State, error) {
	if p.reader != nil {
		<-p.reader
	} else {
		p.listen(&Attr{})
	}
	var err error
	if p.reported {
		p.markReaped()
		go func() { _ = p.reap(&State{}) }() // init and its namespaces take some time to end
	} else {
		err = p.reap(&p.state)
	}
	s := &p.state
	s.Elapsed = time.Since(p.began)
	if err != nil {
		return nil, err
	}
	if errno, step := p.failure(); errno != 0 {
		return nil, &StartError{p.program.steps[step], errno}
	}
	if p.exec != 0 {
		return nil, &StartError{"execute " + p.path, p.exec}
	}
	s.Refused = p.Refused()
	if g := p.jail.group; g != nil {
		s.OOM = g.OOM() > p.killed
	}
	s.OOM = s.OOM || p.memoryExceeded.Load()
	return s, nil
}

// Refused returns the system calls that were refused so far, if [Policy].Notify is set.
func (p *Process) Refused() []seccomp.Refusal {
	if w := p.watcher.Load(); w != nil {
		return w.Refused()
	}
	return nil
}

// markReaped records that the process id may be reused.
func (p *Process) markReaped() {
	p.mu.Lock()
	already := p.done
	p.done = true
	p.mu.Unlock() // nameWatcher may wait for mu in order to kill the command, and the call of ended below waits for nameWatcher
	if already {
		return
	}
	close(p.ended)
	if p.listener != nil {
		p.listener.Close()
	}
	p.state.Appeared = p.jail.placeholders.done()
	moved, appeared := p.jail.watch.ended(p)
	p.state.Quarantined, p.state.Appeared = moved, append(p.state.Appeared, appeared...)
}

// reap waits for the process and closes its descriptors.
func (p *Process) reap(s *State) error {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, p.pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	if p.jail.weaker {
		_ = unix.Kill(-p.pid, unix.SIGKILL) // this ends all processes of the command, because none can leave the group
	}
	p.markReaped()
	p.reapHelper()
	_, err := syscall.Wait4(p.pid, &s.Status, 0, &s.Usage)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(p.pid, &s.Status, 0, &s.Usage)
	}
	if w := p.watcher.Load(); w != nil {
		w.Done()
	}
	unix.Close(p.control)
	if p.pidfd != nil {
		p.pidfd.Close()
	}
	return err
}

// failure returns the error of the instruction that failed, and its step.
func (p *Process) failure() (errno syscall.Errno, step uint64) {
	if p.shared == nil {
		return syscall.Errno(p.slots[slotErrno]), p.slots[slotStep]
	}
	defer p.shared.Close()
	var b [16]byte
	if _, err := p.shared.ReadAt(b[:], p.offset); err != nil {
		return syscall.EIO, 0
	}
	return syscall.Errno(binary.LittleEndian.Uint64(b[:])), binary.LittleEndian.Uint64(b[8:])
}
