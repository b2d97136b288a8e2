package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of the HTTP server. Bodies and answers have separate limits, because an event stream must
// not have one.
const (
	headerTimeout = 10 * time.Second // until a request's headers must have arrived
	idleTimeout   = 2 * time.Minute  // between the requests of a connection
	headerBytes   = 64 << 10
)

// Server is the daemon's server. New creates a server, Serve serves on listeners, and Shutdown ends
// the server. It is safe for concurrent use.
type Server struct {
	o       Options
	api     *service
	sockets *sockets
	http    *http.Server
	conns   usage

	ending sync.Once
	ended  chan struct{} // closed when Shutdown has ended
	failed error         // the result of Shutdown; set before ended is closed
}

// New returns a server. Sessions, Hub, Runs, Auth and Env must be set.
func New(o *Options) (*Server, error) {
	if o == nil || o.Sessions == nil || o.Hub == nil || o.Runs == nil || o.Auth == nil || o.Env == nil {
		return nil, errors.New("daemon: Options.Sessions, Hub, Runs, Auth and Env must be set")
	}
	s := &Server{o: *o, ended: make(chan struct{})}
	if s.o.Clock == nil {
		s.o.Clock = time.Now
	}
	if s.o.Log == nil {
		s.o.Log = slog.New(slog.DiscardHandler)
	}
	s.sockets = newSockets(&s.o)
	s.api = newService(&s.o)
	s.api.connected = s.sockets.count
	mux := http.NewServeMux()
	s.api.routes(mux)
	mux.Handle("GET /v1/ws", s.sockets)
	mux.Handle("GET /ws", s.sockets)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	s.http = &http.Server{
		Handler:           withReadDeadline(s.o.Auth.Handler(mux, append(s.api.openPaths(), "/v1/ws", "/ws")...), bodyTimeout),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		ConnContext:       s.o.Auth.ConnContext,
		ConnState:         s.connState(newConnLimit(openFiles())),
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
		Protocols:         &protocols,
	}
	return s, nil
}

// Handler returns the server's handler, behind [auth.Auth.Handler].
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Serve serves on a listener until Shutdown, and then closes the listener and returns nil. It may
// be called for several listeners at once.
func (s *Server) Serve(l net.Listener) error {
	s.o.Auth.Listening(l.Addr())
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Unused returns for how long the server has had no connection; 0 while it has one.
func (s *Server) Unused() time.Duration {
	if s.sockets.count() > 0 { // the HTTP server does not count WebSockets
		s.conns.touch()
	}
	return s.conns.unused()
}

// Drain makes /readyz fail from now on, and makes the WebSocket reject requests that start runs.
// Open connections and other requests continue.
func (s *Server) Drain() {
	s.api.drain()
	s.sockets.draining.Store(true)
}

// Shutdown stops accepting connections and notifies the open ones (close code 1001, SSE event
// "shutdown"). Then it waits until all requests have ended. If ctx ends first, it cuts off the
// remaining connections and returns the error of ctx. A second call waits for the first one and
// returns the same error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.ending.Do(func() {
		defer close(s.ended)
		s.api.stop()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.sockets.shutdown(ctx)
		}()
		s.failed = s.http.Shutdown(ctx)
		if s.failed != nil {
			_ = s.http.Close() // the first error has more details
		}
		<-done
	})
	<-s.ended
	return s.failed
}
