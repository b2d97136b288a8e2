// Package daemon serves runs, sessions, approvals, policy and audit to many clients:
// over a unix socket, and over TCP when asked.
//
//	unix socket ─┐                       ┌─► /v1/ws    seed 002's messages ─┐
//	             ├─► auth ─► one handler ─┼─► /v1/…     HTTP, SSE, OpenAPI ───┼─► runs, feed, sessions
//	TCP (TLS) ───┘                       └─► /         console              ─┘
//
// docs/reference/websocket.md and docs/reference/http.md say what it speaks. Package daemon/client is the
// other end. The package decides nothing about permission and runs no agent: that is
// package internal/daemon/runs.
package daemon

import (
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

// Options are what [New] needs.
type Options struct {
	Sessions *session.Sessions
	Hub      *feed.Hub
	Runs     *runs.Runs
	Auth     *auth.Auth
	Console  fs.FS // the page; nil: there is none
	Version  string
	Env      *env.Env     // whose daemon it is: home, settings, variables
	Store    stores.Ref   // where the sessions are
	Metrics  http.Handler // nil: no /metrics
	Sockets  int          // WebSocket connections at once; 0 is 4096
	Clock    func() time.Time
	Log      *slog.Logger

	// Workspaces are what /v1/workspaces serves; nil: these routes answer 501.
	Workspaces *workspace.Workspaces
}
