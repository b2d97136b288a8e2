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

// service is everything that is served over plain HTTP: /v1 but for the WebSocket, the
// event streams, health, and the page.
//
//	request ─► route ─► scope, query, body, Idempotency-Key ─► handler ─► JSON | problem
//	              └──────────────► OpenAPI document
type service struct {
	o         *Options
	table     []route
	log       *slog.Logger
	started   time.Time
	connected func() int // open WebSockets
	keys      *idempotencyCache
	timeouts  time.Duration // with a client that does not take what a stream says

	document func() ([]byte, error) // OpenAPI, made once

	live      context.Context // streams end when it does
	end       context.CancelCauseFunc
	looking   sync.WaitGroup // who looks after the board
	streaming atomic.Int64
	drained   atomic.Bool
	board     approvalBoard
	store     storeCheck
	building  sync.Mutex // held by the one who builds an image
}

// errShutdown is why streams end when the daemon does.
var errShutdown = errors.New("the daemon is about to end")

func newService(o *Options) *service {
	a := &service{o: o, log: o.Log, connected: func() int { return 0 }, timeouts: writeTimeout}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.started, a.board.patience = a.now(), boardTimeout
	a.keys = newKeys(a.now)
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

// open lists the places that need no credential, as [auth.Auth.Handler] wants them:
// the page, and of the routes those without a scope.
func (a *service) open() []string {
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

// drain makes /readyz fail: what is open goes on.
func (a *service) drain() { a.drained.Store(true) }

// stop ends the event streams, telling them; the server's Shutdown waits for them, as
// for all requests. Again is fine.
func (a *service) stop() {
	a.drain()
	a.end(errShutdown)
	a.looking.Wait()
}

// actor is who asks, for the record. A browser comes with a cookie; the command line
// says so itself, on the unix socket.
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

// redact masks secrets in what people write for others to read.
func (a *service) redact(text string) string {
	masked, err := a.o.Env.Mask(text)
	if err != nil {
		return "(left out: secrets cannot be told from it)"
	}
	return masked
}

// scopes are the scopes of a caller as the page and clients want them.
func scopes(c auth.Caller) []api.Scope {
	list := []api.Scope{}
	for _, s := range routes.Scopes() {
		if c.HasScope(s) && (!c.Agent || s == api.ScopeRead) {
			list = append(list, s)
		}
	}
	return list
}
