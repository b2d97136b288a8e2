package routes

import (
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Liveness says that the process lives.
type Liveness struct {
	Status string `json:"status"`
}

// Readiness says whether the daemon serves.
type Readiness struct {
	Status string            `json:"status" jsonschema:"ready or not ready"`
	Checks map[string]string `json:"checks" jsonschema:"ok, or what is wrong: store, runs, draining"`
}

func healthRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/healthz", ID: "healthz", Tag: "health", Open: true, Doc: "Whether the process lives.",
			Response: Liveness{},
		},
		{
			Method: http.MethodGet, Path: "/readyz", ID: "readyz", Tag: "health", Open: true,
			Doc:      "Whether the daemon serves; otherwise 503, with what fails.",
			Response: Readiness{}, Also: []int{http.StatusServiceUnavailable},
		},
		{
			Method: http.MethodGet, Path: "/health", ID: "health", Tag: "health", Open: true, Doc: "How the daemon is, as seed 002 has it.",
			Response: api.Health{},
		},
		{
			Method: http.MethodGet, Path: "/v1/info", ID: "getInfo", Tag: "health", Doc: "What this daemon is, and who asks.",
			Scope: api.ScopeRead, Response: api.Info{},
		},
		{
			Method: http.MethodGet, Path: "/v1/openapi.json", ID: "getOpenAPI", Tag: "health", Doc: "This document.",
			Scope: api.ScopeRead, Response: json.RawMessage(nil),
		},
		{
			Method: http.MethodGet, Path: "/v1/ws.schema.json", ID: "getSocketSchema", Tag: "health",
			Doc:   "The messages of the WebSocket, as JSON Schema.",
			Scope: api.ScopeRead, Response: json.RawMessage(nil),
		},
		{
			Method: http.MethodGet, Path: "/v1/ws", ID: "openSocket", Tag: "health",
			Doc:   "The WebSocket, docs/reference/websocket.md; 400 without an upgrade.",
			Scope: api.ScopeRead, Status: http.StatusSwitchingProtocols, Problems: []outcome.Outcome{outcome.Usage},
		},
		{
			Method: http.MethodGet, Path: "/metrics", ID: "getMetrics", Tag: "health", Doc: "Metrics for Prometheus.",
			Scope: api.ScopeRead, Types: []string{"text/plain"},
		},
		{
			Method: http.MethodGet, Path: "/v1/doctor", ID: "getDoctor", Tag: "health",
			Doc:   "What the machine and the setup offer, as holdfast doctor --json prints it.",
			Scope: api.ScopeRead, Response: json.RawMessage(nil),
		},
	}
}
