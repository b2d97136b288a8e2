// Package daemon serves runs, sessions, approvals, policy and the audit trail to many clients: over
// a unix socket and, if configured, over TCP.
//
//	unix socket ─┐                        ┌─► /v1/ws    WebSocket messages    ─┐
//	             ├─► auth ─► one handler ─┼─► /v1/…     HTTP, SSE, OpenAPI    ─┼─► runs, feed, sessions
//	TCP (TLS) ───┘                        └─► /         console               ─┘
//
// docs/reference/websocket.md and docs/reference/http.md describe its interfaces. Package
// daemon/client is the client. The package makes no permission decisions and runs no agent; package
// internal/daemon/runs does.
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

// Options configure a [Server].
type Options struct {
	Sessions *session.Sessions
	Hub      *feed.Hub
	Runs     *runs.Runs
	Auth     *auth.Auth
	Console  fs.FS // files of the console; nil: no console
	Version  string
	Env      *env.Env     // home, settings and variables of the daemon's user
	Store    stores.Ref   // location of the sessions
	Metrics  http.Handler // nil: no /metrics
	Sockets  int          // maximum number of WebSocket connections; 0 is 4096
	Clock    func() time.Time
	Log      *slog.Logger

	// Workspaces are served under /v1/workspaces. If nil, these routes answer with status 501.
	Workspaces *workspace.Workspaces
}
