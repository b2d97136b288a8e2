//go:build !linux

package confine

import (
	"os"
	"syscall"
)

// End ends this process as a command ended.
func End(status syscall.WaitStatus) { os.Exit(status.ExitStatus()) }

func isTerminal(any) bool { return false }
