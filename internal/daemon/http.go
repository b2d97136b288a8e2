package daemon

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
)

// service serves plain HTTP: everything except the WebSocket.
//
//	request ─► route ─► scope, query, body, Idempotency-Key ─► handler ─► JSON | problem
//	              └──────────────► OpenAPI document
type service struct {
	o             *Options
	table         []route
	log           *slog.Logger
	started       time.Time
	connected     func() int // open WebSockets
	keys          *idempotencyCache
	streamTimeout time.Duration // time after which a stream is closed if its client does not read

	document func() ([]byte, error) // OpenAPI, generated once

	live         context.Context // all streams end when this context ends
	end          context.CancelCauseFunc
	boardUpdates sync.WaitGroup // goroutines that update the board
	streaming    atomic.Int64
	drained      atomic.Bool
	board        approvalBoard
	store        storeCheck
	building     sync.Mutex // held while an image is built
}

// errShutdown ends streams when the daemon shuts down.
var errShutdown = errors.New("the daemon is shutting down")

func newService(o *Options) *service {
	a := &service{o: o, log: o.Log, connected: func() int { return 0 }, streamTimeout: writeTimeout}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.started, a.board.patience = a.now(), boardTimeout
	a.keys = newIdempotencyCache(a.now)
	a.live, a.end = context.WithCancelCause(context.Background())
	a.table = a.routeTable()
	a.document = sync.OnceValues(func() ([]byte, error) {
		var served []routes.Route
		for i := range a.table {
			served = append(served, a.table[i].Route)
		}
		return routes.OpenAPI(served, o.Version)
	})
	return a
}

func (a *service) now() time.Time {
	if a.o.Clock != nil {
		return a.o.Clock()
	}
	return time.Now()
}

// openPaths lists the paths that need no credential, for [auth.Auth.Handler]: the console, and routes
// without a scope.
func (a *service) openPaths() []string {
	list := []string{"/"}
	for i := range a.table {
		switch rt := &a.table[i]; {
		case rt.Scope != "" && !strings.HasPrefix(rt.Path, "/v1/"):
			list = append(list, "!"+rt.Path)
		case rt.Open:
			list = append(list, rt.Path)
		}
	}
	return list
}

// drain makes /readyz fail. Open connections continue.
func (a *service) drain() { a.drained.Store(true) }

// stop sends a shutdown event to the event streams and ends them. The server's Shutdown waits for
// them as for all requests. It may be called more than once.
func (a *service) stop() {
	a.drain()
	a.end(errShutdown)
	a.boardUpdates.Wait()
}

// actor returns the caller as it is recorded. A browser authenticates with a cookie. The command
// line names itself in the request, over the unix socket.
func (c *call) actor() runs.Actor {
	via := "http"
	switch {
	case c.caller.Method == "cookie":
		via = "console"
	case c.caller.Method == "unix" && c.r.Header.Get("X-Holdfast-Client") == "cli":
		via = "cli"
	}
	return runs.Actor{Name: c.caller.Name, Via: via}
}

// redact masks secrets in text that a user wrote for others to read.
func (a *service) redact(text string) string {
	masked, err := a.o.Env.Mask(text)
	if err != nil {
		return "(left out: it may contain secrets)"
	}
	return masked
}

// scopes returns the scopes of a caller for clients and the console.
func scopes(c auth.Caller) []api.Scope {
	list := []api.Scope{}
	for _, s := range routes.Scopes() {
		if c.HasScope(s) && (!c.Agent || s == api.ScopeRead) {
			list = append(list, s)
		}
	}
	return list
}
