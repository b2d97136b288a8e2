//go:build !unix

package process

import "os"

// notifyReload does nothing on this system, which has no SIGHUP.
func notifyReload(chan<- os.Signal) {}
