package routes

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/session"
)

// ExportTypes maps export formats to content types.
func ExportTypes() map[string]string {
	return map[string]string{
		"jsonl": jsonLines, "claude": jsonLines, "codex": jsonLines, "open-agent-sdk": "application/json",
		"text": "text/plain; charset=utf-8", "markdown": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8",
	}
}

// AuditCheck says what to verify.
type AuditCheck struct {
	Session string `json:"session,omitempty" jsonschema:"default: all sessions"`
}

// recordRoutes are the routes that read recorded data: exports, the audit trail, search.
func recordRoutes() []Route {
	var formats []string
	for name := range ExportTypes() {
		formats = append(formats, name)
	}
	slices.Sort(formats)
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/sessions/{id}/export", ID: "exportSession", Tag: "sessions",
			Doc: "Exports a session, as holdfast sessions export does.", Scope: api.ScopeRead,
			Query: []Param{{Name: "format", Doc: "default: jsonl, every record, one per line", Enum: formats}},
			Types: []string{jsonLines, "application/json", "text/plain", "text/markdown", "text/html"}, Problems: orNotFound(),
		},
		{
			Method: http.MethodGet, Path: "/v1/audit", ID: "listAudit", Tag: "audit",
			Doc:   "Lists the audit entries of one session (default: the newest), oldest first, as holdfast audit show --json does.",
			Scope: api.ScopeRead, Response: api.Page[json.RawMessage]{}, Problems: orNotFound(),
			Query: paged(
				Param{Name: "session", Doc: "the session"},
				Param{Name: "kind", Doc: "only entries of this kind: decision, effect, approval, policy, …; access is the log of logins and tokens and needs the scope admin"},
			),
		},
		{
			Method: http.MethodGet, Path: "/v1/search", ID: "searchTranscripts", Tag: "sessions",
			Doc: "Finds items that have all of the words, newest first, each with its session, seq and an excerpt. A \"phrase\" matches exactly, " +
				"dep* matches the beginning of a word; case and accents are ignored.",
			Scope: api.ScopeRead, Response: api.Page[session.Hit]{},
			Query: paged(
				Param{Name: "q", Doc: "the words; required"},
				Param{Name: "tool", Doc: "only in uses and results of this tool"},
				Param{Name: "role", Doc: "only in items of this role", Enum: []string{"assistant", "tool", "user"}},
				Param{Name: "session", Doc: "only in this session"},
				Param{Name: "project", Doc: "only in sessions of this project"},
				Param{Name: "cwd", Doc: "only in sessions of this folder"},
				Param{Name: "since", Doc: "at or after this time (RFC 3339)"},
				Param{Name: "until", Doc: "before this time (RFC 3339)"},
			),
		},
		{
			Method: http.MethodPost, Path: "/v1/audit/verify", ID: "verifyAudit", Tag: "audit",
			Doc:   "Verifies one session or all sessions against the audit trail, as holdfast audit verify --json does.",
			Scope: api.ScopeRead, Body: AuditCheck{}, OptionalBody: true, Response: json.RawMessage(nil), Problems: orNotFound(),
		},
	}
}
