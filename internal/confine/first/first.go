// Package first runs `holdfast sandbox exec` before the initialization of libraries that it does
// not need. Package early does the same for the version.
//
//	runtime ─► sandbox, settings ─► first ─► provider SDKs, cobra, … ─► main
//	                                  └─ sandbox exec? run, end
//
// Only cmd/holdfast imports it. If the command cannot run, this package changes and prints nothing.
// Package cli then repeats the steps and prints the reason.
package first

import (
	"context"
	"os"

	"github.com/holdfast-dev/holdfast/internal/confine"
)

func init() { //nolint:gochecknoinits // it must run before everything else in the program
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
	// Go initializes packages on the main thread only. In a separate goroutine, waiting for other
	// goroutines needs no switch between threads.
	failed := make(chan struct{})
	go func() {
		defer close(failed)
		if status, err := call.Run(context.Background()); err == nil {
			confine.End(status)
		}
	}()
	<-failed
}
