package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Alive says that the process lives.
type Alive struct {
	Status string `json:"status"`
}

// Ready says whether the daemon serves.
type Ready struct {
	Status string            `json:"status" jsonschema:"ready or not ready"`
	Checks map[string]string `json:"checks" jsonschema:"ok, or what is wrong: store, runs, draining"`
}

// Health is how the daemon is, in the names of seed 002's original.
type Health struct {
	Status           string  `json:"status"`
	Uptime           float64 `json:"uptime" jsonschema:"seconds"`
	ActiveRuns       int     `json:"activeRuns"`
	ConnectedClients int     `json:"connectedClients"`
}

// Info is what a daemon is, and who it takes the caller for.
type Info struct {
	Version      string    `json:"version"`
	API          string    `json:"api" jsonschema:"v1"`
	Protocol     int       `json:"protocol" jsonschema:"of the WebSocket's messages"`
	PID          int       `json:"pid"`
	StartedAt    time.Time `json:"started_at"`
	Store        string    `json:"store"`
	Capabilities []string  `json:"capabilities"`
	Caller       Caller    `json:"caller"`
}

// Caller is who asks, as the daemon sees it.
type Caller struct {
	Name   string  `json:"name"`
	Via    string  `json:"via" jsonschema:"unix, token or cookie"`
	Scopes []Scope `json:"scopes"`
	CSRF   string  `json:"csrf,omitempty" jsonschema:"told only to a caller that has it already"`
	Agent  bool    `json:"agent,omitempty" jsonschema:"started by a run of this daemon: it may read and change nothing"`
}

func healthRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/healthz", ID: "healthz", Tag: "health", Open: true, Doc: "Whether the process lives.",
			Response: Alive{},
		},
		{
			Method: http.MethodGet, Path: "/readyz", ID: "readyz", Tag: "health", Open: true,
			Doc:      "Whether the daemon serves; otherwise 503, with what fails.",
			Response: Ready{}, Also: []int{http.StatusServiceUnavailable},
		},
		{
			Method: http.MethodGet, Path: "/health", ID: "health", Tag: "health", Open: true, Doc: "How the daemon is, as seed 002 has it.",
			Response: Health{},
		},
		{
			Method: http.MethodGet, Path: "/v1/info", ID: "getInfo", Tag: "health", Doc: "What this daemon is, and who asks.",
			Scope: ScopeRead, Response: Info{},
		},
		{
			Method: http.MethodGet, Path: "/v1/openapi.json", ID: "getOpenAPI", Tag: "health", Doc: "This document.",
			Scope: ScopeRead, Response: json.RawMessage(nil),
		},
		{
			Method: http.MethodGet, Path: "/v1/ws.schema.json", ID: "getSocketSchema", Tag: "health",
			Doc:   "The messages of the WebSocket, as JSON Schema.",
			Scope: ScopeRead, Response: json.RawMessage(nil),
		},
		{
			Method: http.MethodGet, Path: "/v1/ws", ID: "openSocket", Tag: "health",
			Doc:   "The WebSocket, docs/wire.md; 400 without an upgrade.",
			Scope: ScopeRead, Status: http.StatusSwitchingProtocols, Problems: []outcome.Outcome{outcome.Usage},
		},
		{
			Method: http.MethodGet, Path: "/metrics", ID: "getMetrics", Tag: "health", Doc: "Metrics for Prometheus.",
			Scope: ScopeRead, Types: []string{"text/plain"},
		},
		{
			Method: http.MethodGet, Path: "/v1/doctor", ID: "getDoctor", Tag: "health",
			Doc:   "What the machine and the setup offer, as holdfast doctor --json prints it.",
			Scope: ScopeRead, Response: json.RawMessage(nil), Problems: []outcome.Outcome{outcome.NotOffered},
		},
	}
}
