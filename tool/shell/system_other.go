//go:build !unix

package shell

import (
	"errors"
	"os"
	"syscall"
)

// canFollow: a command here gets no descriptors besides the usual three.
const canFollow = false

// polite is empty: there are no signals to ask with.
var polite []syscall.Signal

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// signalGroup kills the command itself; what it started lives on. The process is
// known by its handle, so that an ended one is never taken for another.
func signalGroup(leader *os.Process, s syscall.Signal) error {
	if s != syscall.SIGKILL {
		return errors.ErrUnsupported
	}
	return leader.Kill()
}

// readNow takes nothing: a pipe here cannot be asked without waiting.
func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
