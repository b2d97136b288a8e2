//go:build unix

package confine

import (
	"os"
	"syscall"
)

var (
	relayed = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}
	keyed   = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGWINCH}
)
