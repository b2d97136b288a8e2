//go:build linux && (amd64 || arm64)

package kernel

import (
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// pidNamespace prepares a jail that holds commands to nothing, see [Policy].Open. The
// command's programs keep their user, their rights and what they see.
func pidNamespace() (*Jail, error) {
	j := &Jail{policy: &Policy{Open: true}, reexec: mustReexec}
	j.program = newProgram()
	if err := canUsePidNS(); err != nil {
		return nil, fmt.Errorf("%w: the kernel refuses a pid namespace (%w)", ErrUnsupported, err)
	}
	return j, nil
}

// canUsePidNS says whether a pid namespace can be made here, by making one once.
var canUsePidNS = sync.OnceValue(func() error {
	j := &Jail{policy: &Policy{Open: true}, reexec: mustReexec}
	p := newProgram()
	p.call(unix.SYS_EXIT_GROUP, num(0))
	j.program, j.cut, j.fork = p, len(p.ops), len(p.ops)
	proc, err := j.Start(&Attr{})
	if err == nil {
		_, err = proc.Wait()
	}
	return err
})

// canMakePidNS says whether this process may make a pid namespace as it is. Others need
// a user namespace around it, in which they are who they are, and in which programs
// that change the user (sudo) do not work.
var canMakePidNS = sync.OnceValue(func() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
})

// ownUser says whether commands have a user namespace of their own.
func (j *Jail) ownUser() bool { return j.flags()&unix.CLONE_NEWUSER != 0 }

// inner is a user's or a group's number in the namespace: root as nobody, so that
// nothing inside believes that it may do more than it may.
func (j *Jail) inner(id int) int {
	if id == 0 && !j.policy.Open {
		return nobody
	}
	return id
}

// mapUser makes Go's way of starting a process map the user.
func (j *Jail) mapUser(sys *syscall.SysProcAttr) {
	uid, gid := syscall.Geteuid(), syscall.Getegid()
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: j.inner(uid), HostID: uid, Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: j.inner(gid), HostID: gid, Size: 1}}
	if !j.policy.Open {
		sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	}
}
