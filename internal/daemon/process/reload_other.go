//go:build !unix

package process

import "os"

// notifyReload does nothing here: there is no SIGHUP.
func notifyReload(chan<- os.Signal) {}
