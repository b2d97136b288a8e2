package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
)

// export streams an export while it is being written. If it fails in the middle, the connection is
// cut off, so that the client notices that the export is incomplete.
func (a *service) export(c *call) error {
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
	err = convert.Export(c.ctx(), writerFunc(func(b []byte) (int, error) {
		if !began {
			begin()
		}
		if c.r.Method == http.MethodHead {
			return len(b), nil
		}
		_ = control.SetWriteDeadline(time.Now().Add(a.streamTimeout))
		return c.w.Write(b)
	}), a.o.Sessions, m.ID, convert.Format(format))
	switch {
	case err != nil && !began:
		return err
	case err != nil:
		a.log.WarnContext(c.ctx(), "an export was cut off", "session", m.ID, "error", err)
		panic(http.ErrAbortHandler)
	case !began:
		begin()
	}
	return nil
}

// writerFunc is a function that implements [io.Writer].
type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(b []byte) (int, error) { return w(b) }

// fileName returns an id in characters that every file system accepts.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, id)
}

func (a *service) search(c *call) error {
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
				return refuse(outcome.Usage, name+" is not a time", "write it as 2026-11-20T15:04:05Z")
			}
		}
	}
	found, err := stores.Search(c.ctx(), a.o.Env, a.o.Store, a.o.Sessions.Store(), q, false)
	if err != nil {
		return err
	}
	return c.json(api.Page[session.Hit]{Items: found.Hits, Next: c.cursor(found.Next)})
}
