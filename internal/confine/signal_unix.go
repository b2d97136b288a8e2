//go:build unix

package confine

import (
	"os"
	"syscall"
)

var (
	forwardedSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}
	keyboardSignals  = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGWINCH}
)
