package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// serving is a daemon that serves.
//
//	listeners ─► server ─► … ─► ctx ends ─► drain ─► shut down
//	SIGHUP ─► certificate read anew, ConfigChange told to what runs
type serving struct {
	c *listenFlags
	p *command.Program
	d *daemonParts

	info    listen.Info
	manager *manager
	sockets []net.Listener
	wg      sync.WaitGroup
	failed  chan error
	again   chan os.Signal // SIGHUP
}

// closing is how long open requests may take once nothing runs any more.
const closing = 5 * time.Second

// serve serves until ctx ends, and returns when what runs has ended or stands where it
// can be continued.
func (c *listenFlags) serve(ctx context.Context, p *command.Program, d *daemonParts) error {
	s := &serving{c: c, p: p, d: d, failed: make(chan error, 16), manager: newManager(d.log)}
	s.again = make(chan os.Signal, 1)
	notifyReload(s.again) // before anybody is told that it serves: an unheard SIGHUP ends a process
	defer signal.Stop(s.again)
	s.info = listen.Info{PID: os.Getpid(), Started: p.Now().UTC(), Version: version.Of().Version}
	defer s.closeSockets()
	if err := s.open(ctx); err != nil {
		return err
	}
	children, err := listen.Adopt()
	if err != nil {
		return err
	}
	defer children.Close()
	for _, l := range s.sockets {
		s.wg.Go(func() {
			if err := d.server.Serve(l); err != nil {
				s.failed <- fmt.Errorf("%s: %w", l.Addr(), err)
			}
		})
	}
	if err := c.held.Write(s.info); err != nil {
		return errors.Join(err, s.end(ctx))
	}
	d.log.Info("serving", "socket", s.info.Socket, "addresses", s.info.Addresses, "pid", s.info.PID, "version", s.info.Version)
	s.manager.ready()
	defer s.manager.close()
	return errors.Join(s.wait(ctx), s.end(ctx))
}

// wait returns when the daemon is to end.
func (s *serving) wait(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			s.d.log.Info("ending", "why", context.Cause(ctx).Error(), "drain", s.c.Drain.String())
			return nil
		case err := <-s.failed:
			return err
		case <-s.again:
			s.reload(ctx)
		}
	}
}

// reload reads the certificate anew. Settings are read by each run that starts; what
// runs is told that they may have changed.
func (s *serving) reload(ctx context.Context) {
	s.manager.reloading()
	defer s.manager.ready()
	if s.c.cert != nil {
		if err := s.c.cert.Reload(); err != nil {
			s.d.log.Error("the certificate stays what it was", "error", err)
		}
	}
	if err := s.d.runs.Fire(ctx, hook.Input{Event: hook.ConfigChange, Source: "user_settings"}); err != nil {
		s.d.log.Error("what runs could not be told of the change", "error", err)
	}
	s.d.log.Info("reloaded")
}

// end lets what runs finish and closes the server. No new run begins from here on.
func (s *serving) end(ctx context.Context) error {
	s.manager.stopping()
	ctx = context.WithoutCancel(ctx)
	s.d.server.Drain()
	drain, stop := context.WithTimeout(ctx, *s.c.Drain)
	defer stop()
	defer context.AfterFunc(drain, s.d.giveUp)()
	err := s.d.runs.Drain(drain)
	shut, stop := context.WithTimeout(ctx, closing)
	defer stop()
	if late := s.d.server.Shutdown(shut); late != nil && !errors.Is(late, context.DeadlineExceeded) {
		err = errors.Join(err, late)
	}
	s.closeSockets()
	s.wg.Wait()
	s.d.log.Info("ended")
	return err
}

// open opens the sockets: those that systemd hands over, the unix socket, and TCP.
func (s *serving) open(ctx context.Context) error {
	given, err := activation.Listeners()
	if err != nil {
		return fmt.Errorf("sockets of systemd: %w", err)
	}
	if s.info.Socket, err = listen.Socket(s.d.home, s.p.Getenv("XDG_RUNTIME_DIR")); err != nil {
		return refused(err)
	}
	for _, l := range given {
		if l == nil {
			return outcome.Invalid("systemd handed over a socket that takes no connections", "ListenStream= in the unit")
		}
		if err := s.take(l); err != nil {
			return err
		}
	}
	if !s.has(s.info.Socket) {
		l, err := listen.Unix(ctx, s.info.Socket)
		if err != nil {
			return fmt.Errorf("the unix socket: %w", err)
		}
		s.sockets = append(s.sockets, l)
	}
	for _, address := range s.c.Listen {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			return &outcome.Failure{Message: err.Error(), Advice: "another port: --listen 127.0.0.1:0", Result: outcome.Failed, Cause: err}
		}
		if err := s.take(l); err != nil {
			return err
		}
	}
	return nil
}

// take adds a socket of systemd's, or one on TCP.
func (s *serving) take(l net.Listener) error {
	if l.Addr().Network() == "unix" {
		s.sockets = append(s.sockets, l)
		return nil
	}
	s.sockets = append(s.sockets, l) // so that it is closed after an error as well
	if err := listen.CheckTCP(l.Addr().String(), s.c.cert != nil); err != nil {
		return refused(err)
	}
	if s.c.cert == nil {
		s.d.auth.Listening(l.Addr())
		s.info.Addresses = append(s.info.Addresses, "http://"+l.Addr().String())
		return nil
	}
	s.d.auth.ListeningTLS(l.Addr())
	s.info.Addresses = append(s.info.Addresses, "https://"+l.Addr().String())
	s.sockets[len(s.sockets)-1] = tls.NewListener(l, s.c.cert.Config())
	return nil
}

func (s *serving) has(path string) bool {
	for _, l := range s.sockets {
		if l.Addr().Network() == "unix" && l.Addr().String() == path {
			return true
		}
	}
	return false
}

func (s *serving) closeSockets() {
	for _, l := range s.sockets {
		_ = l.Close()
	}
}
