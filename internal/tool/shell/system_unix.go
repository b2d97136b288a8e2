//go:build unix

package shell

import "syscall"

// canFollow is true: on this system a shell can get a descriptor on which it reports its directory.
const canFollow = true

// termSignals are the signals that ask a command to end, even if it is stopped.
var termSignals = []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT}

// readNow reads what a pipe contains.
func readNow(fd uintptr, buf []byte) (int, error) { return syscall.Read(int(fd), buf) }
