//go:build !unix

package shell

import (
	"errors"
	"syscall"
)

// canFollow: a command here gets no descriptors besides the usual three.
const canFollow = false

// termSignals is empty: there are no signals to ask with.
var termSignals []syscall.Signal

// readNow takes nothing: a pipe here cannot be asked without waiting.
func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
