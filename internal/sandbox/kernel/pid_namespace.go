//go:build linux && (amd64 || arm64)

package kernel

import (
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// pidNamespace prepares a jail without confinement, see [Policy].Open. Commands keep their user, their rights
// and their view of the system.
func pidNamespace() (*Jail, error) {
	j := &Jail{policy: &Policy{Open: true}, reexec: mustReexec}
	j.program = newProgram()
	if err := checkPidNS(); err != nil {
		return nil, fmt.Errorf("%w: the kernel refuses a pid namespace (%w)", ErrUnsupported, err)
	}
	return j, nil
}

// checkPidNS returns nil if a pid namespace can be created. To test this, it creates one.
var checkPidNS = sync.OnceValue(func() error {
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

// canMakePidNS reports whether this process can create a pid namespace directly. If it cannot, the
// pid namespace needs a user namespace around it. That keeps the user's number, but programs that
// change the user (sudo) do not work in it.
var canMakePidNS = sync.OnceValue(func() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
})

// hasUserNamespace reports whether commands have their own user namespace.
func (j *Jail) hasUserNamespace() bool { return j.namespaceFlags()&unix.CLONE_NEWUSER != 0 }

// idInside returns the number of a user or group in the namespace. Root gets the number of the user
// nobody, so that no program assumes that it has root's rights.
func (j *Jail) idInside(id int) int {
	if id == 0 && !j.policy.Open {
		return nobody
	}
	return id
}

// mapUser makes package syscall map the user when it starts a process.
func (j *Jail) mapUser(sys *syscall.SysProcAttr) {
	uid, gid := syscall.Geteuid(), syscall.Getegid()
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: j.idInside(uid), HostID: uid, Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: j.idInside(gid), HostID: gid, Size: 1}}
	if !j.policy.Open {
		sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	}
}
