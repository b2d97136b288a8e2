// Package daemon serves runs, sessions, approvals, policy and audit to many clients:
// over a unix socket, and over TCP when asked.
//
//	unix socket ─┐                       ┌─► /v1/ws    seed 002's messages ─┐
//	             ├─► auth ─► one handler ─┼─► /v1/…     HTTP, SSE, OpenAPI ───┼─► runs, feed, sessions
//	TCP (TLS) ───┘                       └─► /         console              ─┘
//
// docs/wire.md and docs/http.md say what it speaks. Package daemon/client is the
// other end. The package decides nothing about permission and runs no agent: that is
// package internal/daemon/runs.
package daemon

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
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
	Store    string       // the store's URL, for /v1/info
	Metrics  http.Handler // nil: no /metrics
	Sockets  int          // WebSocket connections at once; 0 is 4096
	Clock    func() time.Time
	Log      *slog.Logger

	// Workspaces are what /v1/workspaces serves; nil: these routes answer 501.
	Workspaces *workspace.Workspaces

	// What only the program knows. Nil: the route answers 501.
	Power Power
}

// Power is what the daemon's program does for it. Documents are JSON as the command
// line prints it with --json.
type Power struct {
	// Policy is the chain of a folder's settings, in order, with origins.
	Policy func(ctx context.Context, cwd string) (json.RawMessage, error)
	// Test says what would happen to a call: {cwd, session?, mode?, tool, input}.
	Test func(ctx context.Context, request json.RawMessage) (json.RawMessage, error)
	// Doctor says what the machine and the setup offer.
	Doctor func(ctx context.Context) (json.RawMessage, error)
	// Export writes a session in a format: one of those of the route.
	Export func(ctx context.Context, id, format string, write func([]byte) error) error
	// Evidence lists entries of the audit, oldest first; next is "" on the last page.
	Evidence func(ctx context.Context, q EvidenceQuery) (entries []json.RawMessage, next string, err error)
	// Verify checks one session, or with "" all of them against the trail.
	Verify func(ctx context.Context, session string) (json.RawMessage, error)
	// Search finds words in transcripts.
	Search func(ctx context.Context, q session.Search) (*session.Hits, error)
	// Rewind takes a session back: it says what would be done, and with the digest of that
	// does it, for whoever by names.
	Rewind func(ctx context.Context, id, by string, r api.Rewind) (json.RawMessage, error)
	// Redact masks secrets in what a client sends for people to read elsewhere.
	Redact func(text string) string
}

// EvidenceQuery filters the audit.
type EvidenceQuery struct {
	Session string
	Kind    string
	After   string
	Limit   int
}
