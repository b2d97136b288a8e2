//go:build unix

package workspace

import "syscall"

// nonBlock opens a FIFO or a device without waiting for its other end.
const nonBlock = syscall.O_NONBLOCK
