//go:build unix

package process

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyReload has SIGHUP told to c.
func notifyReload(c chan<- os.Signal) { signal.Notify(c, syscall.SIGHUP) }
