package daemon

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// maxScanned is the maximum number of records that one request reads if it filters by kind.
const maxScanned = 10_000

func (a *service) events(c *call) error {
	m, err := a.meta(c)
	live := c.accepts(routes.EventStream)
	if errors.Is(err, session.ErrNotFound) && live && a.isPrepared(c.ctx(), c.path("id")) {
		m, err = session.Meta{ID: c.path("id")}, nil // the run of the session has not started
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
	after := c.number("after", 0)
	if after > m.Head {
		return refuse(outcome.Usage, "after is "+strconv.FormatInt(after, 10)+", but the last record is "+strconv.FormatInt(m.Head, 10), "")
	}
	limit := c.limit()
	if after < 0 {
		if _, given := c.query["limit"]; !given {
			limit = int(min(-after, routes.MaxLimit))
		}
		if after, err = a.tailStart(c.ctx(), m, -after, kinds); err != nil {
			return err
		}
	}
	page, err := a.eventPage(c.ctx(), m, after, limit, kinds)
	if err != nil {
		return err
	}
	return c.json(page)
}

// kindsOf parses a list of record kinds; a nil result means all kinds.
func kindsOf(s string) ([]session.Kind, error) {
	if s == "" {
		return nil, nil
	}
	var list []session.Kind
	for part := range strings.SplitSeq(s, ",") {
		k := strings.TrimSpace(part)
		if !slices.Contains(record.Kinds(), k) {
			return nil, refuse(outcome.Usage, "unknown record kind "+strconv.Quote(part), "one of "+strings.Join(record.Kinds(), ", "))
		}
		list = append(list, session.Kind(k))
	}
	return list, nil
}

// tailStart returns the seq before the last n records of some kinds.
func (a *service) tailStart(ctx context.Context, m session.Meta, n int64, kinds []session.Kind) (int64, error) {
	if kinds == nil || slices.Contains(kinds, record.KindRunEvent) {
		return max(0, m.Head-n), nil
	}
	after := m.Head
	for r, err := range a.o.Sessions.Records(ctx, m.ID, session.Range{Until: m.Head, Reverse: true, Limit: maxScanned}) {
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

func (a *service) eventPage(ctx context.Context, m session.Meta, after int64, limit int, kinds []session.Kind) (*api.Records, error) {
	page := &api.Records{Items: []api.Record{}, Next: after, Head: m.Head}
	n := 0
	for r, err := range a.o.Sessions.Records(ctx, m.ID, session.Range{After: after, Until: m.Head}) {
		if errors.Is(err, session.ErrCorrupt) {
			continue // return the other records; `sessions verify` reports the damaged one
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
		if n++; len(page.Items) >= limit || n >= maxScanned {
			break
		}
	}
	return page, nil
}

// eventsOf returns the records of a feed event, filtered by kind. If kinds is nil, it returns all.
func eventsOf(e *feed.Event, kinds []session.Kind) []api.Record {
	var list []api.Record
	for i := range e.Records {
		r := &e.Records[i]
		if kinds != nil && !slices.Contains(kinds, r.Kind) {
			continue
		}
		ev := api.Record{Seq: e.Seq, More: true, ID: r.ID, Time: r.Time, Kind: r.Kind, Payload: r.Payload}
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
