// Package cli is the holdfast program. It has the commands and their help, and finds the command
// that the arguments name.
//
//	Main ──os, signals──► Run ──parse──► one package per command group ──► agent, session, …
//	                       │                     │
//	                       └──── package term ◄──┘   (text, JSON, errors with hints)
//
// A program is a value of type command.Program, so that tests can run it unchanged:
//
//	p := &command.Program{Args: []string{"version"}, Stdout: &out, Stderr: &errs}
//	code := cli.Run(ctx, p)
//
// Data goes to Stdout, everything else to Stderr. Text from a model, a tool or a file passes an
// escape filter (term.Escape) on its way to a terminal. All exit codes come from package outcome.
package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/confine"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// Main runs the program with the arguments, environment, streams and signals of this process. The
// first SIGINT or SIGTERM interrupts the running turn and lets it save; a second SIGINT ends the
// process at once. In contrast, `sandbox exec` passes signals to its command.
func Main() int {
	p := &command.Program{Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, ExitStatus: confine.End}
	if _, exec := confine.IsInvocation(p.Args); exec {
		return Run(context.Background(), p)
	}
	p.SetDefaults()
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
				p.Err.Reset()
				os.Exit(by.Exit)
			}
			p.Err.Interrupting()
			cancel(command.SignalError{Signal: s, By: by})
		}
	}()
	return Run(ctx, p)
}

// Run runs the command of p and returns the exit code. When ctx ends, a running turn is interrupted
// and saved. If a signal ended ctx, its cause is a [command.SignalError], which decides the exit
// code.
func Run(ctx context.Context, p *command.Program) int {
	p.SetDefaults()
	err := dispatch(ctx, p)
	p.Err.Stop()
	if err == nil {
		return outcome.OK.Exit
	}
	return p.Fail(command.CauseOf(ctx, err))
}

func dispatch(ctx context.Context, p *command.Program) error {
	if text, ok := version.PrintEarly(p.Args); ok {
		p.Out.Text(text)
		return nil
	}
	return execute(ctx, p)
}
