package dial

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/daemon/process"
	"github.com/holdfast-dev/holdfast/internal/listen"
)

// privatePrefix begins the names of the folders of servers inside a process. In a folder that other
// programs use, outsidePrefix precedes it.
const (
	privatePrefix = "private-"
	outsidePrefix = "holdfast-"
)

// serveHere serves the daemon's API inside this process, on a socket that only this program uses.
func serveHere(ctx context.Context, p *command.Program, home, store string, why env.Notice) (*Conn, error) {
	dir, err := privateFolder(p, home)
	if err != nil {
		return nil, err
	}
	e := p.Environment()
	e.Notify = nil // the notices of a run are events of its session
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		err := process.Run(serving, &process.Config{
			Env: e, Home: home, Store: store, Log: slog.New(slog.DiscardHandler), Private: dir, Ready: func(socket string) { ready <- socket },
		})
		ended <- errors.Join(err, os.RemoveAll(dir))
	}()
	stop := func() error {
		cancel()
		return <-ended
	}
	select {
	case err := <-ended:
		cancel()
		return nil, err
	case <-ctx.Done():
		_ = stop()
		return nil, context.Cause(ctx)
	case socket := <-ready:
		d, err := client.Dial(ctx, &client.Options{Socket: socket, Name: "cli", Getenv: p.Getenv})
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		return &Conn{Client: d, Notice: why, stop: stop}, nil
	}
}

// privateFolder creates a folder for a socket: in the home folder, which sandboxed commands cannot see,
// or, if that path is too long for a socket, in XDG_RUNTIME_DIR or a folder for temporary files.
func privateFolder(p *command.Program, home string) (string, error) {
	in := listen.Dir(home)
	if err := os.MkdirAll(in, 0o700); err != nil {
		return "", err
	}
	prefix := privatePrefix
	for _, in := range []string{in, p.Getenv("XDG_RUNTIME_DIR"), os.TempDir()} {
		if filepath.IsAbs(in) && listen.FitsSocket(filepath.Join(in, prefix+"1234567890")) {
			removeAbandoned(in, prefix)
			if dir, err := os.MkdirTemp(in, prefix); err == nil {
				return dir, nil
			}
		}
		prefix = outsidePrefix + privatePrefix
	}
	removeAbandoned("/tmp", prefix)
	return os.MkdirTemp("/tmp", prefix)
}

// removeAbandoned removes the folders of processes that were killed: nothing listens on their
// sockets.
func removeAbandoned(in, prefix string) {
	list, _ := filepath.Glob(filepath.Join(in, prefix+"*", listen.SocketName))
	for _, socket := range list {
		c, err := net.Dial("unix", socket)
		if err == nil {
			_ = c.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.RemoveAll(filepath.Dir(socket))
		}
	}
}
