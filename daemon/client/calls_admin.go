package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// FolderPolicy is what settings say for a folder: as `holdfast policy show --json`.
func (c *Client) FolderPolicy(ctx context.Context, cwd string) (json.RawMessage, error) {
	return raw(ctx, c, http.MethodGet, "/v1/policy"+query("cwd", cwd), nil)
}

// Test is a tool call that is to be judged.
type Test struct {
	Cwd     string          `json:"cwd"`               // absolute
	Session string          `json:"session,omitempty"` // with what was granted in it
	Mode    string          `json:"mode,omitempty"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
}

// TestPolicy says what would become of a call: as `holdfast policy explain --json`.
func (c *Client) TestPolicy(ctx context.Context, t Test) (json.RawMessage, error) {
	return raw(ctx, c, http.MethodPost, "/v1/policy/test", t)
}

// AuditQuery filters [Client.Audit].
type AuditQuery struct {
	Session string
	Kind    string
	Limit   int
	Cursor  string
}

// Audit lists evidence: as `holdfast audit show --json`.
func (c *Client) Audit(ctx context.Context, q AuditQuery) (*Page[json.RawMessage], error) {
	return get[Page[json.RawMessage]](ctx, c, "/v1/audit"+
		query("session", q.Session, "kind", q.Kind, "limit", number(int64(q.Limit)), "cursor", q.Cursor))
}

// Search finds words in transcripts: as `holdfast sessions search`. The words are in q.
func (c *Client) Search(ctx context.Context, q session.Search) (*Page[session.Hit], error) {
	moment := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339Nano)
	}
	return get[Page[session.Hit]](ctx, c, "/v1/search"+query("q", q.Words, "tool", q.Tool, "role", q.Role, "session", q.Session,
		"project", q.Project, "cwd", q.CWD, "since", moment(q.Since), "until", moment(q.Until), "limit", number(int64(q.Limit)), "cursor", q.After))
}

// VerifyAudit checks one session, or with "" all of them: as `holdfast audit verify --json`.
func (c *Client) VerifyAudit(ctx context.Context, id string) (json.RawMessage, error) {
	in := map[string]string{}
	if id != "" {
		in["session"] = id
	}
	return raw(ctx, c, http.MethodPost, "/v1/audit/verify", in)
}

// Doctor says what the daemon's machine and setup offer: as `holdfast doctor --json`.
func (c *Client) Doctor(ctx context.Context) (json.RawMessage, error) {
	return raw(ctx, c, http.MethodGet, "/v1/doctor", nil)
}

// Health is how the daemon is, as seed 002 has it.
type Health struct {
	Status           string  `json:"status"`
	Uptime           float64 `json:"uptime"` // seconds
	ActiveRuns       int     `json:"activeRuns"`
	ConnectedClients int     `json:"connectedClients"`
}

// Health asks how the daemon is.
func (c *Client) Health(ctx context.Context) (*Health, error) { return get[Health](ctx, c, "/health") }

// Ready is nil when the daemon serves; otherwise a *[Problem] with status 503.
func (c *Client) Ready(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/readyz", nil, nil)
}

// OpenAPI is the document of the interface.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return raw(ctx, c, http.MethodGet, "/v1/openapi.json", nil)
}

// SocketSchema is the JSON Schema of the WebSocket's messages.
func (c *Client) SocketSchema(ctx context.Context) (json.RawMessage, error) {
	return raw(ctx, c, http.MethodGet, "/v1/ws.schema.json", nil)
}

// Link logs a browser in once.
type Link struct {
	URL     string    `json:"url"`
	Code    string    `json:"code"`
	Expires time.Time `json:"expires_at"`
}

// LoginLink makes a link that logs a browser in once.
func (c *Client) LoginLink(ctx context.Context) (*Link, error) {
	return do[Link](ctx, c, http.MethodPost, "/v1/login/link", nil)
}

// Token is a bearer token. Secret is there only when it was just made.
type Token struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Scopes  []string   `json:"scopes"`
	Created time.Time  `json:"created_at"`
	Expires *time.Time `json:"expires_at"`
	Used    *time.Time `json:"used_at"`
	By      string     `json:"by"`
	Secret  string     `json:"secret"`
}

// NewToken describes a token. Expires is in seconds from now; 0 is never.
type NewToken struct {
	Name    string   `json:"name"`
	Scopes  []string `json:"scopes"`
	Expires int64    `json:"expires_in,omitempty"`
}

// Tokens lists the tokens, newest first.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	page, err := get[Page[Token]](ctx, c, "/v1/tokens")
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// MakeToken makes a token.
func (c *Client) MakeToken(ctx context.Context, n NewToken) (*Token, error) {
	return do[Token](ctx, c, http.MethodPost, "/v1/tokens", n)
}

// RevokeToken takes a token back.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/v1/tokens/"+segment(id), nil, nil)
}

func raw(ctx context.Context, c *Client, method, path string, in any) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.call(ctx, method, path, in, &out)
	return out, err
}
