//go:build !unix

package shell

import (
	"errors"
	"syscall"
)

// canFollow is false: a command here gets only the three standard descriptors.
const canFollow = false

// termSignals is empty: this system has no signals for that.
var termSignals []syscall.Signal

// readNow reads nothing: here, a pipe cannot be read without waiting.
func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
