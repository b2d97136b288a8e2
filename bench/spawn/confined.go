//go:build linux

package spawn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// jailStarter starts programs under a kernel policy.
type jailStarter struct {
	*kernel.Jail
	attr kernel.Attr
	null *os.File
}

func newJailStarter(a *Ask) (starter, error) {
	policy := kernel.Policy{Read: []string{"/"}, Write: []string{a.Dir}}
	switch a.Way {
	case Weaker:
		policy.Weaker = true
	case NoSockets:
		policy.Network = kernel.NoSockets
	case Reporting:
		policy.Notify = true
	case Proxy:
		policy.Network = kernel.ProxyNetwork
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	j, err := kernel.Prepare(&policy)
	if err != nil {
		return nil, errors.Join(err, null.Close())
	}
	s := &jailStarter{j, kernel.Attr{Path: a.Argv[0], Args: a.Argv, Env: a.Env, Dir: a.Dir, Files: []*os.File{null, null, null}}, null}
	if a.Way == Proxy {
		s.attr.Serve = accept
	}
	if policy.Weaker && !j.Weaker() {
		return nil, errors.Join(errors.New("namespaces are available here, so the weaker confinement is not used"), s.close())
	}
	return s, nil
}

// accept is a proxy that receives no requests.
func accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_ = c.Close()
	}
}

func (j *jailStarter) start() error {
	p, err := j.Start(&j.attr)
	if err != nil {
		return err
	}
	state, err := p.Wait()
	if err == nil && state.Status != 0 {
		err = fmt.Errorf("status %#x", int(state.Status))
	}
	return err
}

func (j *jailStarter) close() error { return errors.Join(j.Close(), j.null.Close()) }

// sandboxStarter starts programs the way users of the library do.
type sandboxStarter struct {
	*sandbox.Sandbox
	ask *Ask
}

func newSandboxStarter(a *Ask) (starter, error) {
	settings := &sandbox.Settings{}
	if a.Way == OpenProxy {
		settings.Network = &sandbox.Network{AllowedDomains: []string{"example.com"}}
	}
	checker, err := sandbox.NewChecker(settings, &sandbox.Options{Dir: a.Dir, Trusted: true})
	if err != nil {
		return nil, err
	}
	s, err := sandbox.Open([]*sandbox.Checker{checker}, &sandbox.OpenOptions{Folders: []string{a.Dir}})
	if err != nil {
		return nil, err
	}
	return &sandboxStarter{s, a}, nil
}

func (b *sandboxStarter) start() error {
	cmd := b.Command(context.Background(), b.ask.Argv[0], b.ask.Argv[1:]...)
	cmd.Dir, cmd.Env = b.ask.Dir, b.ask.Env
	return cmd.Run()
}

func (b *sandboxStarter) close() error { return b.Close() }
