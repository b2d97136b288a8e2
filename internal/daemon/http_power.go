package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

func (a *service) recordHandlers() map[string]func(*call) error {
	return map[string]func(*call) error{
		"exportSession":     a.export,
		"listAudit":         a.audit,
		"searchTranscripts": a.search,
		"verifyAudit":       a.verify,
	}
}

func (a *service) doctor(c *call) error {
	if a.o.Power.Doctor == nil {
		return notOffered()
	}
	return c.made(a.o.Power.Doctor(c.ctx()))
}

// export passes a session on as it is written. When something fails in the middle the
// connection is cut, so that nobody takes half for the whole.
func (a *service) export(c *call) error {
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
		c.header("Content-Type", routes.ExportTypes()[format])
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

func (a *service) audit(c *call) error {
	if a.o.Power.Evidence == nil {
		return notOffered()
	}
	after, err := c.after()
	if err != nil {
		return err
	}
	if c.query["kind"] == audit.KindAccess && !c.caller.May(api.ScopeAdmin) {
		return refuse(outcome.Denied, "who came in, and from where, is for those with the scope admin", "holdfast daemon token create --scope admin NAME")
	}
	list, next, err := a.o.Power.Evidence(c.ctx(), EvidenceQuery{
		Session: c.query["session"], Kind: c.query["kind"], After: after, Limit: c.limit(),
	})
	if err != nil {
		return err
	}
	return c.json(api.Page[json.RawMessage]{Items: append([]json.RawMessage{}, list...), Next: c.cursor(next)})
}

func (a *service) search(c *call) error {
	if a.o.Power.Search == nil {
		return notOffered()
	}
	after, err := c.after()
	if err != nil {
		return err
	}
	q := session.Search{
		Words: c.query["q"], Tool: c.query["tool"], Role: c.query["role"], Session: c.query["session"],
		Project: c.query["project"], CWD: c.query["cwd"], Limit: c.limit(), After: after,
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
	return c.json(api.Page[session.Hit]{Items: found.Hits, Next: c.cursor(found.Next)})
}

func (a *service) verify(c *call) error {
	if a.o.Power.Verify == nil {
		return notOffered()
	}
	var q routes.AuditCheck
	if err := c.into(&q); err != nil {
		return err
	}
	return c.made(a.o.Power.Verify(c.ctx(), q.Session))
}
