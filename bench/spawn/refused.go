//go:build linux

package spawn

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// RefuseFlag is the argument after which a serving process makes no namespaces.
const RefuseFlag = "-refuse-namespaces"

// Refused returns how to start a serving process for which the kernel refuses namespaces, as in many
// containers: in a user namespace of its own, whose limit [Refuse] then sets to zero.
func Refused() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// Refuse makes the kernel refuse namespaces from now on. It is for a process that was started with [Refused]:
// elsewhere it would affect the whole machine, so it fails there.
func Refuse() error {
	return refuse("/proc/self/uid_map", "/proc/sys/user/max_user_namespaces")
}

// refuse sets the limit of the user namespace that has this user map.
func refuse(users, limit string) error {
	b, err := os.ReadFile(users)
	if err != nil {
		return err
	}
	f := strings.Fields(string(b))
	if len(f) != 3 || f[2] != "1" {
		return errors.New("this process is not in a user namespace of its own")
	}
	return os.WriteFile(limit, []byte("0"), 0)
}
