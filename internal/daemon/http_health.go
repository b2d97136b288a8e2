package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/doctor"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/session"
)

func (a *service) healthHandlers() map[string]func(*call) error {
	return map[string]func(*call) error{
		"healthz":         func(c *call) error { return c.json(routes.Liveness{Status: "ok"}) },
		"readyz":          a.readyz,
		"health":          a.health,
		"getInfo":         a.info,
		"getOpenAPI":      func(c *call) error { return c.documentBytes(a.document()) },
		"getSocketSchema": func(c *call) error { return c.documentBytes(wire.Schema(), nil) },
		"getMetrics":      func(c *call) error { a.o.Metrics.ServeHTTP(c.w, c.r); return nil },
		"getDoctor":       a.doctor,
	}
}

// readyz needs no credential, so the answer only names the checks that failed; the reasons are
// logged.
func (a *service) readyz(c *call) error {
	doc, status := routes.Readiness{Status: "ready", Checks: map[string]string{"store": "ok", "draining": "ok"}}, http.StatusOK
	err := a.store.check(c.ctx(), a.o.Sessions.Store())
	if err != nil {
		doc.Checks["store"] = notReady(err)
	}
	if a.store.changed(doc.Checks["store"]) && err != nil { // log only changes, because probes come every few seconds
		a.log.WarnContext(c.ctx(), "the store is not ready", "error", err)
	}
	if a.drained.Load() {
		doc.Checks["draining"] = "the daemon is shutting down"
	}
	for _, v := range doc.Checks {
		if v != "ok" {
			doc.Status, status = "not ready", http.StatusServiceUnavailable
			c.header("Retry-After", "2")
		}
	}
	return c.jsonAs(status, doc)
}

// notReady describes the problem of the store without details such as its location.
func notReady(err error) string {
	switch {
	case errors.Is(err, session.ErrFull):
		return "its disk is full"
	case errors.Is(err, session.ErrReadOnly):
		return "it is read-only"
	case errors.Is(err, session.ErrPoisoned):
		return "it was removed or a write failed; restart the daemon"
	}
	return "it is unreachable"
}

const (
	checkTimeout = 1500 * time.Millisecond // time for a check of the store; the answer is due within 2 s
	checkTTL     = 500 * time.Millisecond  // how long a result is reused, because a client may request it without a credential
)

// storeCheck contains the result of the last check of the store.
type storeCheck struct {
	mu     sync.Mutex
	at     time.Time
	err    error
	done   chan struct{} // closed when the running check ends; nil if no check is running
	answer string        // the last answer
}

// changed stores the answer and reports whether it differs from the last one.
func (s *storeCheck) changed(answer string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	previous := s.answer
	s.answer = answer
	return previous != answer
}

// check checks the store. Concurrent requests share one check. If it takes too long, the request
// stops waiting and the check continues.
func (s *storeCheck) check(ctx context.Context, store session.Store) error {
	s.mu.Lock()
	if !s.at.IsZero() && time.Since(s.at) < checkTTL {
		defer s.mu.Unlock()
		return s.err
	}
	if s.done == nil {
		s.done = make(chan struct{})
		go s.checkNow(context.WithoutCancel(ctx), store)
	}
	done := s.done
	s.mu.Unlock()
	timer := time.NewTimer(checkTimeout)
	defer timer.Stop()
	select {
	case <-done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.err
	case <-timer.C:
		return &session.Error{Op: "check store", Err: session.ErrUnavailable, Detail: "the store does not answer"}
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *storeCheck) checkNow(ctx context.Context, store session.Store) {
	ctx, stop := context.WithTimeout(retry.Within(ctx, 0), checkTimeout)
	defer stop()
	err := session.New(store, nil).Check(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.err = time.Now(), err
	close(s.done)
	s.done = nil
}

func (a *service) health(c *call) error {
	return c.json(api.Health{
		Status: "ok", Uptime: a.now().Sub(a.started).Seconds(), ActiveRuns: a.o.Runs.Active(),
		ConnectedClients: a.connected() + int(a.streaming.Load()),
	})
}

func (a *service) info(c *call) error {
	caller := api.Caller{Name: c.caller.Name, AuthMethod: c.caller.Method, Scopes: scopes(c.caller), Agent: c.caller.Agent}
	if a.o.Auth != nil {
		caller.CSRF = a.o.Auth.CSRF(c.caller)
	}
	return c.json(api.Info{
		Version: a.o.Version, API: "v1", Protocol: wire.Protocol, PID: os.Getpid(), StartedAt: a.started.UTC(), Store: a.o.Store.Name,
		Capabilities: a.capabilities(), Caller: caller,
	})
}

func (a *service) capabilities() []string {
	list := []string{"approvals", "audit", "audit.verify"}
	add := func(name string, available bool) {
		if available {
			list = append(list, name)
		}
	}
	add("console", a.o.Console != nil)
	list = append(list, "doctor", "events", "export")
	add("metrics", a.o.Metrics != nil)
	list = append(list, "policy", "policy.test", "rewind", "runs", "sessions")
	add("workspaces", a.o.Workspaces != nil)
	return list
}

func (a *service) doctor(c *call) error {
	return c.document(doctor.Examine(c.ctx(), a.o.Env, &doctor.Options{Store: a.o.Store.ReopenURL()}), nil)
}

// document answers with a document that the command line prints with --json.
func (c *call) document(v any, err error) error {
	if err != nil {
		return err
	}
	return c.documentBytes(json.Marshal(v))
}

// documentBytes answers with an existing document.
func (c *call) documentBytes(doc []byte, err error) error {
	if err != nil {
		return err
	}
	return c.json(json.RawMessage(doc))
}
