package routes

import (
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Liveness reports that the process is alive.
type Liveness struct {
	Status string `json:"status"`
}

// Readiness reports whether the daemon is ready to serve.
type Readiness struct {
	Status string            `json:"status" jsonschema:"ready or not ready"`
	Checks map[string]string `json:"checks" jsonschema:"result of each check (store, runs, draining): ok, or what is wrong"`
}

func healthRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/healthz", ID: "healthz", Tag: "health", Open: true, Doc: "Reports that the process is alive.",
			Response: Liveness{},
		},
		{
			Method: http.MethodGet, Path: "/readyz", ID: "readyz", Tag: "health", Open: true,
			Doc:      "Reports whether the daemon is ready to serve. Otherwise the status is 503, and the body names the failed checks.",
			Response: Readiness{}, Also: []int{http.StatusServiceUnavailable},
		},
		{
			Method: http.MethodGet, Path: "/health", ID: "health", Tag: "health", Open: true, Doc: "Reports the daemon's state in CommaAgents' format.",
			Response: api.Health{},
		},
		{
			Method: http.MethodGet, Path: "/v1/info", ID: "getInfo", Tag: "health", Doc: "Describes this daemon and the caller.",
			Scope: api.ScopeRead, Response: api.Info{},
		},
		{
			Method: http.MethodGet, Path: "/v1/openapi.json", ID: "getOpenAPI", Tag: "health", Doc: "Returns this document.",
			Scope: api.ScopeRead, Response: json.RawMessage(nil),
		},
		{
			Method: http.MethodGet, Path: "/v1/ws.schema.json", ID: "getSocketSchema", Tag: "health",
			Doc:   "Returns the JSON Schema of the WebSocket's messages.",
			Scope: api.ScopeRead, Response: json.RawMessage(nil),
		},
		{
			Method: http.MethodGet, Path: "/v1/ws", ID: "openSocket", Tag: "health",
			Doc:   "Opens the WebSocket (docs/reference/websocket.md). Without an upgrade the status is 400.",
			Scope: api.ScopeRead, Status: http.StatusSwitchingProtocols, Problems: []outcome.Outcome{outcome.Usage},
		},
		{
			Method: http.MethodGet, Path: "/metrics", ID: "getMetrics", Tag: "health", Doc: "Returns metrics in Prometheus' text format.",
			Scope: api.ScopeRead, Types: []string{"text/plain"},
		},
		{
			Method: http.MethodGet, Path: "/v1/doctor", ID: "getDoctor", Tag: "health",
			Doc:   "Returns the report of holdfast doctor --json about the daemon's machine and setup.",
			Scope: api.ScopeRead, Response: json.RawMessage(nil),
		},
	}
}
