package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/audit"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

const jsonLines = "application/jsonl"

// exports are the formats of an export and their types.
var exports = map[string]string{
	"jsonl": jsonLines, "claude": jsonLines, "codex": jsonLines, "open-agent-sdk": "application/json",
	"text": "text/plain; charset=utf-8", "markdown": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8",
}

func (a *api) powerRoutes() []route {
	offered := []outcome.Outcome{outcome.NotOffered}
	return []route{
		{
			method: http.MethodGet, path: "/v1/sessions/{id}/export", id: "exportSession", tag: "sessions",
			doc: "A whole session, as holdfast sessions export writes it.", scope: auth.Read,
			query: []param{{name: "format", doc: "default jsonl: every record, one per line", oneOf: slices.Sorted(maps.Keys(exports))}},
			types: []string{jsonLines, "application/json", "text/plain", "text/markdown", "text/html"}, problems: append(offered, outcome.NotFound), serve: a.export,
		},
		{
			method: http.MethodGet, path: "/v1/audit", id: "listAudit", tag: "audit",
			doc:   "Evidence of one session, the newest when none is named, oldest first: as holdfast audit show --json.",
			scope: auth.Read, answer: listOf[json.RawMessage]{}, problems: append(offered, outcome.NotFound), serve: a.audit,
			query: paged(
				param{name: "session", doc: "of this session"},
				param{name: "kind", doc: "only of this kind: decision, effect, approval, policy …; access is the log of logins and tokens, for the scope admin"},
			),
		},
		{
			method: http.MethodGet, path: "/v1/search", id: "searchTranscripts", tag: "sessions",
			doc: "Items with all of the words, the newest first, each with its session, seq and an excerpt. A \"phrase\" stands together, " +
				"dep* is the beginning of a word; case and accents do not count.",
			scope: auth.Read, answer: listOf[session.Hit]{}, problems: offered, serve: a.search,
			query: paged(
				param{name: "q", doc: "the words; needed"},
				param{name: "tool", doc: "in uses and results of this tool only"},
				param{name: "role", doc: "in items of this role only", oneOf: []string{"assistant", "tool", "user"}},
				param{name: "session", doc: "in this session only"},
				param{name: "project", doc: "in sessions of this project only"},
				param{name: "cwd", doc: "in sessions of this folder only"},
				param{name: "since", doc: "from then on: RFC 3339"},
				param{name: "until", doc: "before then: RFC 3339"},
			),
		},
		{
			method: http.MethodPost, path: "/v1/audit/verify", id: "verifyAudit", tag: "audit",
			doc:   "Checks a session, or all, against the trail: as holdfast audit verify --json.",
			scope: auth.Read, body: verifyRequest{}, answer: json.RawMessage(nil), problems: append(offered, outcome.NotFound), serve: a.verify,
		},
		{
			method: http.MethodGet, path: "/v1/doctor", id: "getDoctor", tag: "health",
			doc:   "What the machine and the setup offer: as holdfast doctor --json.",
			scope: auth.Read, answer: json.RawMessage(nil), problems: offered, serve: a.doctor,
		},
	}
}

func (a *api) doctor(c *call) error {
	if a.o.Power.Doctor == nil {
		return notOffered()
	}
	return c.made(a.o.Power.Doctor(c.ctx()))
}

// export passes a session on as it is written. When something fails in the middle the
// connection is cut, so that nobody takes half for the whole.
func (a *api) export(c *call) error {
	if a.o.Power.Export == nil {
		return notOffered()
	}
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	format := c.query["format"]
	if format == "" {
		format = "jsonl"
	}
	control := http.NewResponseController(c.w)
	began := false
	begin := func() {
		began = true
		c.header("Content-Type", exports[format])
		c.header("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.%s"`, fileName(m.ID), format))
		c.w.WriteHeader(http.StatusOK)
	}
	err = a.o.Power.Export(c.ctx(), m.ID, format, func(b []byte) error {
		if !began {
			begin()
		}
		if c.r.Method == http.MethodHead {
			return nil
		}
		_ = control.SetWriteDeadline(time.Now().Add(a.patience))
		_, err := c.w.Write(b)
		return err
	})
	switch {
	case err != nil && !began:
		return err
	case err != nil:
		a.log.WarnContext(c.ctx(), "an export was cut", "session", m.ID, "error", err)
		panic(http.ErrAbortHandler)
	case !began:
		begin()
	}
	return nil
}

// fileName is an id as every file system takes it.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, id)
}

func (a *api) audit(c *call) error {
	if a.o.Power.Evidence == nil {
		return notOffered()
	}
	after, err := c.after()
	if err != nil {
		return err
	}
	if c.query["kind"] == audit.KindAccess && !c.caller.May(auth.Admin) {
		return refuse(outcome.Denied, "who came in, and from where, is for those with the scope admin", "holdfast daemon token create --scope admin NAME")
	}
	list, next, err := a.o.Power.Evidence(c.ctx(), EvidenceQuery{
		Session: c.query["session"], Kind: c.query["kind"], After: after, Limit: c.limit(defaultLimit),
	})
	if err != nil {
		return err
	}
	return c.json(listOf[json.RawMessage]{append([]json.RawMessage{}, list...), c.cursor(next)})
}

func (a *api) search(c *call) error {
	if a.o.Power.Search == nil {
		return notOffered()
	}
	after, err := c.after()
	if err != nil {
		return err
	}
	q := session.Search{
		Words: c.query["q"], Tool: c.query["tool"], Role: c.query["role"], Session: c.query["session"],
		Project: c.query["project"], CWD: c.query["cwd"], Limit: c.limit(defaultLimit), After: after,
	}
	for name, to := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if text := c.query[name]; text != "" {
			if *to, err = time.Parse(time.RFC3339, text); err != nil {
				return refuse(outcome.Usage, name+" is no time", "write 2026-11-20T15:04:05Z")
			}
		}
	}
	found, err := a.o.Power.Search(c.ctx(), q)
	if err != nil {
		return err
	}
	return c.json(listOf[session.Hit]{found.Hits, c.cursor(found.Next)})
}

type verifyRequest struct {
	Session string `json:"session,omitempty" jsonschema:"all sessions otherwise"`
}

func (a *api) verify(c *call) error {
	if a.o.Power.Verify == nil {
		return notOffered()
	}
	var q verifyRequest
	if err := c.into(&q); err != nil {
		return err
	}
	return c.made(a.o.Power.Verify(c.ctx(), q.Session))
}
