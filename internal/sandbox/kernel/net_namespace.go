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

// sharedSpaces are a user namespace, an empty network namespace and a UTS namespace. The commands
// of a jail enter them, one after the other or at the same time. The kernel needs more time to
// create and remove a network namespace than for all other steps of a start.
//
//	this process ─ clone ─► helper ─ setns ─ clone, as a child of this process ─► the command's init
//	                          └► ends
//
// No command has a capability in them, and seccomp refuses unix sockets. Without [Policy].LocalBind, commands
// that share them cannot reach each other: localhost is down, Landlock refuses TCP, and seccomp refuses all
// other transports. With LocalBind, the commands share their localhost: a command can connect to the ports on
// which another one listens. In both cases they see the lists of each other's sockets in /proc/net.
//
// With [ProxyNetwork], each command has a separate listener for the proxy. A command can use the
// listener of another command, and so reach the hosts that the user allowed for that command. It
// could achieve the same by changing a file that the other command runs.
//
// Without LocalBind, the first command of a jail gets its own namespaces: if only one command runs,
// this is faster than sharing.
type sharedSpaces struct {
	mu      sync.Mutex
	jails   int // the number of jails that use the namespaces, see [Jail.TakeNamespacesFrom]
	starts  int
	spaces  []*os.File // descriptors in the order of spaceKinds
	refused bool       // true if the namespaces cannot be created or entered
}

// spaceKinds are the kinds of the shared namespaces. The UTS namespace keeps commands from changing the host
// name.
var spaceKinds = []struct {
	name string
	flag uintptr
}{{"user", unix.CLONE_NEWUSER}, {"net", unix.CLONE_NEWNET}, {"uts", unix.CLONE_NEWUTS}}

// shares reports whether the jail's commands may share namespaces. They may if they reach nothing
// but their localhost and hosts through the proxy, cannot create namespaces, and have no limit that
// the kernel counts by user namespace.
func (j *Jail) shares() bool {
	p := j.policy
	network := p.Network == NoNetwork || p.Network == ProxyNetwork && p.LocalBind
	return !j.weaker && !j.reexec && !p.Open && !p.Nested && network && p.Unix == UnixNone && len(j.rlimits) == 0
}

// sharedSpacesFor returns the shared namespaces for a command, or nil if the command gets its own.
func (j *Jail) sharedSpacesFor(a *Attr) *sharedSpaces {
	r := j.sharedSpaces
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

// TakeNamespacesFrom makes the jail's commands use the localhost of the jail that this jail replaces, so that
// they reach the ports of earlier commands. It must be called before the first command of j.
func (j *Jail) TakeNamespacesFrom(old *Jail) {
	if j.sharedSpaces == nil || old.sharedSpaces == nil || !j.shares() || !old.shares() || !j.policy.LocalBind || !old.policy.LocalBind || j.policy.Network != old.policy.Network {
		return
	}
	old.sharedSpaces.mu.Lock()
	defer old.sharedSpaces.mu.Unlock()
	old.sharedSpaces.jails++
	j.sharedSpaces = old.sharedSpaces
}

// refuse records that the namespaces cannot be entered.
func (r *sharedSpaces) refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = true
}

// create creates the namespaces: a process in them sends their descriptors to this process and ends.
func (r *sharedSpaces) create() error {
	j := &Jail{policy: &Policy{}}
	p := newProgram()
	for _, space := range spaceKinds {
		p.begin("open the " + space.name + " namespace")
		descriptor, send := p.sender(messageNamespace)
		storeData(p.call(unix.SYS_OPENAT, num(atCwd), p.path("/proc/self/ns/"+space.name), num(unix.O_RDONLY|unix.O_CLOEXEC), num(0)), descriptor)
		send()
	}
	p.call(unix.SYS_EXIT_GROUP, num(0))
	j.program, j.cut, j.fork = p, len(p.ops), len(p.ops)
	proc, err := j.Start(&Attr{})
	if err != nil {
		return err
	}
	if _, err = proc.Wait(); err == nil && len(proc.spaces) == len(spaceKinds) {
		r.spaces = proc.spaces
		return nil
	}
	for _, f := range proc.spaces {
		f.Close()
	}
	return errors.Join(err, errEnd)
}

// close closes the namespaces when the last jail that uses them closes. The kernel removes them when their
// last command has ended.
func (r *sharedSpaces) close() {
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

// addEntryHelper adds the steps that enter the shared namespaces and create the command's process there, as a
// child of this process.
func (j *Jail) addEntryHelper(p *program, r *sharedSpaces) (child helperChild) {
	p.begin("enter the namespaces")
	flags := j.namespaceFlags() | unix.CLONE_VM | unix.CLONE_PARENT | unix.CLONE_PIDFD | unix.CLONE_CLEAR_SIGHAND
	for i, space := range spaceKinds {
		p.call(unix.SYS_SETNS, num(r.spaces[i].Fd()), num(space.flag))
		flags &^= space.flag
	}
	p.begin("create namespaces")
	child.pid, child.pidfd = p.words(0), p.words(0)
	args := p.words(uint64(flags), 0, 0, 0, 0, 0, 0, 0)
	p.address(args+8, child.pidfd)
	fork := p.call(unix.SYS_CLONE3, at(args), num(64), num(0), num(0), num(0), num(child.pid))
	fork.flags |= flagFork
	fork.out = 2
	p.call(unix.SYS_EXIT_GROUP, num(0))
	return child
}

// helperChild contains offsets in a program's data. There the helper stores which process it
// created.
type helperChild struct{ pid, pidfd int }

// startInNamespace starts the program through a helper process. The helper shares the descriptors
// of this process, so that the new process's descriptor is valid here. When startInNamespace
// returns, the helper has ended.
func (p *Process) startInNamespace(child helperChild) error {
	args := [8]uint64{unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_FILES, 0, 0, 0, uint64(unix.SIGCHLD), 0, 0, 0}
	ops, slots, data := &p.program.ops[0], &p.slots[0], &p.program.data[0]
	helper := spawn(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0, ops, slots, data)
	if helper < 0 {
		return &StartError{"create a process", unix.Errno(-helper)}
	}
	p.helper = int(helper)
	pid := binary.LittleEndian.Uint32(p.program.data[child.pid:])
	if pid == 0 {
		errno, step := p.failure()
		p.reapHelper()
		return &StartError{p.program.steps[step], errno}
	}
	p.pid = int(pid)
	p.pidfd = os.NewFile(uintptr(binary.LittleEndian.Uint32(p.program.data[child.pidfd:])), "pidfd")
	return nil
}

// reapHelper waits for the helper process.
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
