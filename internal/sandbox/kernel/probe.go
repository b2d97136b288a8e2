//go:build linux && (amd64 || arm64)

package kernel

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Probe reports what this kernel supports, by trying it.
func Probe() []Mechanism {
	return append([]Mechanism{probeNamespaces(), probeLandlock(), probeSeccomp()}, probeRest()...)
}

func probeNamespaces() Mechanism {
	m := Mechanism{Name: "namespaces", Available: true, Detail: "user, mount, pid, ipc, uts, network"}
	err := Namespaces()
	if err == nil {
		return m
	}
	m.Available, m.Detail = false, err.Error()
	if n, readErr := os.ReadFile("/proc/sys/user/max_user_namespaces"); readErr == nil && strings.TrimSpace(string(n)) == "0" {
		m.Detail += "; user.max_user_namespaces is 0"
	}
	if n, readErr := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); readErr == nil && strings.TrimSpace(string(n)) == "1" {
		m.Detail += "; kernel.apparmor_restrict_unprivileged_userns is 1"
	}
	m.Consequence = "commands are refused, unless enableWeakerNestedSandbox accepts Landlock and seccomp alone: then without network, private /tmp and protected names inside writable folders"
	return m
}

func probeLandlock() Mechanism {
	m := Mechanism{Name: "landlock"}
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		m.Detail, m.Consequence = "not enabled in this kernel: "+err.Error(), "commands are refused"
		return m
	}
	m.Available, m.Detail = true, fmt.Sprintf("ABI %d", abi)
	switch {
	case abi < 3:
		m.Consequence = "without namespaces, truncation could not be prevented, so the weaker sandbox is refused"
	case abi < 4:
		m.Consequence = "ports of a command's private localhost are not restricted"
	case abi < 6:
		m.Consequence = "in the weaker sandbox, signals reach the user's other processes"
	}
	return m
}

func probeSeccomp() Mechanism {
	m := Mechanism{Name: "seccomp", Available: true, Detail: "system call filter that reports refused calls"}
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	if err := seccompHas(&action); err != nil {
		m.Available, m.Detail, m.Consequence = false, err.Error(), "commands are refused"
	}
	return m
}

func probeRest() []Mechanism {
	last := Mechanism{Name: "terminals", Available: true, Detail: "private /dev/pts for the command"}
	if err := unix.Access("/dev/pts", unix.F_OK); err != nil {
		last.Available, last.Detail, last.Consequence = false, "/dev/pts: "+err.Error(), "commands are refused"
	}
	start := Mechanism{Name: "start", Available: true, Detail: "memory shared with the child (clone3)"}
	if noClone3.Load() {
		start.Detail = "memory shared with the child (clone: clone3 is not available)"
	}
	if mustReexec {
		start.Detail = "through this program itself (built with the race detector)"
	}
	return []Mechanism{last, start}
}

// seccompHas reports whether the kernel supports an action of filters.
func seccompHas(action *uint32) error {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(action)))
	if errno != 0 {
		return errno
	}
	return nil
}
