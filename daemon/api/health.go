package api

import (
	"time"
)

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
	Name       string  `json:"name"`
	AuthMethod string  `json:"via" jsonschema:"unix, token or cookie"`
	Scopes     []Scope `json:"scopes"`
	CSRF       string  `json:"csrf,omitempty" jsonschema:"told only to a caller that has it already"`
	Agent      bool    `json:"agent,omitempty" jsonschema:"started by a run of this daemon: it may read and change nothing"`
}
