package process

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// serving is the state of a daemon that serves clients.
//
//	listeners ─► server ─► … ─► ctx ends ─► drain ─► shut down
//	SIGHUP ─► reload the certificate, send ConfigChange to all running agents
type serving struct {
	*parts
	info            listen.Info
	manager         *serviceManager
	sockets         []net.Listener
	wg              sync.WaitGroup
	failed          chan error
	reloadRequested chan os.Signal // SIGHUP
}

// ShutdownTimeout is how long open requests may take after all runs have ended.
const ShutdownTimeout = 5 * time.Second

// serve opens the sockets and serves until ctx ends.
func (d *parts) serve(ctx context.Context) error {
	s := &serving{parts: d, failed: make(chan error, 16), manager: newManager(d.c.Log)}
	s.reloadRequested = make(chan os.Signal, 1)
	if d.c.Private == "" {
		notifyReload(s.reloadRequested) // must precede the ready notification: an uncaught SIGHUP would end the process
	}
	defer signal.Stop(s.reloadRequested)
	s.info = listen.Info{PID: os.Getpid(), Started: d.c.Env.Now().UTC(), Version: version.Current().Version}
	if d.c.ExitIdle > 0 {
		s.info.ExitIdle = d.c.ExitIdle.String()
	}
	defer s.closeSockets()
	if err := s.open(ctx); err != nil {
		return err
	}
	children, err := listen.StartSubreaper()
	if err != nil {
		return err
	}
	defer children.Close()
	// A client that has an answer of the daemon can read this file, so it is written first.
	if d.c.Private == "" {
		if err := d.c.Lock.WriteInfo(s.info); err != nil {
			return err
		}
	}
	for _, l := range s.sockets {
		s.wg.Go(func() {
			if err := d.server.Serve(l); err != nil {
				s.failed <- fmt.Errorf("%s: %w", l.Addr(), err)
			}
		})
	}
	if d.c.Ready != nil {
		d.c.Ready(s.info.Socket)
	}
	d.c.Log.Info("serving", "socket", s.info.Socket, "addresses", s.info.Addresses, "pid", s.info.PID, "version", s.info.Version)
	s.manager.ready()
	defer s.manager.close()
	return errors.Join(s.wait(ctx), s.end(ctx))
}

// wait returns when the daemon must end.
func (s *serving) wait(ctx context.Context) error {
	idle, stop := s.unused()
	defer stop()
	for {
		select {
		case <-idle:
			s.c.Log.Info("ending", "why", "nothing has used the daemon", "for", s.c.ExitIdle.String())
			return nil
		case <-ctx.Done():
			s.c.Log.Info("ending", "why", context.Cause(ctx).Error(), "drain", s.c.Drain.String())
			return nil
		case err := <-s.failed:
			return err
		case <-s.reloadRequested:
			s.reload(ctx)
		}
	}
}

// reload reloads the certificate. Each new run reads the settings; running agents are notified that
// they may have changed.
func (s *serving) reload(ctx context.Context) {
	s.manager.reloading()
	defer s.manager.ready()
	if s.c.Certificate != nil {
		if err := s.c.Certificate.Reload(); err != nil {
			s.c.Log.Error("keeping the previous certificate", "error", err)
		}
	}
	if err := s.runs.Fire(ctx, hook.Input{Event: hook.ConfigChange, Source: "user_settings"}); err != nil {
		s.c.Log.Error("cannot notify the running sessions of the change", "error", err)
	}
	s.c.Log.Info("reloaded")
}

// end drains the runs and closes the server. From here on, no new run starts.
func (s *serving) end(ctx context.Context) error {
	s.manager.stopping()
	ctx = context.WithoutCancel(ctx)
	s.server.Drain()
	drain, stop := context.WithTimeout(ctx, s.c.Drain)
	defer stop()
	defer context.AfterFunc(drain, s.endStoreWaits)()
	err := s.runs.Drain(drain)
	shut, stop := context.WithTimeout(ctx, ShutdownTimeout)
	defer stop()
	if shutErr := s.server.Shutdown(shut); shutErr != nil && !errors.Is(shutErr, context.DeadlineExceeded) {
		err = errors.Join(err, shutErr)
	}
	s.closeSockets()
	s.wg.Wait()
	s.c.Log.Info("ended")
	return err
}

// open opens the sockets: those passed by systemd, the unix socket, and TCP.
func (s *serving) open(ctx context.Context) error {
	if s.c.Private != "" {
		return s.openPrivate(ctx)
	}
	given, err := activation.Listeners()
	if err != nil {
		return fmt.Errorf("sockets passed by systemd: %w", err)
	}
	if s.info.Socket, err = listen.SocketPath(s.c.Home, s.c.Env.Lookup("XDG_RUNTIME_DIR")); err != nil {
		return err
	}
	for _, l := range given {
		if l == nil {
			return outcome.Invalid("systemd passed a socket that does not accept connections", "use ListenStream= in the unit")
		}
		if err := s.addListener(l); err != nil {
			return err
		}
	}
	if !s.listensOn(s.info.Socket) {
		l, err := listen.Unix(ctx, s.info.Socket)
		if err != nil {
			return fmt.Errorf("unix socket: %w", err)
		}
		s.sockets = append(s.sockets, l)
	}
	for _, address := range s.c.Listen {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			return &outcome.Failure{Message: err.Error(), Advice: "use a different port, or any free one: --listen 127.0.0.1:0", Result: outcome.Failed, Cause: err}
		}
		if err := s.addListener(l); err != nil {
			return err
		}
	}
	return nil
}

// openPrivate opens the only socket of a server that belongs to another program.
func (s *serving) openPrivate(ctx context.Context) error {
	s.info.Socket = filepath.Join(s.c.Private, listen.SocketName)
	l, err := listen.Unix(ctx, s.info.Socket)
	if err != nil {
		return fmt.Errorf("unix socket: %w", err)
	}
	s.sockets = append(s.sockets, l)
	return nil
}

// addListener adds a socket of systemd or a TCP listener.
func (s *serving) addListener(l net.Listener) error {
	if l.Addr().Network() == "unix" {
		s.sockets = append(s.sockets, l)
		return nil
	}
	s.sockets = append(s.sockets, l) // added first, so that the listener is closed even after an error
	if err := listen.CheckTCP(l.Addr().String(), s.c.Certificate != nil); err != nil {
		return err
	}
	if s.c.Certificate == nil {
		s.auth.Listening(l.Addr())
		s.info.Addresses = append(s.info.Addresses, "http://"+l.Addr().String())
		return nil
	}
	s.auth.ListeningTLS(l.Addr())
	s.info.Addresses = append(s.info.Addresses, "https://"+l.Addr().String())
	s.sockets[len(s.sockets)-1] = tls.NewListener(l, s.c.Certificate.Config())
	return nil
}

func (s *serving) listensOn(path string) bool {
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
