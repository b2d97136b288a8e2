//go:build !unix

package shell

import (
	"errors"
	"syscall"
)

// canFollow is false: on this system, a command gets only the three standard descriptors.
const canFollow = false

// termSignals is empty: this system has no signals that ask a process to end.
var termSignals []syscall.Signal

// readNow reads nothing: here, a pipe cannot be read without waiting.
func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
