package daemon

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// maxSearched is the maximum number of sessions that one request with q reads. It reads them in
// groups of chunk sessions.
const (
	maxSearched = 2000
	chunk       = 200
)

func (a *service) sessionHandlers() map[string]func(*call) error {
	return map[string]func(*call) error{
		"listSessions":  a.listSessions,
		"getSession":    a.getSession,
		"patchSession":  a.patchSession,
		"deleteSession": a.deleteSession,
		"forkSession":   a.forkSession,
		"rewindSession": a.rewindSession,
		"listEvents":    a.events,
	}
}

// apiSession returns a session in the format of the API. The parameter asking is the result of
// [session.Sessions.OpenApprovals].
func (a *service) apiSession(ctx context.Context, m session.Meta, asking map[string]int) (api.Session, error) {
	status, err := a.o.Runs.StatusOf(ctx, m, asking)
	if err != nil && !errors.Is(err, session.ErrNotFound) { // ErrNotFound: it was deleted meanwhile
		return api.Session{}, err
	}
	s := api.Session{Meta: m, Status: status.Status}
	s.OpenApprovals = status.Approvals
	if l, err := a.o.Sessions.Lease(ctx, m.ID); err == nil && l != nil {
		s.HeldBy = &api.LeaseHolder{Host: l.Holder.Host, PID: l.Holder.PID, Command: l.Holder.Command, Since: l.Since, Here: a.o.Sessions.OwnsLease(l)}
	}
	return s, nil
}

func (a *service) listSessions(c *call) error {
	after, err := c.after()
	if err != nil {
		return err
	}
	limit := c.limit()
	q := session.Query{
		CWD: c.query["cwd"], Project: c.query["project"], Tag: c.query["tag"], Run: c.query["run"], Owner: c.query["owner"],
		WithApprovals: c.query["asked"] == "true", Limit: limit, After: after,
	}
	asking, err := a.o.Sessions.OpenApprovals(c.ctx())
	if err != nil {
		return err
	}
	out := api.Page[api.Session]{Items: []api.Session{}}
	words := strings.ToLower(c.query["q"])
	q.Unowned = q.Owner == "" && !q.WithApprovals && c.query["agents"] != "true"
	for searched := 0; ; {
		if words != "" {
			q.Limit = chunk
		}
		page, err := a.o.Sessions.List(c.ctx(), q)
		if err != nil {
			return err
		}
		n := 0
		for ; n < len(page.Sessions) && len(out.Items) < limit; n++ {
			if words != "" && !matchesSearch(page.Sessions[n], words) {
				continue
			}
			s, err := a.apiSession(c.ctx(), page.Sessions[n], asking)
			if err != nil {
				return err
			}
			out.Items = append(out.Items, s)
		}
		if n < len(page.Sessions) { // get from the store the cursor after n sessions
			q.Limit = n
			if page, err = a.o.Sessions.List(c.ctx(), q); err != nil {
				return err
			}
		}
		searched += n
		if q.After = page.Next; q.After == "" || len(out.Items) >= limit || words == "" || searched >= maxSearched {
			out.Next = c.cursor(page.Next)
			return c.json(out)
		}
	}
}

// matchesSearch reports whether one of a session's searched fields contains words, which are in lower case.
func matchesSearch(m session.Meta, words string) bool {
	for _, s := range []string{m.ID, m.Title, m.FirstPrompt, m.Summary, m.Tag, m.CWD} {
		if strings.Contains(strings.ToLower(s), words) {
			return true
		}
	}
	return false
}

func (a *service) getSession(c *call) error {
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	return a.writeSession(c, c.route.Success(), m)
}

// meta returns the session in the path.
func (a *service) meta(c *call) (session.Meta, error) {
	id := c.path("id")
	if err := session.CheckID(id); err != nil {
		return session.Meta{}, err
	}
	m, err := a.o.Sessions.Get(c.ctx(), id)
	if err != nil {
		return m, err
	}
	return m, nil
}

func (a *service) writeSession(c *call, status int, m session.Meta) error {
	return a.writeFork(c, status, m, session.NotInherited{})
}

// writeFork answers with a session and with what the session did not inherit.
func (a *service) writeFork(c *call, status int, m session.Meta, missing session.NotInherited) error {
	asking, err := a.o.Sessions.OpenApprovals(c.ctx())
	if err != nil {
		return err
	}
	s, err := a.apiSession(c.ctx(), m, asking)
	if err != nil {
		return err
	}
	if missing != (session.NotInherited{}) {
		s.NotInherited = &missing
	}
	c.header("ETag", etag(m.Head))
	return c.jsonAs(status, s)
}

func etag(n int64) string { return `"` + strconv.FormatInt(n, 10) + `"` }

// parseIfMatch parses If-Match, which contains the version that the change applies to. ok is false if it
// is missing or "*".
func (c *call) parseIfMatch() (n int64, ok bool, err error) {
	v := c.r.Header.Get("If-Match")
	if v == "" || v == "*" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(v, `"`), `"`), 10, 64)
	if err != nil || etag(n) != v {
		return 0, false, refuse(outcome.Usage, "If-Match is "+v+", which is not an ETag", `send the ETag of the earlier answer, such as "12"`)
	}
	return n, true, nil
}

const maxText = 4 << 10 // bytes of a title, tag or summary

func (a *service) patchSession(c *call) error {
	var p api.SessionPatch
	if err := c.into(&p); err != nil {
		return err
	}
	for _, s := range []*string{p.Title, p.Tag, p.Summary} {
		if s == nil {
			continue
		}
		if len(*s) > maxText {
			return refuse(outcome.Usage, "title, tag and summary may have at most "+strconv.Itoa(maxText)+" bytes", "")
		}
		*s = a.redact(*s)
	}
	if p == (api.SessionPatch{}) {
		return refuse(outcome.Usage, "nothing to change", "set title, tag or summary")
	}
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	patch := session.MetaPatch{Title: p.Title, Tag: p.Tag, Summary: p.Summary, By: c.caller.Name}
	if err := a.patch(c, m.ID, patch); err != nil {
		return err
	}
	if m, err = a.o.Sessions.Get(c.ctx(), m.ID); err != nil {
		return err
	}
	return a.writeSession(c, c.route.Success(), m)
}

// patch changes title, tag and summary. With If-Match, it does so only if the session has not
// changed.
func (a *service) patch(c *call, id string, p session.MetaPatch) error {
	head, only, err := c.parseIfMatch()
	if err != nil {
		return err
	}
	if !only {
		return a.o.Sessions.Patch(c.ctx(), id, p)
	}
	d, err := session.NewDraft(record.KindMetaChanged, p)
	if err != nil {
		return err
	}
	if _, err = a.o.Sessions.AppendShared(c.ctx(), id, head, d); errors.Is(err, session.ErrConflict) {
		return a.preconditionFailed(c, id)
	}
	return err
}

func (a *service) preconditionFailed(c *call, id string) error {
	detail := "the session has changed since it was read"
	if m, err := a.o.Sessions.Get(c.ctx(), id); err == nil {
		detail += ": its ETag is " + etag(m.Head)
	}
	return refuse(outcome.Stale, detail, "GET the session again")
}

func (a *service) deleteSession(c *call) error {
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	head, only, err := c.parseIfMatch()
	if err != nil {
		return err
	}
	if only && head != m.Head {
		return a.preconditionFailed(c, m.ID)
	}
	if err := a.checkIdle(m); err != nil {
		return err
	}
	if err := a.o.Sessions.DeleteFamily(c.ctx(), m.ID); err != nil {
		return err
	}
	return c.noContent()
}

// checkIdle returns an error while the run of a session is running.
func (a *service) checkIdle(m session.Meta) error {
	run := runOf(m)
	if !a.o.Runs.Busy(run) {
		return nil
	}
	what := "session " + m.ID + " is running"
	if run != m.ID {
		what = "session " + m.ID + " belongs to run " + run + ", which is running"
	}
	return refuse(outcome.Busy, what, "stop the run first: POST /v1/runs/"+run+"/stop")
}

func (a *service) forkSession(c *call) error {
	var f api.Fork
	if err := c.into(&f); err != nil {
		return err
	}
	if f.At != "" && f.Seq != nil {
		return refuse(outcome.Usage, "at and seq cannot be used together", "")
	}
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	o := &session.ForkOptions{ID: f.SessionID, ItemID: f.At, Title: a.redact(f.Title), User: c.caller.Name, Grants: f.WithGrants}
	if f.Seq != nil {
		if o.ItemID, err = a.itemAt(c.ctx(), m, *f.Seq); err != nil {
			return err
		}
	}
	id, err := a.o.Sessions.Fork(c.ctx(), m.ID, o)
	if err != nil {
		return err
	}
	c.header("Location", "/v1/sessions/"+id)
	return a.repeatFork(c, id)
}

// repeatFork answers a repeated request with the fork that the first request created.
func (a *service) repeatFork(c *call, id string) error {
	var f api.Fork
	if err := c.into(&f); err != nil {
		return err
	}
	m, err := a.o.Sessions.Get(c.ctx(), id)
	if err != nil {
		return err
	}
	if f.WithGrants {
		return a.writeSession(c, c.route.Success(), m)
	}
	missing, err := a.o.Sessions.NotInheritedByFork(c.ctx(), m.Parent)
	if err != nil {
		return err
	}
	return a.writeFork(c, c.route.Success(), m, missing)
}

// itemAt returns the last item of the transcript as of a record.
func (a *service) itemAt(ctx context.Context, m session.Meta, seq int64) (string, error) {
	if seq < 1 || seq > m.Head {
		return "", refuse(outcome.Usage, "no record "+strconv.FormatInt(seq, 10), "records have the numbers 1 to "+strconv.FormatInt(m.Head, 10))
	}
	state, err := a.o.Sessions.StateAt(ctx, m.ID, seq)
	if err != nil {
		return "", err
	}
	if len(state.Items) == 0 {
		return "", refuse(outcome.Usage, "the transcript is empty at record "+strconv.FormatInt(seq, 10), "start a new run instead")
	}
	return state.Items[len(state.Items)-1].ID(), nil
}
