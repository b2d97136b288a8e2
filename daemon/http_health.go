package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/retry"
)

func (a *api) healthRoutes() []route {
	list := []route{
		{
			method: http.MethodGet, path: "/healthz", id: "healthz", tag: "health", open: true, doc: "Whether the process lives.",
			answer: alive{}, serve: func(c *call) error { return c.json(alive{"ok"}) },
		},
		{
			method: http.MethodGet, path: "/readyz", id: "readyz", tag: "health", open: true,
			doc:    "Whether it serves: 503 with what fails otherwise.",
			answer: ready{}, also: []int{http.StatusServiceUnavailable}, serve: a.readyz,
		},
		{
			method: http.MethodGet, path: "/health", id: "health", tag: "health", open: true, doc: "How it is, as seed 002 has it.",
			answer: health{}, serve: a.health,
		},
		{
			method: http.MethodGet, path: "/v1/info", id: "getInfo", tag: "health", doc: "What this daemon is, and who asks.",
			scope: auth.Read, answer: Info{}, serve: a.info,
		},
		{
			method: http.MethodGet, path: "/v1/openapi.json", id: "getOpenAPI", tag: "health", doc: "This document.",
			scope: auth.Read, answer: json.RawMessage(nil), serve: func(c *call) error { return c.made(a.document()) },
		},
		{
			method: http.MethodGet, path: "/v1/ws.schema.json", id: "getSocketSchema", tag: "health",
			doc:   "The messages of the WebSocket, as JSON Schema.",
			scope: auth.Read, answer: json.RawMessage(nil), serve: func(c *call) error { return c.made(wire.Schema(), nil) },
		},
		{
			method: http.MethodGet, path: "/v1/ws", id: "openSocket", tag: "health",
			doc:   "The WebSocket, docs/wire.md; 400 without an upgrade.",
			scope: auth.Read, status: http.StatusSwitchingProtocols, problems: []outcome.Outcome{outcome.Usage},
		},
	}
	if a.o.Metrics != nil {
		list = append(list, route{
			method: http.MethodGet, path: "/metrics", id: "getMetrics", tag: "health", doc: "Figures for Prometheus.",
			scope: auth.Read, types: []string{"text/plain"},
			serve: func(c *call) error { a.o.Metrics.ServeHTTP(c.w, c.r); return nil },
		})
	}
	return list
}

type alive struct {
	Status string `json:"status"`
}

type ready struct {
	Status string            `json:"status" jsonschema:"ready or not ready"`
	Checks map[string]string `json:"checks" jsonschema:"ok, or what is wrong: store, runs, draining"`
}

// readyz is public: what fails is named, why stands in the log.
func (a *api) readyz(c *call) error {
	doc, status := ready{"ready", map[string]string{"store": "ok", "draining": "ok"}}, http.StatusOK
	err := a.store.check(c.ctx(), a.o.Sessions.Store())
	if err != nil {
		doc.Checks["store"] = notReady(err)
	}
	if a.store.changed(doc.Checks["store"]) && err != nil { // it is asked every few seconds
		a.log.WarnContext(c.ctx(), "the store is not ready", "error", err)
	}
	if a.drained.Load() {
		doc.Checks["draining"] = "the daemon is about to end"
	}
	for _, v := range doc.Checks {
		if v != "ok" {
			doc.Status, status = "not ready", http.StatusServiceUnavailable
			c.header("Retry-After", "2")
		}
	}
	return c.jsonAs(status, doc)
}

// notReady names what is wrong with the store, without what an error tells of where it is.
func notReady(err error) string {
	switch {
	case errors.Is(err, session.ErrFull):
		return "its disk is full"
	case errors.Is(err, session.ErrReadOnly):
		return "it takes no writes"
	case errors.Is(err, session.ErrPoisoned):
		return "it was removed, or a write failed: the daemon must be started again"
	}
	return "it cannot be reached"
}

const (
	checkTime = 1500 * time.Millisecond // that a look at the store may take: an answer is due within 2 s
	checkKept = 500 * time.Millisecond  // that what was seen is told again: everybody may ask
)

// storeCheck is what was seen when the store was looked at last.
type storeCheck struct {
	mu   sync.Mutex
	at   time.Time
	err  error
	done chan struct{} // closed when the look that is under way ends; nil: none is
	told string        // what the last answer said
}

// changed notes what is answered, and reports whether that is something else than before.
func (s *storeCheck) changed(told string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.told
	s.told = told
	return was != told
}

// check looks at the store, one look at a time for all who ask. A look that takes too long
// goes on without them.
func (s *storeCheck) check(ctx context.Context, store session.Store) error {
	s.mu.Lock()
	if !s.at.IsZero() && time.Since(s.at) < checkKept {
		defer s.mu.Unlock()
		return s.err
	}
	if s.done == nil {
		s.done = make(chan struct{})
		go s.look(context.WithoutCancel(ctx), store)
	}
	done := s.done
	s.mu.Unlock()
	late := time.NewTimer(checkTime)
	defer late.Stop()
	select {
	case <-done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.err
	case <-late.C:
		return &session.Error{Op: "check store", Err: session.ErrUnavailable, Detail: "it does not answer"}
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *storeCheck) look(ctx context.Context, store session.Store) {
	ctx, stop := context.WithTimeout(retry.Within(ctx, 0), checkTime)
	defer stop()
	err := session.Check(ctx, store)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.err = time.Now(), err
	close(s.done)
	s.done = nil
}

// health has the names of seed 002's original.
type health struct {
	Status           string  `json:"status"`
	Uptime           float64 `json:"uptime" jsonschema:"seconds"`
	ActiveRuns       int     `json:"activeRuns"`
	ConnectedClients int     `json:"connectedClients"`
}

func (a *api) health(c *call) error {
	return c.json(health{
		Status: "ok", Uptime: a.now().Sub(a.started).Seconds(), ActiveRuns: a.o.Runs.Active(),
		ConnectedClients: a.connected() + int(a.streaming.Load()),
	})
}

// Info is what GET /v1/info answers.
type Info struct {
	Version      string     `json:"version"`
	API          string     `json:"api" jsonschema:"v1"`
	Protocol     int        `json:"protocol" jsonschema:"of the WebSocket's messages"`
	PID          int        `json:"pid"`
	StartedAt    time.Time  `json:"started_at"`
	Store        string     `json:"store"`
	Capabilities []string   `json:"capabilities"`
	Caller       InfoCaller `json:"caller"`
}

// InfoCaller is who asks, as the daemon sees it.
type InfoCaller struct {
	Name   string       `json:"name"`
	Via    string       `json:"via" jsonschema:"unix, token or cookie"`
	Scopes []auth.Scope `json:"scopes"`
	CSRF   string       `json:"csrf,omitempty" jsonschema:"told only to who has it already"`
	Agent  bool         `json:"agent,omitempty" jsonschema:"started by a run of this daemon: it may look and change nothing"`
}

func (a *api) info(c *call) error {
	caller := InfoCaller{Name: c.caller.Name, Via: c.caller.Via, Scopes: scopes(c.caller), Agent: c.caller.Agent}
	if a.o.Auth != nil {
		caller.CSRF = a.o.Auth.CSRF(c.caller)
	}
	return c.json(Info{
		Version: a.o.Version, API: "v1", Protocol: wire.Protocol, PID: os.Getpid(), StartedAt: a.started.UTC(), Store: a.o.Store,
		Capabilities: a.capabilities(), Caller: caller,
	})
}

func (a *api) capabilities() []string {
	list := []string{"approvals", "events", "runs", "sessions"}
	p := &a.o.Power
	for _, has := range []struct {
		name string
		ok   bool
	}{
		{"audit", p.Evidence != nil},
		{"audit.verify", p.Verify != nil},
		{"console", a.o.Console != nil},
		{"doctor", p.Doctor != nil},
		{"export", p.Export != nil},
		{"metrics", a.o.Metrics != nil},
		{"policy", p.Policy != nil},
		{"policy.test", p.Test != nil},
		{"rewind", p.Rewind != nil},
		{"workspaces", a.o.Workspaces != nil},
	} {
		if has.ok {
			list = append(list, has.name)
		}
	}
	return list
}

// made answers with a document that is there already.
func (c *call) made(doc []byte, err error) error {
	if err != nil {
		return err
	}
	return c.json(json.RawMessage(doc))
}
