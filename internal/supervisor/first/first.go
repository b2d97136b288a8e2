// Package first implements the hidden command `holdfast supervise`. It runs before the libraries that the command
// does not need are initialized, as package confine/first does for the sandbox.
//
//	supervise [--socket PATH]          serve in a container, until SIGTERM
//	supervise attach [--socket PATH]   connect standard input and output with the serving one
//
// A third form, `supervise child`, belongs to package reaper. Only cmd/holdfast imports this package. Errors are
// lines on standard error and status 1; an invalid command line is status 2.
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

func init() { //nolint:gochecknoinits // it must run before other packages are initialized
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
			return "", fmt.Errorf("unknown argument %q; hint: holdfast itself starts this command in a workspace's container", name)
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
