//go:build linux

package spawn

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// RefuseFlag is the argument with which a serving process calls [Refuse].
const RefuseFlag = "-refuse-namespaces"

// Refused returns how to start a serving process for which the kernel refuses namespaces, as in
// many containers. The process runs in its own user namespace, and [Refuse] then sets the limit of
// that namespace to zero.
func Refused() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// Refuse makes the kernel refuse namespaces from now on. It is for a process that was started with
// [Refused]. In any other process it would affect the whole machine, so it returns an error.
func Refuse() error {
	return refuse("/proc/self/uid_map", "/proc/sys/user/max_user_namespaces")
}

// refuse writes 0 to the file limit, if the user map in the file users is that of a process started
// with [Refused].
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
