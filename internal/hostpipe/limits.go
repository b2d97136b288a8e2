package hostpipe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// ErrRefused means that the process in the container requested something it may not do.
var ErrRefused = errors.New("not allowed for the agent in the container")

func refused(op, id, detail string) error {
	return &session.Error{Op: op, Session: id, Err: ErrRefused, Detail: detail}
}

// limits checks what one process accesses and writes. The process may use its own session and the
// sessions that this one owns, directly or through other sessions ([session.Opened].Owner). It may
// also read the sessions from which its own session was forked, up to the fork.
type limits struct {
	sessions *session.Sessions
	session  string

	mu    sync.Mutex
	heads map[string]logHead          // known heads of logs
	ids   map[string]map[string]int64 // ids of approval requests by session, with the seq of each
	// What was written so far:
	records, children, asked int
	bytes                    int64
}

func newLimits(sessions *session.Sessions, id string) *limits {
	return &limits{sessions: sessions, session: id, heads: map[string]logHead{}, ids: map[string]map[string]int64{}}
}

// logHead is the head of a log.
type logHead struct {
	seq    int64
	digest session.Digest
}

// maxOwners limits the depth of session ownership.
const maxOwners = 16

// meta returns a session's metadata, or nil if the session does not exist.
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

// owned reports whether the process's session owns a session, directly or through other sessions.
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

// checkWritable refuses a session that is neither the process's own nor owned by it. It accepts an id
// without a session, because the process may create that session.
func (b *limits) checkWritable(ctx context.Context, id string) error {
	if id == b.session {
		return nil
	}
	m, err := b.meta(ctx, id)
	if err != nil || m == nil {
		return err
	}
	return b.checkOwned(ctx, m, "use")
}

func (b *limits) checkOwned(ctx context.Context, m *session.Meta, op string) error {
	owned, err := b.owned(ctx, m)
	if err == nil && !owned {
		err = refused(op, m.ID, "it belongs to another session")
	}
	return err
}

// readableRange limits a range to the part of a session that the process may read.
func (b *limits) readableRange(ctx context.Context, id string, r session.Range) (session.Range, error) {
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
	if owned, err := b.owned(ctx, m); err != nil || owned {
		return r, err
	}
	until, err := b.sharedSeq(ctx, id)
	if err != nil {
		return r, err
	}
	if until == 0 {
		return r, refused(opRead, id, "it belongs to another session")
	}
	if r.Until == 0 || r.Until > until {
		r.Until = until
	}
	return r, nil
}

// sharedSeq returns the last seq that the process's session shares with another session because of
// forks, or 0 if it shares none.
func (b *limits) sharedSeq(ctx context.Context, id string) (int64, error) {
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

// maxForks is the maximum number of parents that base follows.
const maxForks = 1024

// checkQuery refuses a query for sessions that the process may not read.
func (b *limits) checkQuery(ctx context.Context, q *session.Query) error {
	if q.ID == "" {
		if q.Owner == b.session {
			return nil
		}
		return refused(opList, "", "only sub-agents' sessions of "+b.session+" can be listed")
	}
	if q.ID == b.session {
		return nil
	}
	m, err := b.meta(ctx, q.ID)
	if err != nil || m == nil {
		return err
	}
	if owned, err := b.owned(ctx, m); err != nil || owned {
		return err
	}
	until, err := b.sharedSeq(ctx, q.ID)
	if err == nil && until == 0 {
		err = refused(opList, q.ID, "it belongs to another session")
	}
	return err
}

// checkBatch refuses a batch that the process may not append. The records come from an untrusted process.
func (b *limits) checkBatch(ctx context.Context, id string, batch session.Batch) error {
	if len(batch.Records) == 0 {
		return nil // the store reports it
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
			if err := b.checkKind(ctx, id, r); err != nil {
				return err
			}
		}
	}
	return b.countRecords(id, batch.Records)
}

// checkFollowsHead refuses a record that does not follow the log's head. It accepts a record whose
// seq is not greater than the head's, because the store handles those.
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
			if err := b.checkOwned(ctx, m, "append"); err != nil {
				return err
			}
		}
		head = logHead{m.Head, m.HeadDigest}
	}
	if head.seq < r.Seq-1 { // if another writer filled the gap, no one would have checked this record's Prev
		return &session.Error{Op: "append", Session: id, Seq: head.seq, Err: session.ErrConflict}
	}
	if head.seq == r.Seq-1 && head.digest != r.Prev {
		return &session.Error{Op: "append", Session: id, Seq: r.Seq, Err: session.ErrCorrupt, Detail: "the record does not follow the one before it"}
	}
	return nil
}

// forgetHead discards what is known about a log after a failed append, because the batch may have
// been written.
func (b *limits) forgetHead(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.heads, id)
	delete(b.ids, id)
}

// setHead stores the new head of a log.
func (b *limits) setHead(id string, last session.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.heads) > 2*maxLeases {
		clear(b.heads)
	}
	b.heads[id] = logHead{last.Seq, last.Digest}
}

// checkNewSession refuses the first record of a session that the process may not create. The
// session must belong to the process's own session, and must not be a fork. The record must name
// the same project, no user and the current time.
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
		return refused("open", id, "only the host can open it")
	case o.SessionID != id:
		return refused("open", id, fmt.Sprintf("its record names session %q", o.SessionID))
	case o.Base != nil:
		return refused("open", id, "only the host can fork a session")
	}
	owner := &session.Meta{ID: id, Owner: o.Owner}
	if err := b.checkOwned(ctx, owner, "open"); err != nil {
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
	case o.Project != m.Project: // "" means that the session belongs to the host and to no container
		return refused("open", id, fmt.Sprintf("its record names project %q", o.Project))
	case o.User != "":
		return refused("open", id, fmt.Sprintf("its record names user %q", o.User))
	case o.Created.Before(now.Add(-maxClockDrift)) || o.Created.After(now.Add(maxClockDrift)):
		return refused("open", id, "its record has another creation time")
	}
	return nil
}
