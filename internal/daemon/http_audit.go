package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
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

// audit lists the entries of one session or of all sessions, oldest session first. The cursor after
// a page is "SESSION@N": N entries of that session were sent.
func (a *service) audit(c *call) error {
	after, err := c.after()
	if err != nil {
		return err
	}
	one, kind := c.query["session"], c.query["kind"]
	if kind == audit.KindAccess && !c.caller.HasScope(api.ScopeAdmin) {
		return refuse(outcome.Denied, "the log of logins and tokens needs the scope admin", "holdfast daemon token create --scope admin NAME")
	}
	p := auditPage{in: a.o.Sessions, o: &audit.ReadOptions{}, limit: c.limit(), items: []json.RawMessage{}}
	if kind != "" {
		if !slices.Contains(audit.Kinds(), kind) {
			return outcome.Invalid(strconv.Quote(kind)+" is not a kind of audit entry", "use "+strings.Join(audit.Kinds(), ", "))
		}
		p.o.Kinds = []string{kind}
	}
	if kind == audit.KindAccess && one == "" {
		in, _, done, err := stores.OpenAccess(a.o.Env)
		if errors.Is(err, session.ErrNotFound) {
			return c.json(api.Page[json.RawMessage]{Items: p.items})
		}
		if err != nil {
			return err
		}
		defer done()
		p.in = in
	}
	list, sent, err := p.remaining(c.ctx(), one, after)
	for i := 0; err == nil && i < len(list) && p.next == ""; i++ {
		err = p.add(c.ctx(), list[i].ID, sent)
		sent = 0
	}
	if err != nil {
		return err
	}
	return c.json(api.Page[json.RawMessage]{Items: p.items, Next: c.cursor(p.next)})
}

// auditPage is a page of audit entries that is being built.
type auditPage struct {
	in    *session.Sessions
	o     *audit.ReadOptions
	limit int // 0: no limit

	items []json.RawMessage
	next  string // cursor of the next page; "": none
}

// remaining returns the sessions whose entries were not all sent. It also returns how many entries
// of the first of these sessions were already sent.
func (p *auditPage) remaining(ctx context.Context, one, after string) (list []session.Meta, sent int, err error) {
	if one != "" {
		m, err := p.in.Get(ctx, one)
		if err != nil {
			return nil, 0, err
		}
		list = []session.Meta{m}
	} else if list, err = audit.OldestFirst(ctx, p.in); err != nil {
		return nil, 0, err
	}
	if after == "" {
		return list, 0, nil
	}
	id, count, ok := strings.Cut(after, "@")
	sent, err = strconv.Atoi(count)
	if !ok || err != nil || sent < 0 {
		return nil, 0, outcome.Invalid("invalid cursor", "restart the list without a cursor")
	}
	for i, m := range list {
		if m.ID == id {
			return list[i:], sent, nil
		}
	}
	return nil, 0, &outcome.Failure{Message: "the session of the cursor no longer exists", Advice: "restart the list without a cursor", Result: outcome.NotFound, Cause: session.ErrNotFound}
}

// add adds the entries of a session until the page is full. It leaves out the entries that were
// already sent. Damaged records are omitted; verification reports them.
func (p *auditPage) add(ctx context.Context, id string, sent int) error {
	n := 0
	for e, err := range audit.Read(ctx, p.in, id, p.o) {
		if errors.Is(err, session.ErrCorrupt) {
			continue
		}
		if err != nil {
			return err
		}
		if n++; n <= sent {
			continue
		}
		if p.limit > 0 && len(p.items) == p.limit {
			p.next = fmt.Sprintf("%s@%d", id, n-1)
			return nil
		}
		b, err := audit.Canonical(&e)
		if err != nil {
			return err
		}
		p.items = append(p.items, b)
	}
	return nil
}

func (a *service) verify(c *call) error {
	var q routes.AuditCheck
	if err := c.into(&q); err != nil {
		return err
	}
	r, err := stores.Verify(c.ctx(), a.o.Env, a.o.Store.ReopenURL(), a.o.Sessions, &audit.VerifyOptions{Session: q.Session})
	return c.document(r, err)
}
