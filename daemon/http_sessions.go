package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// searched bounds how many sessions one request with q looks at, chunk of them at once.
const (
	searched = 2000
	chunk    = 200
)

func (a *api) sessionRoutes() []route {
	one := []outcome.Outcome{outcome.NotFound}
	return []route{
		{
			method: http.MethodGet, path: "/v1/sessions", id: "listSessions", tag: "sessions",
			doc: "Sessions, those updated last first. With q a page may be short, or empty, and have a next one all the same: " +
				"what one request looks through is bounded.",
			scope: auth.Read, answer: listOf[Session]{}, serve: a.listSessions,
			query: paged(
				param{name: "q", doc: "looked for in id, title, first prompt, summary, tag and folder, whatever the capitals"},
				param{name: "cwd", doc: "only of this folder"}, param{name: "project", doc: "only of this project"},
				param{name: "tag", doc: "only with this tag"},
				param{
					name: "run", doc: "only where the run has this status on record; * is any. One that waits is running, mostly with asked=true",
					oneOf: append(recordedStatuses(), "*"),
				},
				param{name: "owner", doc: "only those of the agents of this run"},
				param{name: "agents", doc: "also those of agents that work for a run; with owner or asked they are there anyway", kind: "boolean"},
				param{name: "asked", doc: "only those with open questions", kind: "boolean"},
			),
		},
		{
			method: http.MethodGet, path: "/v1/sessions/{id}", id: "getSession", tag: "sessions", doc: "One session.",
			scope: auth.Read, answer: Session{}, problems: one, serve: a.getSession,
		},
		{
			method: http.MethodPatch, path: "/v1/sessions/{id}", id: "patchSession", tag: "sessions",
			doc:   "Title, tag and summary; an empty text clears one.",
			scope: auth.Run, header: []param{ifMatch}, body: sessionPatch{}, answer: Session{},
			problems: append(one, outcome.Stale), serve: a.patchSession,
		},
		{
			method: http.MethodDelete, path: "/v1/sessions/{id}", id: "deleteSession", tag: "sessions",
			doc:   "Deletes a session for good, and with a run's those of its agents. Forks keep what they need.",
			scope: auth.Admin, header: []param{ifMatch}, status: http.StatusNoContent,
			problems: append(one, outcome.Busy, outcome.Stale, outcome.NotOffered), serve: a.deleteSession,
		},
		{
			method: http.MethodPost, path: "/v1/sessions/{id}/fork", id: "forkSession", tag: "sessions",
			doc:   "Starts a session that shares the records of this one up to an item, or up to a record.",
			scope: auth.Run, body: forkRequest{}, status: http.StatusCreated, answer: Session{},
			problems: append(one, outcome.Conflict), serve: a.forkSession,
			again: func(c *call, first *kept) error {
				return a.tellForked(c, strings.TrimPrefix(first.location(), "/v1/sessions/"))
			},
		},
		{
			method: http.MethodPost, path: "/v1/sessions/{id}/rewind", id: "rewindSession", tag: "sessions",
			doc: "Takes files and transcript back to an earlier point, as holdfast sessions rewind does: says what it would do, and does it " +
				"when the digest of just that is sent with the same request.",
			scope: auth.Approve, body: Rewind{}, answer: json.RawMessage(nil),
			problems: append(one, outcome.Busy, outcome.Conflict, outcome.NotOffered), serve: a.rewindSession,
			again: func(c *call, _ *kept) error {
				return refuse(outcome.Conflict, "this request was served, and its answer is not kept", "GET /v1/sessions/"+c.path("id")+" shows where the session is now")
			},
		},
	}
}

// Session is a session as the interface shows it: its questions are also those of the
// agents that work for its run.
type Session struct {
	session.Meta
	Status wire.Status `json:"status,omitempty" jsonschema:"where its run stands: as run on record, or waiting for an answer or for input, or interrupted when nobody runs it"`
	HeldBy *HeldBy     `json:"held_by,omitempty" jsonschema:"the process that writes it"`

	LeftBehind *session.Left `json:"left_behind,omitempty" jsonschema:"of a fork that was just made: what was decided in its source and does not hold in it; with_grants takes it along"`
}

// HeldBy is who holds a session.
type HeldBy struct {
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Command string    `json:"command,omitempty"`
	Since   time.Time `json:"since"`
	Here    bool      `json:"here,omitempty" jsonschema:"it is this daemon"`
}

// shown is a session as it is shown; asking is [session.Sessions.Asking].
func (a *api) shown(ctx context.Context, m session.Meta, asking map[string]int) (Session, error) {
	stand, err := a.o.Runs.Stand(ctx, m, asking)
	if err != nil && !errors.Is(err, session.ErrNotFound) { // it was deleted meanwhile
		return Session{}, err
	}
	s := Session{Meta: m, Status: stand.Status}
	s.Questions = stand.Questions
	if l, err := a.o.Sessions.Held(ctx, m.ID); err == nil && l != nil {
		s.HeldBy = &HeldBy{Host: l.Holder.Host, PID: l.Holder.PID, Command: l.Holder.Command, Since: l.Since, Here: a.o.Sessions.Own(l)}
	}
	return s, nil
}

func (a *api) listSessions(c *call) error {
	after, err := c.after()
	if err != nil {
		return err
	}
	limit := c.limit(defaultLimit)
	q := session.Query{
		CWD: c.query["cwd"], Project: c.query["project"], Tag: c.query["tag"], Run: c.query["run"], Owner: c.query["owner"],
		Asked: c.query["asked"] == "true", Limit: limit, After: after,
	}
	asking, err := a.o.Sessions.Asking(c.ctx())
	if err != nil {
		return err
	}
	out := listOf[Session]{Items: []Session{}}
	words := strings.ToLower(c.query["q"])
	q.Unowned = q.Owner == "" && !q.Asked && c.query["agents"] != "true"
	for looked := 0; ; {
		if words != "" {
			q.Limit = chunk
		}
		page, err := a.o.Sessions.List(c.ctx(), q)
		if err != nil {
			return err
		}
		n := 0
		for ; n < len(page.Sessions) && len(out.Items) < limit; n++ {
			if words != "" && !has(page.Sessions[n], words) {
				continue
			}
			s, err := a.shown(c.ctx(), page.Sessions[n], asking)
			if err != nil {
				return err
			}
			out.Items = append(out.Items, s)
		}
		if n < len(page.Sessions) { // the store says where a page of so many ends
			q.Limit = n
			if page, err = a.o.Sessions.List(c.ctx(), q); err != nil {
				return err
			}
		}
		looked += n
		if q.After = page.Next; q.After == "" || len(out.Items) >= limit || words == "" || looked >= searched {
			out.Next = c.cursor(page.Next)
			return c.json(out)
		}
	}
}

// has reports whether a session has words, in small letters, where people look.
func has(m session.Meta, words string) bool {
	for _, s := range []string{m.ID, m.Title, m.FirstPrompt, m.Summary, m.Tag, m.CWD} {
		if strings.Contains(strings.ToLower(s), words) {
			return true
		}
	}
	return false
}

func (a *api) getSession(c *call) error {
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	return a.tellSession(c, c.route.success(), m)
}

// meta is the session of the path.
func (a *api) meta(c *call) (session.Meta, error) {
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

func (a *api) tellSession(c *call, status int, m session.Meta) error {
	return a.tellFork(c, status, m, session.Left{})
}

// tellFork tells of a session, and of what it begins without.
func (a *api) tellFork(c *call, status int, m session.Meta, left session.Left) error {
	asking, err := a.o.Sessions.Asking(c.ctx())
	if err != nil {
		return err
	}
	s, err := a.shown(c.ctx(), m, asking)
	if err != nil {
		return err
	}
	if left != (session.Left{}) {
		s.LeftBehind = &left
	}
	c.header("ETag", etag(m.Head))
	return c.jsonAs(status, s)
}

func etag(n int64) string { return `"` + strconv.FormatInt(n, 10) + `"` }

// matches reads If-Match: the number that the change is meant for; ok is false when
// it is left out, or is "*".
func (c *call) matches() (n int64, ok bool, err error) {
	v := c.r.Header.Get("If-Match")
	if v == "" || v == "*" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(v, `"`), `"`), 10, 64)
	if err != nil || etag(n) != v {
		return 0, false, refuse(outcome.Usage, "If-Match is "+v+", which is no ETag of this", `it is one ETag as it was told: "12"`)
	}
	return n, true, nil
}

type sessionPatch struct {
	Title   *string `json:"title,omitempty"`
	Tag     *string `json:"tag,omitempty"`
	Summary *string `json:"summary,omitempty"`
}

const maxText = 4 << 10 // bytes of a title, tag or summary

func (a *api) patchSession(c *call) error {
	var p sessionPatch
	if err := c.into(&p); err != nil {
		return err
	}
	for _, s := range []*string{p.Title, p.Tag, p.Summary} {
		if s == nil {
			continue
		}
		if len(*s) > maxText {
			return refuse(outcome.Usage, "title, tag and summary are at most "+strconv.Itoa(maxText)+" bytes", "")
		}
		*s = a.redact(*s)
	}
	if p == (sessionPatch{}) {
		return refuse(outcome.Usage, "there is nothing to change", "title, tag or summary")
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
	return a.tellSession(c, c.route.success(), m)
}

// patch changes what a list shows; with If-Match only when nothing came between.
func (a *api) patch(c *call, id string, p session.MetaPatch) error {
	head, only, err := c.matches()
	if err != nil {
		return err
	}
	if !only {
		return a.o.Sessions.Patch(c.ctx(), id, p)
	}
	d, err := session.NewDraft(session.KindMetaChanged, p)
	if err != nil {
		return err
	}
	if _, err = a.o.Sessions.AppendShared(c.ctx(), id, head, d); errors.Is(err, session.ErrConflict) {
		return a.stale(c, id)
	}
	return err
}

func (a *api) stale(c *call, id string) error {
	detail := "the session has changed since it was read"
	if m, err := a.o.Sessions.Get(c.ctx(), id); err == nil {
		detail += ": its ETag is " + etag(m.Head)
	}
	return refuse(outcome.Stale, detail, "GET it again")
}

func (a *api) deleteSession(c *call) error {
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	head, only, err := c.matches()
	if err != nil {
		return err
	}
	if only && head != m.Head {
		return a.stale(c, m.ID)
	}
	if err := a.idle(m); err != nil {
		return err
	}
	if err := a.o.Sessions.DeleteFamily(c.ctx(), m.ID); err != nil {
		return err
	}
	return c.none()
}

// idle refuses what must not happen to a session while the run that it works for runs.
func (a *api) idle(m session.Meta) error {
	run := runOf(m)
	if !a.o.Runs.Busy(run) {
		return nil
	}
	what := "session " + m.ID + " runs"
	if run != m.ID {
		what = "session " + m.ID + " works for run " + run + ", which runs"
	}
	return refuse(outcome.Busy, what, "stop it first: POST /v1/runs/"+run+"/stop")
}

type forkRequest struct {
	At        string `json:"at,omitempty" jsonschema:"keep the transcript up to this item"`
	Seq       *int64 `json:"seq,omitempty" jsonschema:"or up to this record"`
	Title     string `json:"title,omitempty"`
	SessionID string `json:"session_id,omitempty" jsonschema:"of the new session; one is made otherwise"`
	// WithGrants has it begin with what was decided in the source.
	WithGrants bool `json:"with_grants,omitempty" jsonschema:"begin with what was decided in the session: mode, grants, denials and changes of policy; without it the fork begins with none of them"`
}

func (a *api) forkSession(c *call) error {
	var f forkRequest
	if err := c.into(&f); err != nil {
		return err
	}
	if f.At != "" && f.Seq != nil {
		return refuse(outcome.Usage, "at and seq exclude each other", "")
	}
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	o := &session.ForkOptions{ID: f.SessionID, At: f.At, Title: a.redact(f.Title), User: c.caller.Name, Grants: f.WithGrants}
	if f.Seq != nil {
		if o.At, err = a.itemAt(c.ctx(), m, *f.Seq); err != nil {
			return err
		}
	}
	id, err := a.o.Sessions.Fork(c.ctx(), m.ID, o)
	if err != nil {
		return err
	}
	c.header("Location", "/v1/sessions/"+id)
	return a.tellForked(c, id)
}

// tellForked tells of the fork that a request has made.
func (a *api) tellForked(c *call, id string) error {
	var f forkRequest
	if err := c.into(&f); err != nil {
		return err
	}
	m, err := a.o.Sessions.Get(c.ctx(), id)
	if err != nil {
		return err
	}
	if f.WithGrants {
		return a.tellSession(c, c.route.success(), m)
	}
	left, err := a.o.Sessions.LeftBehind(c.ctx(), m.Parent)
	if err != nil {
		return err
	}
	return a.tellFork(c, c.route.success(), m, left)
}

// itemAt is the last item of the transcript as it was at a record.
func (a *api) itemAt(ctx context.Context, m session.Meta, seq int64) (string, error) {
	if seq < 1 || seq > m.Head {
		return "", refuse(outcome.Usage, "there is no record "+strconv.FormatInt(seq, 10), "they go from 1 to "+strconv.FormatInt(m.Head, 10))
	}
	state, err := session.Replay(ctx, a.o.Sessions.Records(ctx, m.ID, session.Range{Until: seq}))
	if err != nil {
		return "", err
	}
	if len(state.Items) == 0 {
		return "", refuse(outcome.Usage, "the transcript was still empty at record "+strconv.FormatInt(seq, 10), "start a new run instead")
	}
	return state.Items[len(state.Items)-1].ID(), nil
}

func (a *api) rewindSession(c *call) error {
	if a.o.Power.Rewind == nil {
		return notOffered()
	}
	var r Rewind
	if err := c.into(&r); err != nil {
		return err
	}
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	if r.Digest != "" {
		if err := a.idle(m); err != nil {
			return err
		}
	}
	return c.made(a.o.Power.Rewind(c.ctx(), m.ID, c.caller.Name, r))
}
