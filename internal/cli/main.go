package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/confine"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Main runs the program on this process: its arguments, environment, streams
// and signals. The first SIGINT or SIGTERM interrupts what is running and lets
// it save; a second SIGINT ends the process at once. `sandbox exec` passes signals
// on instead.
func Main() int {
	p := Program{Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, end: confine.End}
	if _, exec := confine.Asked(p.Args); exec {
		return p.Run(context.Background())
	}
	p.fill()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		seen := 0
		for s := range signals {
			by := outcome.Interrupted
			if s == syscall.SIGTERM {
				by = outcome.Terminated
			}
			if seen++; seen > 1 {
				p.err.Leave()
				os.Exit(by.Exit)
			}
			p.err.Interrupting()
			cancel(Stopped{Signal: s, By: by})
		}
	}()
	return p.Run(ctx)
}
