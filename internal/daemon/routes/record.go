package routes

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/session"
)

// ExportTypes are the formats of an export, and their content types.
func ExportTypes() map[string]string {
	return map[string]string{
		"jsonl": jsonLines, "claude": jsonLines, "codex": jsonLines, "open-agent-sdk": "application/json",
		"text": "text/plain; charset=utf-8", "markdown": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8",
	}
}

// AuditCheck names what is checked against the audit trail.
type AuditCheck struct {
	Session string `json:"session,omitempty" jsonschema:"left out: all sessions"`
}

// recordRoutes are those that read what sessions recorded: exports, the audit trail, search.
func recordRoutes() []Route {
	var formats []string
	for name := range ExportTypes() {
		formats = append(formats, name)
	}
	slices.Sort(formats)
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/sessions/{id}/export", ID: "exportSession", Tag: "sessions",
			Doc: "A whole session, as holdfast sessions export writes it.", Scope: api.ScopeRead,
			Query: []Param{{Name: "format", Doc: "default jsonl: every record, one per line", Enum: formats}},
			Types: []string{jsonLines, "application/json", "text/plain", "text/markdown", "text/html"}, Problems: one(),
		},
		{
			Method: http.MethodGet, Path: "/v1/audit", ID: "listAudit", Tag: "audit",
			Doc:   "Evidence of one session, the newest when none is named, oldest first, as holdfast audit show --json prints it.",
			Scope: api.ScopeRead, Response: api.Page[json.RawMessage]{}, Problems: one(),
			Query: paged(
				Param{Name: "session", Doc: "of this session"},
				Param{Name: "kind", Doc: "only of this kind: decision, effect, approval, policy …; access is the log of logins and tokens, for the scope admin"},
			),
		},
		{
			Method: http.MethodGet, Path: "/v1/search", ID: "searchTranscripts", Tag: "sessions",
			Doc: "Items with all of the words, newest first, each with its session, seq and an excerpt. A \"phrase\" is found as it is, " +
				"dep* is the beginning of a word; case and accents do not matter.",
			Scope: api.ScopeRead, Response: api.Page[session.Hit]{},
			Query: paged(
				Param{Name: "q", Doc: "the words; needed"},
				Param{Name: "tool", Doc: "in uses and results of this tool only"},
				Param{Name: "role", Doc: "in items of this role only", Enum: []string{"assistant", "tool", "user"}},
				Param{Name: "session", Doc: "in this session only"},
				Param{Name: "project", Doc: "in sessions of this project only"},
				Param{Name: "cwd", Doc: "in sessions of this folder only"},
				Param{Name: "since", Doc: "from then on: RFC 3339"},
				Param{Name: "until", Doc: "before then: RFC 3339"},
			),
		},
		{
			Method: http.MethodPost, Path: "/v1/audit/verify", ID: "verifyAudit", Tag: "audit",
			Doc:   "Checks a session, or all, against the trail, as holdfast audit verify --json does.",
			Scope: api.ScopeRead, Body: AuditCheck{}, OptionalBody: true, Response: json.RawMessage(nil), Problems: one(),
		},
	}
}
