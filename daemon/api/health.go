package api

import (
	"time"
)

// Health is the state of the daemon, with CommaAgents' field names.
type Health struct {
	Status           string  `json:"status"`
	Uptime           float64 `json:"uptime" jsonschema:"seconds"`
	ActiveRuns       int     `json:"activeRuns"`
	ConnectedClients int     `json:"connectedClients"`
}

// Info describes a daemon and the authenticated caller.
type Info struct {
	Version      string    `json:"version"`
	API          string    `json:"api" jsonschema:"v1"`
	Protocol     int       `json:"protocol" jsonschema:"version of the WebSocket protocol"`
	PID          int       `json:"pid"`
	StartedAt    time.Time `json:"started_at"`
	Store        string    `json:"store"`
	Capabilities []string  `json:"capabilities"`
	Caller       Caller    `json:"caller"`
}

// Caller is the authenticated client of a request.
type Caller struct {
	Name       string  `json:"name"`
	AuthMethod string  `json:"via" jsonschema:"unix, token or cookie"`
	Scopes     []Scope `json:"scopes"`
	CSRF       string  `json:"csrf,omitempty" jsonschema:"only returned to a caller that sent it"`
	Agent      bool    `json:"agent,omitempty" jsonschema:"true if the caller was started by a run of this daemon; it may then only read"`
}
