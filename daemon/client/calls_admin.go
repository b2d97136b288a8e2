package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/session"
)

// FolderPolicy returns the policy that the settings of a folder define, as `holdfast policy show
// --json` prints it.
func (c *Client) FolderPolicy(ctx context.Context, cwd string) (json.RawMessage, error) {
	return requestRaw(ctx, c, request{op: "getPolicy", query: query("cwd", cwd)})
}

// TestPolicy returns the decision for a call, as `holdfast policy check --json` prints it.
func (c *Client) TestPolicy(ctx context.Context, t api.PolicyTest) (json.RawMessage, error) {
	return requestRaw(ctx, c, request{op: "testPolicy", body: t})
}

// Audit lists audit entries, as `holdfast audit show --json` does.
func (c *Client) Audit(ctx context.Context, q ListOptions) (*api.Page[json.RawMessage], error) {
	return do[api.Page[json.RawMessage]](ctx, c, request{op: "listAudit", query: q.params()})
}

// Search finds words in transcripts, as `holdfast sessions search` does. The words are in q.
func (c *Client) Search(ctx context.Context, q session.Search) (*api.Page[session.Hit], error) {
	formatTime := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339Nano)
	}
	return do[api.Page[session.Hit]](ctx, c, request{op: "searchTranscripts", query: query(
		"q", q.Words, "tool", q.Tool, "role", q.Role, "session", q.Session, "project", q.Project, "cwd", q.CWD,
		"since", formatTime(q.Since), "until", formatTime(q.Until), "limit", number(int64(q.Limit)), "cursor", q.After,
	)})
}

// VerifyAudit verifies one session, or all sessions if id is "", as `holdfast audit verify --json`
// does.
func (c *Client) VerifyAudit(ctx context.Context, id string) (json.RawMessage, error) {
	return requestRaw(ctx, c, request{op: "verifyAudit", body: routes.AuditCheck{Session: id}})
}

// Doctor returns the report of `holdfast doctor --json` about the daemon's machine and setup.
func (c *Client) Doctor(ctx context.Context) (json.RawMessage, error) {
	return requestRaw(ctx, c, request{op: "getDoctor"})
}

// Health returns the state of the daemon.
func (c *Client) Health(ctx context.Context) (*api.Health, error) {
	return do[api.Health](ctx, c, request{op: "health"})
}

// Ready returns nil if the daemon is ready to serve, otherwise an *[api.Problem] with status 503.
func (c *Client) Ready(ctx context.Context) error {
	return c.call(ctx, request{op: "readyz"}, nil)
}

// OpenAPI returns the OpenAPI document of the HTTP API.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return requestRaw(ctx, c, request{op: "getOpenAPI"})
}

// SocketSchema returns the JSON Schema of the WebSocket's messages.
func (c *Client) SocketSchema(ctx context.Context) (json.RawMessage, error) {
	return requestRaw(ctx, c, request{op: "getSocketSchema"})
}

// LoginLink creates a link that logs in one browser once.
func (c *Client) LoginLink(ctx context.Context) (*api.LoginLink, error) {
	return do[api.LoginLink](ctx, c, request{op: "createLoginLink"})
}

// Tokens lists the tokens, newest first.
func (c *Client) Tokens(ctx context.Context) ([]api.Token, error) {
	page, err := do[api.Page[api.Token]](ctx, c, request{op: "listTokens"})
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// MakeToken creates a token.
func (c *Client) MakeToken(ctx context.Context, n api.NewToken) (*api.CreatedToken, error) {
	return do[api.CreatedToken](ctx, c, request{op: "createToken", body: n})
}

// RevokeToken revokes a token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.call(ctx, request{op: "revokeToken", path: []string{id}}, nil)
}

func requestRaw(ctx context.Context, c *Client, r request) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.call(ctx, r, &out)
	return out, err
}
