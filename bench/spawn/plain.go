//go:build linux

package spawn

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// prepare creates what a way needs once.
func prepare(a *Ask) (starter, error) {
	if len(a.Argv) == 0 || a.Times < 1 {
		return nil, errors.New("nothing to start")
	}
	switch a.Way {
	case OSExec:
		return (*osExecStarter)(a), nil
	case Fork:
		return newForkStarter(a)
	case Open, OpenProxy:
		return newSandboxStarter(a)
	case Weaker, NoSockets, NoNetwork, Reporting, Proxy:
		return newJailStarter(a)
	}
	return nil, fmt.Errorf("unknown way %q", a.Way)
}

// forkStarter starts a program in the simplest possible way.
type forkStarter struct {
	argv []string
	attr syscall.ProcAttr
	null *os.File
}

func newForkStarter(a *Ask) (*forkStarter, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	fd := null.Fd()
	return &forkStarter{a.Argv, syscall.ProcAttr{Dir: a.Dir, Env: a.Env, Files: []uintptr{fd, fd, fd}}, null}, nil
}

func (f *forkStarter) start() error {
	pid, err := syscall.ForkExec(f.argv[0], f.argv, &f.attr)
	if err != nil {
		return err
	}
	var status syscall.WaitStatus
	for {
		_, err = syscall.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil && status != 0 {
		err = fmt.Errorf("status %#x", int(status))
	}
	return err
}

func (f *forkStarter) close() error { return f.null.Close() }

// osExecStarter starts programs the way most Go programs do.
type osExecStarter Ask

func (e *osExecStarter) start() error {
	cmd := exec.Command(e.Argv[0], e.Argv[1:]...)
	cmd.Dir, cmd.Env = e.Dir, e.Env
	return cmd.Run()
}

func (e *osExecStarter) close() error { return nil }
