//go:build !unix

package cli

import "os"

// notifyReload does nothing here: there is no SIGHUP.
func notifyReload(chan<- os.Signal) {}
