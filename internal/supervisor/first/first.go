// Package first is the hidden command `holdfast supervise`, run before the libraries that
// it does not need have started, as package confine/first does for the sandbox.
//
//	supervise [--socket PATH]          serve in a container, until SIGTERM
//	supervise attach [--socket PATH]   lead standard input and output to the one that serves
//
// A third, `supervise child`, is package reaper's. Only cmd/holdfast imports this package.
// Failures are lines on standard error and status 1; a wrong command line is status 2.
package first

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
)

func init() { //nolint:gochecknoinits // to run before other packages start is what it is for
	if len(os.Args) > 1 && os.Args[1] == "supervise" {
		os.Exit(run(os.Args[2:]))
	}
}

func run(args []string) int {
	attach := len(args) > 0 && args[0] == "attach"
	if attach {
		args = args[1:]
	}
	socket, err := parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast supervise:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if attach {
		err = supervisor.Attach(ctx, supervisor.AttachOptions{Socket: socket, Stdin: os.Stdin, Stdout: os.Stdout})
	} else {
		err = supervisor.Serve(ctx, supervisor.ServeOptions{Socket: socket, Log: os.Stderr})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast supervise:", err)
		return 1
	}
	return 0
}

func parse(args []string) (socket string, err error) {
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		switch {
		case name != "--socket":
			return "", fmt.Errorf("unknown argument %q; hint: it is started in a workspace's container, by holdfast", name)
		case !joined && len(args) == 0:
			return "", fmt.Errorf("--socket needs a path")
		case !joined:
			value, args = args[0], args[1:]
		}
		if !strings.HasPrefix(value, "/") {
			return "", fmt.Errorf("--socket: %q is not absolute", value)
		}
		socket = value
	}
	return socket, nil
}
