package hostpipe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/session"
)

func (s *Server) append(ctx context.Context, r *request, blob []byte) error {
	recs, err := unpack(r.Records, blob)
	if err != nil {
		return &session.Error{Op: "append", Session: r.Session, Err: session.ErrInvalid, Detail: err.Error()}
	}
	b := session.Batch{Expect: r.Expect, Epoch: r.Epoch, Records: recs}
	if s.unlimited {
		return s.sessions.Relay(ctx, r.Session, b)
	}
	if err := s.limits.checkWritable(ctx, r.Session); err != nil {
		return err
	}
	if b.Epoch, err = s.epoch(r); err != nil {
		return err
	}
	s.appending.Lock() // no other batch must be written between the check and the append
	defer s.appending.Unlock()
	err = s.limits.checkBatch(ctx, r.Session, b)
	if err == nil {
		err = s.sessions.Relay(ctx, r.Session, b)
	}
	if err != nil {
		s.limits.forgetHead(r.Session)
		return err
	}
	s.limits.setHead(r.Session, recs[len(recs)-1])
	return nil
}

// epoch returns the epoch of the lease under which a session is written. For the main session this
// is the host's lease, so that writes fail after the host has lost it. For another session it is
// the lease that the server gave to the process.
func (s *Server) epoch(r *request) (int64, error) {
	epoch := s.o.Lease.Epoch
	if _, ok := session.As[session.Leaser](s.sessions.Store()); !ok {
		return r.Epoch, nil // the store has no leases
	}
	if r.Session != s.o.Session {
		s.mu.Lock()
		l, held := s.leases[r.Session]
		s.mu.Unlock()
		if epoch = l.Epoch; !held {
			return 0, &session.Error{Op: opAppend, Session: r.Session, Err: session.ErrFenced, Detail: "the session is not open on this connection"}
		}
	}
	if r.Epoch != 0 && r.Epoch != epoch {
		return 0, &session.Error{Op: opAppend, Session: r.Session, Err: session.ErrFenced}
	}
	return epoch, nil
}

// A page of records ends when it has this number of records, or payloads of this size in bytes.
const (
	pageRecords = 1024
	pageBytes   = 1 << 20
)

func (s *Server) page(ctx context.Context, r *request) (a reply, blob []byte, err error) {
	if r.Range == nil {
		return a, nil, refused(opRead, r.Session, "the range is missing")
	}
	want := session.Range{After: r.Range.After, Until: r.Range.Until, Reverse: r.Range.Reverse, Limit: r.Range.Limit}
	if !s.unlimited {
		if want, err = s.limits.readableRange(ctx, r.Session, want); err != nil {
			return a, nil, err
		}
	}
	for rec, err := range s.sessions.Store().Read(ctx, r.Session, want) {
		if len(a.Records) >= pageRecords || len(blob) >= pageBytes {
			a.Rest = true
			break
		}
		if err != nil {
			e, ok := errors.AsType[*session.Error](err)
			if !ok || e.Seq == 0 { // the error is about the whole log
				return reply{}, nil, err
			}
			a.Records = append(a.Records, wireRecord{Seq: e.Seq, Error: toWire(err)})
			continue
		}
		a.Records = append(a.Records, packed(&rec))
		blob = append(blob, rec.Payload...)
	}
	return a, blob, nil
}

func (s *Server) list(ctx context.Context, r *request) (*session.Page, error) {
	if r.Query == nil {
		return nil, refused(opList, "", "the query is missing")
	}
	if !s.unlimited {
		if err := s.limits.checkQuery(ctx, r.Query); err != nil {
			return nil, err
		}
	}
	p, err := s.sessions.List(ctx, *r.Query)
	return &p, err
}

// maxLeases is the maximum number of sessions, in addition to the main session, for which one
// process may hold a lease.
const maxLeases = 64

func (s *Server) acquire(ctx context.Context, r *request) (*session.Lease, error) {
	leaser, ok := session.As[session.Leaser](s.sessions.Store())
	if !ok || r.Lease == nil {
		return nil, &session.Error{Op: "acquire", Session: r.Session, Err: session.ErrUnsupported}
	}
	if s.unlimited {
		l, err := leaser.Acquire(ctx, r.Session, *r.Lease, func(held session.Lease) bool { return held.Epoch == r.Steal })
		return &l, err
	}
	if r.Session == s.o.Session {
		return s.hostLease()
	}
	if err := s.limits.checkWritable(ctx, r.Session); err != nil {
		return nil, err
	}
	now := s.sessions.Now().UTC()
	me := s.o.Lease.Holder
	want := session.Lease{Holder: me, Since: now, TTL: min(max(r.Lease.TTL, 0), time.Minute)}
	want.Expires = now.Add(want.TTL)
	s.mu.Lock()
	full := len(s.leases) >= maxLeases
	s.mu.Unlock()
	if full {
		return nil, refused("acquire", r.Session, fmt.Sprintf("%d sessions are already open", maxLeases))
	}
	l, err := leaser.Acquire(ctx, r.Session, want, func(held session.Lease) bool {
		return held.Remaining != nil && *held.Remaining <= 0 || held.Holder.ID != me.ID && held.Holder.HasEnded(me)
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.leases[r.Session] = l
	s.mu.Unlock()
	return &l, nil
}

// hostLease returns the lease of the main session, which the host holds for the process.
func (s *Server) hostLease() (*session.Lease, error) {
	if s.o.Lease.Epoch == 0 {
		return nil, &session.Error{Op: "acquire", Session: s.o.Session, Err: session.ErrUnsupported}
	}
	l := s.o.Lease
	return &l, nil
}

func (s *Server) renew(ctx context.Context, r *request) error {
	leaser, ok := session.As[session.Leaser](s.sessions.Store())
	if !ok || r.Lease == nil {
		return &session.Error{Op: "renew", Session: r.Session, Err: session.ErrUnsupported}
	}
	if s.unlimited {
		return leaser.Renew(ctx, r.Session, *r.Lease)
	}
	fenced := &session.Error{Op: "renew", Session: r.Session, Err: session.ErrFenced}
	if r.Session == s.o.Session { // the host renews the lease; this only checks that it is still valid
		held, err := s.held(ctx, r)
		if err == nil && (held == nil || held.Epoch != r.Lease.Epoch) {
			err = fenced
		}
		return err
	}
	s.mu.Lock()
	l, held := s.leases[r.Session]
	s.mu.Unlock()
	if !held || l.Epoch != r.Lease.Epoch {
		return fenced
	}
	l.Expires = s.sessions.Now().UTC().Add(l.TTL)
	return leaser.Renew(ctx, r.Session, l)
}

func (s *Server) release(ctx context.Context, r *request) error {
	leaser, ok := session.As[session.Leaser](s.sessions.Store())
	if !ok || r.Lease == nil {
		return &session.Error{Op: "release", Session: r.Session, Err: session.ErrUnsupported}
	}
	if s.unlimited {
		return leaser.Release(ctx, r.Session, *r.Lease)
	}
	s.mu.Lock()
	l, held := s.leases[r.Session]
	held = held && l.Epoch == r.Lease.Epoch
	if held {
		delete(s.leases, r.Session)
	}
	s.mu.Unlock()
	if !held { // the host keeps the lease of the main session
		return nil
	}
	return leaser.Release(ctx, r.Session, l)
}

func (s *Server) held(ctx context.Context, r *request) (*session.Lease, error) {
	reader, ok := session.As[session.Leaser](s.sessions.Store())
	if !ok {
		return nil, &session.Error{Op: "held", Session: r.Session, Err: session.ErrUnsupported}
	}
	if !s.unlimited {
		if err := s.limits.checkWritable(ctx, r.Session); err != nil {
			return nil, err
		}
	}
	return reader.Held(ctx, r.Session)
}

// recover repairs a session that the main session owns. The host has already repaired the main
// session.
func (s *Server) recover(ctx context.Context, r *request) (*session.Recovery, error) {
	if !s.unlimited {
		if err := s.limits.checkWritable(ctx, r.Session); err != nil || r.Session == s.o.Session {
			return nil, err
		}
	}
	s.mu.Lock()
	_, held := s.leases[r.Session]
	s.mu.Unlock()
	if !s.unlimited && !held {
		return nil, &session.Error{Op: opRecover, Session: r.Session, Err: session.ErrFenced, Detail: "the session is not open on this connection"}
	}
	if recoverer, ok := session.As[session.Recoverer](s.sessions.Store()); ok {
		return recoverer.Recover(ctx, r.Session)
	}
	return nil, nil
}

func (s *Server) watch(ctx context.Context, r *request) error {
	if !s.unlimited {
		if err := s.limits.checkWritable(ctx, r.Session); err != nil {
			return err
		}
		s.mu.Lock()
		full := s.watches >= maxWatches
		if !full {
			s.watches++
		}
		s.mu.Unlock()
		if full {
			return refused(opWatch, r.Session, fmt.Sprintf("%d logs are already being watched", maxWatches))
		}
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.watches--
		}()
	}
	for head, err := range s.sessions.Watch(ctx, r.Session, r.After) {
		if err != nil {
			return err
		}
		s.send(&reply{ID: r.ID, More: true, Head: head}, nil)
	}
	return nil
}

// reserveRequest refuses an approval request that was already presented. It also refuses a request
// if too many are pending or were presented. The caller calls done after the answer.
func (s *Server) reserveRequest(id string) (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.presented[id]:
		return nil, refused(opAsk, s.o.Session, "request "+id+" was already presented")
	case s.waiting >= maxPending:
		return nil, refused(opAsk, s.o.Session, fmt.Sprintf("%d requests are already pending", maxPending))
	case len(s.presented) >= 2*maxApprovals:
		return nil, refused(opAsk, s.o.Session, "too many requests were presented")
	}
	s.presented[id] = true
	s.waiting++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting--
	}, nil
}

// ask presents an approval request to the approver. It reads the request from the log and records
// the answer itself, because the process in the container is not trusted.
func (s *Server) ask(ctx context.Context, id string) error {
	if s.o.Ask == nil {
		return errors.New("no one can answer")
	}
	done, err := s.reserveRequest(id)
	if err != nil {
		return err
	}
	defer done()
	open, err := approval.Pending(ctx, s.sessions, s.o.Session)
	if err != nil {
		return err
	}
	for _, q := range open {
		if q.ID != id {
			continue
		}
		ans, err := s.o.Ask(ctx, q)
		if err == nil {
			err = q.Check(ans)
		}
		if err != nil {
			return err
		}
		ans.RequestID, ans.Actor = id, cmp.Or(ans.Actor, "person")
		_, err = approval.Resolve(context.WithoutCancel(ctx), s.sessions, s.o.Session, ans)
		if errors.Is(err, approval.ErrAnswered) || errors.Is(err, approval.ErrExpired) {
			return nil // the answer is in the log, or soon will be
		}
		return err
	}
	return nil // it is already answered
}
