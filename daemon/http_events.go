package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// looked bounds how many records one request for events of some kinds looks at.
const looked = 10_000

func (a *api) eventRoutes() []route {
	return []route{{
		method: http.MethodGet, path: "/v1/sessions/{id}/events", id: "listEvents", tag: "sessions",
		doc: "The records of a session, oldest first, with those of a run's agents in their places; or, with Accept: " +
			"text/event-stream, the same as they come (also of a run that is only prepared): event record (id: its seq), delta, gap, caught_up, deleted, shutdown.",
		scope: auth.Read, answer: Events{}, types: []string{eventStream},
		problems: []outcome.Outcome{outcome.NotFound, outcome.Unavailable},
		query: []param{
			{
				name: "after", kind: "integer",
				doc: "begin behind this seq; -N: the last N. Default 0, and of a stream Last-Event-ID",
			},
			{name: "limit", doc: "how many records at most; default 50; not of a stream", kind: "integer", min: 1, max: maxLimit},
			{name: "kind", doc: "only records of these kinds, with commas between them"},
		},
		header: []param{{name: "Last-Event-ID", doc: "of a stream: begin behind this seq"}},
		serve:  a.events,
	}}
}

// Event is a record as the interface shows it.
type Event struct {
	Seq     int64           `json:"seq" jsonschema:"in the session that was asked for"`
	More    bool            `json:"more,omitempty" jsonschema:"another event of the same seq follows"`
	ID      string          `json:"id"`
	Time    time.Time       `json:"time"`
	Kind    session.Kind    `json:"kind"`
	Agent   string          `json:"agent,omitempty" jsonschema:"of a run with several agents: whose record it is"`
	Session string          `json:"session,omitempty" jsonschema:"and the session that it is in"`
	Origin  int64           `json:"session_seq,omitempty" jsonschema:"and its seq there"`
	Payload json.RawMessage `json:"payload" jsonschema:"docs/formats/session-log.md; null when it was erased"`
}

// Events is one page of a session's records.
type Events struct {
	Items []Event `json:"items"`
	Next  int64   `json:"next_after" jsonschema:"after, to go on"`
	Head  int64   `json:"head" jsonschema:"seq of the last record"`
}

func (a *api) events(c *call) error {
	m, err := a.meta(c)
	live := c.accepts(eventStream)
	if errors.Is(err, session.ErrNotFound) && live && a.prepared(c.ctx(), c.path("id")) {
		m, err = session.Meta{ID: c.path("id")}, nil // its run has not started
	}
	if err != nil {
		return err
	}
	kinds, err := kindsOf(c.query["kind"])
	if err != nil {
		return err
	}
	if live {
		return a.stream(c, m, kinds)
	}
	after := c.query.number("after", 0)
	if after > m.Head {
		return refuse(outcome.Usage, "after is "+strconv.FormatInt(after, 10)+", behind the last record, "+strconv.FormatInt(m.Head, 10), "")
	}
	limit := c.limit(defaultLimit)
	if after < 0 {
		if _, given := c.query["limit"]; !given {
			limit = int(min(-after, maxLimit))
		}
		if after, err = a.tail(c.ctx(), m, -after, kinds); err != nil {
			return err
		}
	}
	page, err := a.eventPage(c.ctx(), m, after, limit, kinds)
	if err != nil {
		return err
	}
	return c.json(page)
}

// kindsOf reads the list of kinds; nil is all.
func kindsOf(s string) ([]session.Kind, error) {
	if s == "" {
		return nil, nil
	}
	var list []session.Kind
	for part := range strings.SplitSeq(s, ",") {
		k := session.Kind(strings.TrimSpace(part))
		if !slices.Contains(session.Kinds(), k) {
			var all []string
			for _, k := range session.Kinds() {
				all = append(all, string(k))
			}
			return nil, refuse(outcome.Usage, "there is no kind "+strconv.Quote(part), "one of "+strings.Join(all, ", "))
		}
		list = append(list, k)
	}
	return list, nil
}

// tail is the seq that the last n records of some kinds come behind.
func (a *api) tail(ctx context.Context, m session.Meta, n int64, kinds []session.Kind) (int64, error) {
	if kinds == nil || slices.Contains(kinds, session.KindRunEvent) {
		return max(0, m.Head-n), nil
	}
	after := m.Head
	for r, err := range a.o.Sessions.Records(ctx, m.ID, session.Range{Until: m.Head, Reverse: true, Limit: looked}) {
		if err != nil && !errors.Is(err, session.ErrCorrupt) {
			return 0, err
		}
		if err != nil {
			continue
		}
		after = r.Seq - 1
		if slices.Contains(kinds, r.Kind) {
			if n--; n == 0 {
				break
			}
		}
	}
	return after, nil
}

func (a *api) eventPage(ctx context.Context, m session.Meta, after int64, limit int, kinds []session.Kind) (*Events, error) {
	page := &Events{Items: []Event{}, Next: after, Head: m.Head}
	n := 0
	for r, err := range a.o.Sessions.Records(ctx, m.ID, session.Range{After: after, Until: m.Head}) {
		if errors.Is(err, session.ErrCorrupt) {
			continue // `sessions verify` names it; the rest is worth having
		}
		if err != nil {
			return nil, err
		}
		e, err := feed.Unwrap(ctx, a.o.Sessions, m.ID, r)
		if err != nil {
			return nil, err
		}
		page.Items = append(page.Items, eventsOf(e, kinds)...)
		page.Next = r.Seq
		if n++; len(page.Items) >= limit || n >= looked {
			break
		}
	}
	return page, nil
}

// eventsOf shows the records of an event of a feed: those of the kinds, or all.
func eventsOf(e *feed.Event, kinds []session.Kind) []Event {
	var list []Event
	for i := range e.Records {
		r := &e.Records[i]
		if kinds != nil && !slices.Contains(kinds, r.Kind) {
			continue
		}
		ev := Event{Seq: e.Seq, More: true, ID: r.ID, Time: r.Time, Kind: r.Kind, Payload: r.Payload}
		if r.Session != e.Session {
			ev.Agent, ev.Session, ev.Origin = r.Agent, r.Session, r.Seq
		}
		list = append(list, ev)
	}
	if len(list) > 0 {
		list[len(list)-1].More = false
	}
	return list
}
