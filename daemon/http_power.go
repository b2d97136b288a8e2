package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// exports are the formats of an export and their types.
var exports = map[string]string{
	"jsonl": "application/jsonl", "json": "application/json", "text": "text/plain; charset=utf-8", "markdown": "text/markdown; charset=utf-8",
}

func (a *api) powerRoutes() []route {
	offered := []outcome.Outcome{outcome.NotOffered}
	return []route{
		{
			method: http.MethodGet, path: "/v1/sessions/{id}/export", id: "exportSession", tag: "sessions",
			doc: "A whole session, as holdfast sessions export writes it.", scope: auth.Read,
			query: []param{{name: "format", doc: "default jsonl: every record, one per line", oneOf: []string{"json", "jsonl", "markdown", "text"}}},
			types: []string{"application/jsonl", "text/plain", "text/markdown"}, problems: append(offered, outcome.NotFound), serve: a.export,
		},
		{
			method: http.MethodGet, path: "/v1/audit", id: "listAudit", tag: "audit",
			doc:   "Evidence of one session, the newest when none is named, oldest first: as holdfast audit show --json.",
			scope: auth.Read, answer: listOf[json.RawMessage]{}, problems: append(offered, outcome.NotFound), serve: a.audit,
			query: paged(
				param{name: "session", doc: "of this session"},
				param{name: "kind", doc: "only of this kind: decision, call, question, policy …"},
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
	_, err = a.o.Power.Export(c.ctx(), m.ID, format, func(b []byte) error {
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
	list, next, err := a.o.Power.Evidence(c.ctx(), EvidenceQuery{
		Session: c.query["session"], Kind: c.query["kind"], After: after, Limit: c.limit(defaultLimit),
	})
	if err != nil {
		return err
	}
	return c.json(listOf[json.RawMessage]{append([]json.RawMessage{}, list...), c.cursor(next)})
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
