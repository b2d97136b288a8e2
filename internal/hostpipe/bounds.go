package hostpipe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// ErrRefused says that the process inside asked for what is not its own.
var ErrRefused = errors.New("not allowed to the agent inside")

func refused(op, id, detail string) error {
	return &session.Error{Op: op, Session: id, Err: ErrRefused, Detail: detail}
}

// limits is what one process may touch: its session, the sessions that this one owns
// ([session.Opened].Owner), and to read, what these were forked from, up to there.
type limits struct {
	sessions *session.Sessions
	session  string

	mu    sync.Mutex
	heads map[string]place            // where logs end, as far as is known
	ids   map[string]map[string]int64 // of questions, by session: the seq of each
	// What was written so far:
	records, children, asked int
	bytes                    int64
}

func newBounds(sessions *session.Sessions, id string) *limits {
	return &limits{sessions: sessions, session: id, heads: map[string]place{}, ids: map[string]map[string]int64{}}
}

// place is where a log ends.
type place struct {
	seq    int64
	digest session.Digest
}

// maxOwners bounds how far a session may be owned by one that is owned.
const maxOwners = 16

// meta is that of a session; nil when there is none.
func (b *limits) meta(ctx context.Context, id string) (*session.Meta, error) {
	if err := session.CheckID(id); err != nil {
		return nil, err
	}
	p, err := b.sessions.List(ctx, session.Query{ID: id})
	if err != nil || len(p.Sessions) == 0 {
		return nil, err
	}
	return &p.Sessions[0], nil
}

// owned reports whether a session is the one, or works for it.
func (b *limits) owned(ctx context.Context, m *session.Meta) (bool, error) {
	for range maxOwners {
		switch m.Owner {
		case b.session:
			return true, nil
		case "":
			return false, nil
		}
		next, err := b.meta(ctx, m.Owner)
		if err != nil || next == nil {
			return false, err
		}
		m = next
	}
	return false, nil
}

// writable refuses a session that is another's. One that does not exist is nobody's yet.
func (b *limits) writable(ctx context.Context, id string) error {
	if id == b.session {
		return nil
	}
	m, err := b.meta(ctx, id)
	if err != nil || m == nil {
		return err
	}
	return b.check(ctx, m, "use")
}

func (b *limits) check(ctx context.Context, m *session.Meta, op string) error {
	mine, err := b.owned(ctx, m)
	if err == nil && !mine {
		err = refused(op, m.ID, "it is another session's")
	}
	return err
}

// readable cuts a range to what may be read of a session.
func (b *limits) readable(ctx context.Context, id string, r session.Range) (session.Range, error) {
	if id == b.session {
		return r, nil
	}
	m, err := b.meta(ctx, id)
	if err == nil && m == nil {
		err = &session.Error{Op: opRead, Session: id, Err: session.ErrNotFound}
	}
	if err != nil {
		return r, err
	}
	if mine, err := b.owned(ctx, m); err != nil || mine {
		return r, err
	}
	until, err := b.base(ctx, id)
	if err != nil {
		return r, err
	}
	if until == 0 {
		return r, refused(opRead, id, "it is another session's")
	}
	if r.Until == 0 || r.Until > until {
		r.Until = until
	}
	return r, nil
}

// base is the seq up to which the session shares the log of another one; 0: it does not.
func (b *limits) base(ctx context.Context, id string) (int64, error) {
	m, err := b.meta(ctx, b.session)
	var until int64
	for range maxForks {
		if err != nil || m == nil || m.Parent == "" {
			return 0, err
		}
		if until == 0 || m.ParentSeq < until {
			until = m.ParentSeq
		}
		if m.Parent == id {
			return until, nil
		}
		m, err = b.meta(ctx, m.Parent)
	}
	return 0, nil
}

// maxForks bounds how often a session may be a fork of a fork.
const maxForks = 1024

// listable refuses a list of what is not the session's own.
func (b *limits) listable(ctx context.Context, q *session.Query) error {
	if q.ID == "" {
		if q.Owner == b.session {
			return nil
		}
		return refused(opList, "", "only sessions that work for "+b.session+" are listed")
	}
	if q.ID == b.session {
		return nil
	}
	m, err := b.meta(ctx, q.ID)
	if err != nil || m == nil {
		return err
	}
	if mine, err := b.owned(ctx, m); err != nil || mine {
		return err
	}
	until, err := b.base(ctx, q.ID)
	if err == nil && until == 0 {
		err = refused(opList, q.ID, "it is another session's")
	}
	return err
}

// admit refuses a batch that the process inside may not append. Its records have been
// made by somebody who may lie.
func (b *limits) admit(ctx context.Context, id string, batch session.Batch) error {
	if len(batch.Records) == 0 {
		return nil // the store says so
	}
	for i := range batch.Records {
		if err := b.checkRecord(id, &batch.Records[i]); err != nil {
			return err
		}
	}
	if first := &batch.Records[0]; first.Kind == record.KindOpened {
		if err := b.checkNewSession(ctx, id, first); err != nil {
			return err
		}
	} else if err := b.checkFollowsHead(ctx, id, first); err != nil {
		return err
	}
	for i := range batch.Records {
		if r := &batch.Records[i]; i > 0 || r.Kind != record.KindOpened {
			if err := b.mayWrite(ctx, id, r); err != nil {
				return err
			}
		}
	}
	return b.spend(id, batch.Records)
}

// checkFollowsHead refuses a record that does not follow the log's head, as far as that is known:
// that the head is what was expected, the store compares.
func (b *limits) checkFollowsHead(ctx context.Context, id string, r *session.Record) error {
	b.mu.Lock()
	head, known := b.heads[id]
	b.mu.Unlock()
	if !known || head.seq != r.Seq-1 {
		m, err := b.meta(ctx, id)
		if err != nil {
			return err
		}
		if m == nil {
			return &session.Error{Op: "append", Session: id, Err: session.ErrNotFound}
		}
		if id != b.session {
			if err := b.check(ctx, m, "append"); err != nil {
				return err
			}
		}
		head = place{m.Head, m.HeadDigest}
	}
	if head.seq < r.Seq-1 { // once somebody else has appended, nobody would look whether it follows
		return &session.Error{Op: "append", Session: id, Seq: head.seq, Err: session.ErrConflict}
	}
	if head.seq == r.Seq-1 && head.digest != r.Prev {
		return &session.Error{Op: "append", Session: id, Seq: r.Seq, Err: session.ErrCorrupt, Detail: "the record does not follow the one before it"}
	}
	return nil
}

// unconfirmed forgets what is known of a log: a batch may have been written, or not.
func (b *limits) unconfirmed(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.heads, id)
	delete(b.ids, id)
}

// appended notes where a log ends now.
func (b *limits) appended(id string, last session.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.heads) > 2*maxLeases {
		clear(b.heads)
	}
	b.heads[id] = place{last.Seq, last.Digest}
}

// checkNewSession refuses a new session that does not work for the one, or that would be listed as
// one of another project.
func (b *limits) checkNewSession(ctx context.Context, id string, r *session.Record) error {
	o, err := readPayload[session.Opened](r)
	if err == nil {
		err = uniqueKeys(r)
	}
	if err != nil {
		return err
	}
	switch {
	case r.Seq != 1 || !r.Prev.IsZero():
		return refused("open", id, "it is not the first record")
	case id == b.session:
		return refused("open", id, "it is opened by the host")
	case o.SessionID != id:
		return refused("open", id, fmt.Sprintf("it says that it is session %q", o.SessionID))
	case o.Base != nil:
		return refused("open", id, "a fork is made by the host")
	}
	owner := &session.Meta{ID: id, Owner: o.Owner}
	if err := b.check(ctx, owner, "open"); err != nil {
		return err
	}
	m, err := b.meta(ctx, b.session)
	if err != nil {
		return err
	}
	if m == nil {
		return &session.Error{Op: "open", Session: b.session, Err: session.ErrNotFound}
	}
	switch now := b.sessions.Now(); {
	case o.Project != m.Project: // "" is one of the host's, outside of any container
		return refused("open", id, fmt.Sprintf("it says that it is of project %q", o.Project))
	case o.User != "":
		return refused("open", id, fmt.Sprintf("it says that it is on behalf of %q", o.User))
	case o.Created.Before(now.Add(-drift)) || o.Created.After(now.Add(drift)):
		return refused("open", id, "it says that it was created at another time")
	}
	return nil
}
