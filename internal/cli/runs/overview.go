package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/session"
)

// The groups of the list, in its order.
const (
	needsYou = "needs you"
	working  = "working"
	done     = "done"
)

// row is a session in the list.
type row struct {
	session.Meta
	Group   string              `json:"group"`
	State   string              `json:"state"`
	Pending []*approval.Request `json:"approvals,omitempty"` // oldest first, with those of sub-agents
	Holder  *session.Holder     `json:"holder,omitempty"`
	Since   *time.Time          `json:"held_since,omitempty"`
	Tokens  int64               `json:"tokens"` // with those of sub-agents
	CostUSD float64             `json:"cost_usd"`
	Calls   int                 `json:"model_calls"`
}

// overview reads the list. It keeps what it has read of the logs, for the next list.
type overview struct {
	sessions *session.Sessions
	clock    func() time.Time
	meters   map[string]*reading // by session
}

// reading is what was read of a log so far.
type reading struct {
	head  int64
	meter runlog.Meter
	total runlog.Charge
}

// doneWithin is how long the list shows a session that is done.
const doneWithin = 24 * time.Hour

// rows returns the rows in order, and all sessions of the store.
func (o *overview) rows(ctx context.Context, all bool) ([]*row, []session.Meta, error) {
	page, err := o.sessions.List(ctx, session.Query{Worktrees: true})
	if err != nil {
		return nil, nil, err
	}
	asking, err := o.sessions.OpenApprovals(ctx)
	if err != nil {
		return nil, nil, err
	}
	pending, err := o.pending(ctx, page.Sessions)
	if err != nil {
		return nil, nil, err
	}
	list := []*row{}
	for _, m := range page.Sessions {
		old := o.clock().Sub(m.UpdatedAt) > doneWithin && m.OpenApprovals+asking[m.ID] == 0 && m.Run != string(api.StatusRunning)
		if m.Owner != "" || old && !all {
			continue
		}
		r, err := o.row(ctx, m, asking, pending[m.ID])
		if errors.Is(err, session.ErrNotFound) { // deleted since the list was read
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, r)
	}
	order := []string{needsYou, working, done}
	slices.SortStableFunc(list, func(a, b *row) int {
		if c := cmp.Compare(slices.Index(order, a.Group), slices.Index(order, b.Group)); c != 0 {
			return c
		}
		if a.Group == needsYou { // who waits longest is first
			return a.waitsSince().Compare(b.waitsSince())
		}
		return b.UpdatedAt.Compare(a.UpdatedAt)
	})
	return list, page.Sessions, nil
}

// pending returns the pending approvals by the session of their run.
func (o *overview) pending(ctx context.Context, all []session.Meta) (map[string][]*approval.Request, error) {
	open, err := runlog.Pending(ctx, o.sessions, "")
	if err != nil && len(open) == 0 {
		return nil, err
	}
	owner := map[string]string{}
	for _, m := range all {
		owner[m.ID] = cmp.Or(m.Owner, m.ID)
	}
	slices.SortStableFunc(open, func(a, b approval.Request) int { return a.AskedAt.Compare(b.AskedAt) })
	of := map[string][]*approval.Request{}
	for i := range open {
		id := cmp.Or(owner[open[i].Session], open[i].Session)
		of[id] = append(of[id], &open[i])
	}
	return of, nil
}

func (o *overview) row(ctx context.Context, m session.Meta, asking map[string]int, pending []*approval.Request) (*row, error) {
	r := &row{Meta: m, Group: done, Pending: pending}
	var lease *session.Lease
	if r.State, lease = runlog.State(ctx, o.sessions, m, asking); lease != nil {
		r.Holder, r.Since = &lease.Holder, &lease.Since
	}
	switch r.State {
	case runlog.Waiting:
		r.Group = needsYou
	case runlog.Running:
		r.Group = working
	}
	total, err := o.total(ctx, m)
	if err != nil && !errors.Is(err, session.ErrCorrupt) {
		return nil, err
	}
	r.Tokens, r.CostUSD, r.Calls = total.Usage.Total(), total.CostUSD, total.ModelCalls
	return r, nil
}

// total returns the usage of a session and its sub-agents.
func (o *overview) total(ctx context.Context, m session.Meta) (runlog.Charge, error) {
	if o.meters == nil {
		o.meters = map[string]*reading{}
	}
	read := o.meters[m.ID]
	if read == nil || read.head > m.Head { // a deleted session was created again
		read = &reading{head: m.ParentSeq}
		o.meters[m.ID] = read
	}
	if read.head == m.Head {
		return read.total, nil
	}
	for rec, err := range o.sessions.Records(ctx, m.ID, session.Range{After: read.head}) {
		if err != nil {
			return read.total, err
		}
		if c, ok := read.meter.Read(rec); ok {
			read.total.Add(c)
		}
		read.head = rec.Seq
	}
	return read.total, nil
}

// waitsSince returns the time since which the session waits for the user.
func (r *row) waitsSince() time.Time {
	if len(r.Pending) > 0 {
		return r.Pending[0].AskedAt
	}
	return r.UpdatedAt
}
