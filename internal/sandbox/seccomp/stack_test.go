//go:build linux && (amd64 || arm64)

package seccomp

import (
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const continueCall = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE

// peek is a call that fails with ESRCH if it is allowed.
var peek = attempt{Number: unix.SYS_PTRACE, Args: [6]uint64{unix.PTRACE_PEEKDATA, 1 << 22}}

// stack installs a second filter with a listener that allows ptrace, and returns the result of ptrace, or why
// there is no listener.
func stack() syscall.Errno {
	fd, errno := load([]Instruction{
		{Code: opLoad, K: offsetNumber},
		{Code: opEqual, K: unix.SYS_PTRACE, Jf: 1},
		{Code: opReturn, K: returnNotify},
		{Code: opReturn, K: returnAllow},
	}, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if errno != 0 {
		return errno
	}
	go func() {
		var c call
		if control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&c)) == 0 {
			control(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&reply{id: c.id, flags: continueCall}))
		}
	}()
	return peek.make()
}

// When the watcher's listener is closed, the kernel accepts another one, and of two filters with listeners it
// asks the newest. So a command must not be able to have a listener.
func TestStackedListener(t *testing.T) {
	j := job{Filter: true, Options: Options{Notify: true}, Close: true, Calls: []attempt{peek}, Stack: true}
	for _, tt := range []struct {
		name  string
		naive bool
		want  syscall.Errno
	}{
		{"filter", false, unix.EBUSY},
		{"control", true, unix.ESRCH}, // the call was allowed
	} {
		j.Naive = tt.naive
		o := run(t, j)
		if o.Stack != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, o.Stack, tt.want)
		}
		if o.Errnos[0] != unix.ENOSYS {
			t.Errorf("%s: without a listener ptrace says %v, want %v", tt.name, o.Errnos[0], unix.ENOSYS)
		}
	}

	// Without notifications, a command may have a listener: a refusal of the filter overrides it.
	o := run(t, job{Filter: true, Stack: true})
	if o.Stack != unix.EPERM {
		t.Errorf("without Notify: %v, want %v", o.Stack, unix.EPERM)
	}
}
