//go:build linux && (amd64 || arm64)

package kernel

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// room is a user namespace with an empty network that the commands of a jail enter,
// one after the other or side by side: the kernel needs longer to make and remove a
// network namespace than for all the rest of a start.
//
//	us ─ clone ─► usher ─ setns ─ clone, as our child ─► the command's init
//	               └► ends
//
// No command has a capability in it, and seccomp refuses unix sockets. Without [Policy].LocalBind,
// nothing that a command does in the room reaches another: localhost is down, Landlock refuses TCP,
// and seccomp refuses all other transports. With LocalBind, the commands share their localhost: one
// command reaches the ports that another listens on. In both cases they see the lists of each
// other's sockets in /proc/net. With [ProxyNetwork], each has a listener of its own for the proxy. One
// command can use another's: it then reaches what a person has let that one reach, and no more than if
// it had changed a file that the other runs.
//
// Without LocalBind, the first command of a jail has namespaces of its own: for a single command, a
// room is more work.
type room struct {
	mu      sync.Mutex
	jails   int // that use it, see [Jail.TakeFrom]
	starts  int
	spaces  []*os.File // in the order of roomSpaces
	refused bool       // it cannot be made, or not entered
}

// roomSpaces are the namespaces of a room. Nobody in it may change the host's name.
var roomSpaces = []struct {
	name string
	flag uintptr
}{{"user", unix.CLONE_NEWUSER}, {"net", unix.CLONE_NEWNET}, {"uts", unix.CLONE_NEWUTS}}

// shares says whether the jail's commands may share a room: where they reach no
// network but a localhost and what the proxy lets them reach, and are not counted by it.
func (j *Jail) shares() bool {
	p := j.policy
	network := p.Network == NoNetwork || p.Network == ProxyNetwork && p.LocalBind
	return !j.weaker && !j.reexec && !p.Open && !p.Nested && network && p.Unix == UnixNone && len(j.rlimits) == 0
}

// enter returns the room for a command, or nil when it has namespaces of its own.
func (j *Jail) enter(a *Attr) *room {
	r := j.room
	if r == nil || a.PrivateLocalhost || !j.shares() || noClone3.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.starts++; r.starts == 1 && (!j.policy.LocalBind || j.policy.Single) || r.refused {
		return nil
	}
	if r.spaces == nil {
		if err := r.create(); err != nil {
			r.refused = true
			return nil
		}
	}
	return r
}

// TakeFrom makes the jail's commands share the localhost of a jail that it replaces, so that they reach
// what an earlier command listens on. It is called before the first command of j.
func (j *Jail) TakeFrom(old *Jail) {
	if j.room == nil || old.room == nil || !j.shares() || !old.shares() || !j.policy.LocalBind || !old.policy.LocalBind || j.policy.Network != old.policy.Network {
		return
	}
	old.room.mu.Lock()
	defer old.room.mu.Unlock()
	old.room.jails++
	j.room = old.room
}

// refuse says that the room cannot be entered.
func (r *room) refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = true
}

// create makes the namespaces: a process in them sends them to us, and ends.
func (r *room) create() error {
	j := &Jail{policy: &Policy{}}
	p := newProgram()
	for _, space := range roomSpaces {
		p.begin("open the " + space.name + " namespace")
		descriptor, send := p.sender(messageRoom)
		storeData(p.call(unix.SYS_OPENAT, num(atCwd), p.path("/proc/self/ns/"+space.name), num(unix.O_RDONLY|unix.O_CLOEXEC), num(0)), descriptor)
		send()
	}
	p.call(unix.SYS_EXIT_GROUP, num(0))
	j.program, j.cut, j.fork = p, len(p.ops), len(p.ops)
	proc, err := j.Start(&Attr{})
	if err != nil {
		return err
	}
	if _, err = proc.Wait(); err == nil && len(proc.spaces) == len(roomSpaces) {
		r.spaces = proc.spaces
		return nil
	}
	for _, f := range proc.spaces {
		f.Close()
	}
	return errors.Join(err, errEnd)
}

// close gives the namespaces back when the last jail that uses them closes. The kernel removes them
// with their last command.
func (r *room) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jails--; r.jails > 0 {
		return
	}
	for _, f := range r.spaces {
		f.Close()
	}
	r.spaces = nil
}

// entryHelper adds what enters the room and makes the command's process there, as a child
// of ours.
func (j *Jail) entryHelper(p *program, r *room) (born helperChild) {
	p.begin("enter the namespaces")
	flags := j.flags() | unix.CLONE_VM | unix.CLONE_PARENT | unix.CLONE_PIDFD | unix.CLONE_CLEAR_SIGHAND
	for i, space := range roomSpaces {
		p.call(unix.SYS_SETNS, num(r.spaces[i].Fd()), num(space.flag))
		flags &^= space.flag
	}
	p.begin("create namespaces")
	born.pid, born.pidfd = p.words(0), p.words(0)
	args := p.words(uint64(flags), 0, 0, 0, 0, 0, 0, 0)
	p.address(args+8, born.pidfd)
	fork := p.call(unix.SYS_CLONE3, at(args), num(64), num(0), num(0), num(0), num(born.pid))
	fork.flags |= flagFork
	fork.out = 2
	p.call(unix.SYS_EXIT_GROUP, num(0))
	return born
}

// helperChild is where a program's data has the process that an usher made.
type helperChild struct{ pid, pidfd int }

// startInNamespace starts the program by way of an usher. The usher shares our descriptors, so
// that the process's is ours, and has ended when this returns.
func (p *Process) startInNamespace(born helperChild) error {
	args := [8]uint64{unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_FILES, 0, 0, 0, uint64(unix.SIGCHLD), 0, 0, 0}
	ops, slots, data := &p.program.ops[0], &p.slots[0], &p.program.data[0]
	usher := spawn(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0, ops, slots, data)
	if usher < 0 {
		return &StartError{"create a process", unix.Errno(-usher)}
	}
	p.helper = int(usher)
	pid := binary.LittleEndian.Uint32(p.program.data[born.pid:])
	if pid == 0 {
		errno, step := p.failure()
		p.reapHelper()
		return &StartError{p.program.steps[step], errno}
	}
	p.pid = int(pid)
	p.pidfd = os.NewFile(uintptr(binary.LittleEndian.Uint32(p.program.data[born.pidfd:])), "pidfd")
	return nil
}

// reapHelper takes the end of the usher from the kernel.
func (p *Process) reapHelper() {
	if p.helper == 0 {
		return
	}
	for {
		if _, err := unix.Wait4(p.helper, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	p.helper = 0
}
