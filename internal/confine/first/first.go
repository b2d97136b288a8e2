// Package first runs `holdfast sandbox exec` before the libraries that it does not
// need have started, as package early does for the version.
//
//	runtime ─► sandbox, settings ─► first ─► provider SDKs, cobra, … ─► main
//	                                  └─ sandbox exec? run, end
//
// Only cmd/holdfast imports it. When the command cannot run, nothing has happened
// and nothing is said: package cli does the same once more and tells why.
package first

import (
	"context"
	"os"

	"github.com/holdfast-dev/holdfast/internal/confine"
)

func init() { //nolint:gochecknoinits // it must come before everything else of the program
	args, ok := confine.IsInvocation(os.Args[1:])
	if !ok {
		return
	}
	flags, err := confine.Parse(args)
	if err != nil {
		return
	}
	call, err := confine.CurrentProcess(flags)
	if err != nil {
		return
	}
	call.ExplainLater = true
	// Packages are initialized on the first thread and on no other: a goroutine of its own
	// can wait for others without a change of threads each time.
	failed := make(chan struct{})
	go func() {
		defer close(failed)
		if status, err := call.Run(context.Background()); err == nil {
			confine.End(status)
		}
	}()
	<-failed
}
