package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// replicated is what [Sessions.Replicate] did to one session.
type replicated struct {
	Session string
	Records int64 // that were appended
	Bytes   int64 // of their payloads
	Erased  int64 // payloads that were erased there as they are here
	Created bool  // the session was not there
	Deleted bool  // it was deleted there as it is here
}

// The sizes of a batch that is shipped.
const (
	shipRecords = 256
	shipBytes   = 1 << 20
)

// Replicate brings the log of a session in another store to the state that it has in this one,
// and returns how many records it appended: it appends what is missing, with the same seqs,
// ids, times, payload bytes and digests. What was erased here is erased there; a session
// that is kept for its forks only is kept so there once all its forks are there, and what
// is deleted while it is shipped for the first time is not left there. The parents of a
// fork are shipped first. Ship continues where it stopped and may be called again at any
// time. It takes the lease in the other store and gives it back.
//
// Errors: ErrConflict when the two logs have diverged, or the other one is ahead;
// ErrNotFound when there is no such session; ErrExists when it is deleted there and not
// here; ErrBusy when somebody writes it there; ErrCorrupt for a record that is damaged
// here, what comes before it is shipped. ErrSealed is none: what is sealed is shipped as it
// is, but for masked records, which only a store that masks can take.
func (s *Sessions) Replicate(ctx context.Context, to Store, id string) (records int64, err error) {
	r, err := s.ship(ctx, to, id)
	return r.Records, err
}

func (s *Sessions) ship(ctx context.Context, to Store, id string) (replicated, error) {
	if err := CheckID(id); err != nil {
		return replicated{}, err
	}
	way := s.shipping(to)
	r, err := way.ship(ctx, id, 0)
	if err != nil {
		return r, err
	}
	return r, way.settle(ctx, &r)
}

// masker is a store that keeps records without their secrets, and those that came to it
// so: [Record.Masked] ones (package redacting).
type masker interface{ Masks() bool }

// replication is the way from one store to another.
type replication struct {
	from, to *Sessions
	deleted  []string     // kept in from for forks only, and met on the way
	parents  []replicated // shipped before their forks
}

func (s *Sessions) shipping(to Store) *replication {
	return &replication{from: New(s.store, nil), to: New(to, nil)}
}

// ship ships the session, behind its parents.
func (s *replication) ship(ctx context.Context, id string, depth int) (replicated, error) {
	r := replicated{Session: id}
	m, err := s.from.lookup(ctx, id)
	if err != nil {
		return r, err
	}
	if m.Deleted && !slices.Contains(s.deleted, id) {
		s.deleted = append(s.deleted, id)
	}
	there, err := s.to.lookup(ctx, id)
	switch {
	case err == nil && there.Deleted && m.Deleted:
		return r, nil
	case err == nil && there.Deleted:
		return r, &Error{
			Op: "ship", Session: id, Err: ErrExists, Detail: "it is deleted there, and forks of it are not",
			Hint: "ship into another store",
		}
	case err == nil && there.Head == m.Head && there.HeadDigest == m.HeadDigest:
		return r, nil
	case err != nil && !errors.Is(err, ErrNotFound):
		return r, err
	}
	if err != nil && m.Parent != "" {
		if depth > maxForkDepth {
			return r, &Error{Op: "ship", Session: id, Err: ErrCorrupt, Detail: "its forks run in a circle at " + m.Parent}
		}
		p, err := s.ship(ctx, m.Parent, depth+1)
		s.parents = append(s.parents, p)
		if err != nil {
			return r, err
		}
	}
	err = s.log(ctx, m, &r)
	if r.Created {
		err = errors.Join(err, s.still(ctx, m))
	}
	return r, err
}

// log ships one log, with the lease of its copy.
func (s *replication) log(ctx context.Context, m Meta, r *replicated) (err error) {
	l := s.to.newLog(m.ID)
	if err := l.acquire(ctx, false); err != nil {
		return err
	}
	l.keepLease()
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.mendCopy(ctx); err != nil {
		return err
	}
	prev := Record{Seq: m.ParentSeq}
	switch there, err := s.to.lookup(ctx, m.ID); {
	case errors.Is(err, ErrNotFound):
		r.Created = true
	case err != nil:
		return err
	default:
		if prev, err = s.common(ctx, m, there); err != nil {
			return err
		}
	}
	p := copyBatch{l: l, r: r, from: m, prev: prev}
	if err := p.fill(ctx, s.from.store); err != nil {
		return err
	}
	if p.prev.Seq == m.ParentSeq && r.Created && m.Deleted {
		return s.remnant(ctx, l, m, r)
	}
	if p.prev.Seq < m.Head && !m.Deleted { // of a deleted one the rest is gone
		now, err := s.from.lookup(ctx, m.ID)
		if err != nil {
			return err
		}
		if now.Deleted { // meanwhile
			s.deleted = append(s.deleted, m.ID)
			return nil
		}
		return &Error{Op: "ship", Session: m.ID, Seq: p.prev.Seq + 1, Err: ErrCorrupt, Detail: "the log ends before its head", Hint: "holdfast sessions verify " + m.ID}
	}
	return nil
}

// mendCopy lets the store cut what a crash has left of an append.
func (l *Log) mendCopy(ctx context.Context) error {
	if r, ok := As[Recoverer](l.s.store); ok {
		_, err := r.Recover(ctx, l.id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// common finds the record that the copy ends with, in from, too.
func (s *replication) common(ctx context.Context, m, there Meta) (Record, error) {
	diverged := func(detail string) error {
		return &Error{
			Op: "ship", Session: m.ID, Seq: there.Head, Err: ErrConflict, Detail: detail,
			Hint: "the two logs have diverged: delete the copy, or ship into another store",
		}
	}
	if there.Parent != m.Parent || there.ParentSeq != m.ParentSeq {
		return Record{}, diverged("the two are not of the same parent")
	}
	for r, err := range s.from.store.Read(ctx, m.ID, Range{After: there.Head - 1, Until: there.Head}) {
		if err != nil {
			return Record{}, err
		}
		if r.Digest != there.HeadDigest {
			return Record{}, diverged("another record has this number")
		}
		return r, nil
	}
	if m.Deleted { // what its forks do not need is gone
		return Record{Seq: there.Head, Digest: there.HeadDigest}, nil
	}
	return Record{}, diverged("the copy has records that the original does not have")
}

// copyBatch is a batch on its way.
type copyBatch struct {
	l     *Log // of the copy
	r     *replicated
	from  Meta
	prev  Record // the last that was taken in
	batch []Record
	bytes int
}

// fill ships everything behind prev.
func (p *copyBatch) fill(ctx context.Context, from Store) error {
	for r, err := range from.Read(ctx, p.from.ID, Range{After: p.prev.Seq}) {
		if err == nil {
			err = p.add(ctx, r)
		}
		if err != nil {
			return errors.Join(err, p.send(ctx))
		}
	}
	return p.send(ctx)
}

func (p *copyBatch) add(ctx context.Context, r Record) error {
	if p.prev.Digest.IsZero() { // of a fork: the first record says whom it follows
		p.prev.Digest = r.Prev
	}
	if err := r.CheckAfter(&p.prev); err != nil && !errors.Is(err, ErrSealed) {
		return err
	}
	if r.Masked {
		if m, ok := p.l.s.store.(masker); !ok || !m.Masks() {
			return &Error{
				Op: "ship", Session: p.from.ID, Seq: r.Seq, Err: ErrSealed, Detail: "it has been masked, and the store that it goes to keeps no masked records",
				Hint: "open that store with package session/redacting",
			}
		}
	}
	if r.Kind == record.KindRedacted {
		if err := p.erase(ctx, r); err != nil {
			return err
		}
	}
	p.prev = r
	p.batch = append(p.batch, r)
	if p.bytes += len(r.Payload); len(p.batch) >= shipRecords || p.bytes >= shipBytes {
		return p.send(ctx)
	}
	return nil
}

// send appends the batch.
func (p *copyBatch) send(ctx context.Context) error {
	if len(p.batch) == 0 {
		return nil
	}
	if p.l.fenced.Load() {
		return &Error{Op: "ship", Session: p.from.ID, Err: ErrFenced}
	}
	delta, err := Fold(p.batch)
	if err != nil {
		return err
	}
	b := Batch{Expect: p.batch[0].Seq - 1, Epoch: p.l.lease.Epoch, Records: p.batch, Delta: delta}
	if err := p.l.s.store.Append(ctx, p.from.ID, b); err != nil {
		return err
	}
	p.r.Records += int64(len(p.batch))
	p.r.Bytes += int64(p.bytes)
	p.batch, p.bytes = nil, 0
	return nil
}

// erase erases in the copy what a redacted record names, before it is appended: when
// something comes between, the copy ends before that record, and the next shipping erases
// again.
func (p *copyBatch) erase(ctx context.Context, r Record) error {
	seqs, err := redactedSeqs(&r)
	if err != nil {
		return err
	}
	seqs = slices.DeleteFunc(seqs, func(seq int64) bool { return seq <= p.from.ParentSeq || seq >= r.Seq })
	if len(seqs) == 0 {
		return nil
	}
	if err := p.send(ctx); err != nil {
		return err
	}
	if err := p.l.erase(ctx, seqs); err != nil {
		return err
	}
	p.r.Erased += int64(len(seqs))
	return nil
}

// redactedSeqs are the records that a redacted record names.
func redactedSeqs(r *Record) ([]int64, error) {
	bad := func(err error) error {
		return &Error{Op: "read redacted", Seq: r.Seq, Err: ErrCorrupt, Detail: err.Error()}
	}
	payload := r.Payload
	if payload == nil {
		return nil, nil
	}
	if instead, ok := record.ReadMasked(payload); ok {
		payload = instead
	} else if record.IsSealed(payload) {
		s, err := record.ReadSealedHead(payload)
		if err != nil {
			return nil, bad(err)
		}
		return s.Seqs, nil
	}
	var w record.Redacted
	if err := json.Unmarshal(payload, &w); err != nil {
		return nil, bad(err)
	}
	return w.Seqs, nil
}
