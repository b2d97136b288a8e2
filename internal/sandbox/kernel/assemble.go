//go:build linux && (amd64 || arm64)

package kernel

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// descriptors are the file descriptor numbers that a program uses.
type descriptors struct {
	files         []int // file descriptors of the command, by number; -1 means closed
	control, init int
	groups        []int
	gate          [2]int // a pipe that is closed when init starts; 0 if memory is shared, because no pipe is needed then
}

// assemble adds the command-specific part to the program that all commands share. The parameter
// shared is true if the new process shares memory with this one: the program must then also map the
// user and set up the descriptors. If namespaces are shared, a helper process enters them and
// creates the command's process there.
func (j *Jail) assemble(a *Attr, d *descriptors, shared bool, r *sharedSpaces) (p *program, child helperChild) {
	common := j.program
	p = common.clone()
	j.listenAt(p, a.Proxy)
	p.ops = p.ops[:0]
	p.begin("start")
	switch {
	case r != nil:
		child = j.addEntryHelper(p, r)
	case shared && j.hasUserNamespace():
		j.addIDMap(p)
	}
	p.ops = append(p.ops, common.ops[:j.cut]...)
	j.addDefaults(p, a, d, shared)
	p.ops = append(p.ops, common.ops[j.cut:j.fork]...)
	j.addExecute(p, a, d, common.ops[j.fork:])
	return p, child
}

// addDefaults adds the steps that join the control group, start the session, and set up the descriptors and
// the folder.
func (j *Jail) addDefaults(p *program, a *Attr, d *descriptors, shared bool) {
	p.begin("enter the control group")
	zero := p.bytes([]byte("0"))
	for _, g := range d.groups {
		p.call(unix.SYS_WRITE, num(g), at(zero), num(1))
	}
	if shared {
		p.begin("start a session")
		if j.weaker || !a.Terminal {
			p.call(unix.SYS_SETSID)
		}
		j.addDescriptors(p, d)
	}
	if !shared || noClone3.Load() { // if clone3 created the process, it has reset the signal handlers
		p.begin("reset signal handlers")
		action := p.words(0, 0, 0, 0) // SIG_DFL
		for s := 1; s < 65; s++ {
			p.try(unix.SYS_RT_SIGACTION, num(s), at(action), num(0), num(8))
		}
	}
	j.addEndWithParent(p)
	if a.Dir != "" {
		p.begin("enter " + a.Dir)
		p.call(unix.SYS_CHDIR, p.path(a.Dir))
	}
}

// addDescriptors moves the command's files to their numbers and the control socket to the number after them, and
// marks all other descriptors close-on-exec.
func (j *Jail) addDescriptors(p *program, d *descriptors) {
	p.begin("place the descriptors")
	n := len(d.files)
	high := make([]arg, n)
	for i, fd := range d.files {
		if fd >= 0 { // move the file to a high number first: its number may be the target of another file
			high[i] = p.newSlot(p.call(unix.SYS_FCNTL, num(fd), num(unix.F_DUPFD_CLOEXEC), num(n+1)))
		}
	}
	storeSlot(p.call(unix.SYS_FCNTL, slot(slotControl), num(unix.F_DUPFD_CLOEXEC), num(n+1)), slotControl)
	storeSlot(p.try(unix.SYS_FCNTL, slot(slotInit), num(unix.F_DUPFD_CLOEXEC), num(n+1)), slotInit)
	for i, fd := range d.files {
		if fd >= 0 {
			p.call(unix.SYS_DUP3, high[i], num(i), num(0))
		} else {
			p.try(unix.SYS_CLOSE, num(i))
		}
	}
	flags := 0
	if j.weaker {
		flags = unix.O_CLOEXEC
	}
	storeSlot(p.call(unix.SYS_DUP3, slot(slotControl), num(n), num(flags)), slotControl)
	p.call(unix.SYS_CLOSE_RANGE, num(n+1), num(^uint32(0)), num(unix.CLOSE_RANGE_CLOEXEC))
}

// addEndWithParent adds the steps that make the command end when this process ends.
func (j *Jail) addEndWithParent(p *program) {
	p.begin("end init with this process") // when this process ends, the kernel closes its end of the socket, which notifies init
	if j.weaker {
		p.call(unix.SYS_PRCTL, num(unix.PR_SET_PDEATHSIG), num(int(unix.SIGKILL)), num(0), num(0), num(0))
		return
	}
	p.call(unix.SYS_FCNTL, slot(slotControl), num(unix.F_SETOWN), num(1))
	p.call(unix.SYS_FCNTL, slot(slotControl), num(unix.F_SETSIG), num(int(unix.SIGIO)))
	p.call(unix.SYS_FCNTL, slot(slotControl), num(unix.F_SETFL), num(unix.O_RDWR|unix.O_ASYNC))
}

// addExecute ends the program. Init and the command start concurrently. The command is in a Landlock domain that
// does not contain init, so the command cannot access the memory that init shares with this process until
// init has executed its own program.
func (j *Jail) addExecute(p *program, a *Attr, d *descriptors, restrict []instruction) {
	if !j.weaker {
		p.begin("start init")
		const command = "\x02\x00\x00\x00" // the command's process id, which fork stores here
		args := p.texts([]string{"holdfast-init", strconv.Itoa(len(d.files)), command})
		number := len(p.data) - len(command) - 1
		fork := p.call(unix.SYS_CLONE, num(uintptr(unix.CLONE_VM)|uintptr(unix.SIGCHLD)), num(0), num(0), num(0), num(0), num(number))
		fork.flags |= flagFork
		fork.out = 2 // the command skips init's instructions
		p.call(unix.SYS_EXECVEAT, slot(slotInit), p.path(""), at(args), at(p.words(0)), num(unix.AT_EMPTY_PATH))
	}
	p.begin("wait for init")
	if d.gate[0] > 0 { // until init has executed its own program, signals to it would reach the threads of the copy of this program
		p.call(unix.SYS_CLOSE, num(d.gate[1]))
		p.call(unix.SYS_READ, num(d.gate[0]), at(p.words(0)), num(1))
	}
	p.call(unix.SYS_CLOSE, slot(slotControl))
	p.ops = append(p.ops, restrict...)
	p.begin("execute " + a.Path)
	p.call(unix.SYS_RT_SIGPROCMASK, num(unix.SIG_SETMASK), at(p.words(0)), num(0), num(8))
	p.call(unix.SYS_EXECVE, p.path(a.Path), at(p.texts(a.Args)), at(p.texts(a.Env)))
}
