//go:build unix

package shell

import "syscall"

// canFollow: a shell can be given a descriptor on which to report where it is.
const canFollow = true

// termSignals are the signals that ask a command to end, also one that is stopped.
var termSignals = []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT}

// readNow takes what a pipe holds.
func readNow(fd uintptr, buf []byte) (int, error) { return syscall.Read(int(fd), buf) }
