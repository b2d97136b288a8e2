package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// replicated is the result of [Sessions.Replicate] for one session.
type replicated struct {
	Session string
	Records int64 // records appended
	Bytes   int64 // size of their payloads
	Erased  int64 // payloads erased in the copy
	Created bool  // the copy was created
	Deleted bool  // the copy was deleted
}

// Limits of a batch that is copied.
const (
	copyBatchRecords = 256
	copyBatchBytes   = 1 << 20
)

// Replicate updates the copy of a session in another store and returns how many records it
// appended. It appends the missing records with the same seqs, ids, times, payload bytes and
// digests, and erases what was erased in this store. The parents of a fork are copied first. A
// session that is kept only for its forks is deleted in the target once all its forks are there,
// and a session deleted during its first copy is not left there. Replicate continues where it
// stopped and may be called again at any time. It takes the lease in the target store and releases
// it.
//
// Errors: ErrConflict if the two logs have diverged or the target is ahead; ErrNotFound if there
// is no such session; ErrExists if it is deleted in the target only; ErrBusy if another process
// writes it in the target; ErrCorrupt for a damaged record of this store (the records before it
// are copied). Encrypted records are copied as they are. Masked records give ErrSealed unless the
// target masks too.
func (s *Sessions) Replicate(ctx context.Context, to Store, id string) (records int64, err error) {
	r, err := s.replicate(ctx, to, id)
	return r.Records, err
}

func (s *Sessions) replicate(ctx context.Context, to Store, id string) (replicated, error) {
	if err := CheckID(id); err != nil {
		return replicated{}, err
	}
	way := s.newReplication(to)
	r, err := way.replicate(ctx, id, 0)
	if err != nil {
		return r, err
	}
	return r, way.deleteUnneeded(ctx, &r)
}

// masker is a store that masks secrets (package redacting). Only such a store accepts records that
// are already masked, see [Record.Masked].
type masker interface{ Masks() bool }

// replication copies from one store to another.
type replication struct {
	from, to *Sessions
	deleted  []string     // sessions that the source keeps only for their forks
	parents  []replicated // copied before their forks
}

func (s *Sessions) newReplication(to Store) *replication {
	return &replication{from: New(s.store, nil), to: New(to, nil)}
}

// replicate copies the session after its parents.
func (s *replication) replicate(ctx context.Context, id string, depth int) (replicated, error) {
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
			Op: "ship", Session: id, Err: ErrExists, Detail: "the target store has deleted it but still has forks of it",
			Hint: "use another target store",
		}
	case err == nil && there.Head == m.Head && there.HeadDigest == m.HeadDigest:
		return r, nil
	case err != nil && !errors.Is(err, ErrNotFound):
		return r, err
	}
	if err != nil && m.Parent != "" {
		if depth > maxForkDepth {
			return r, &Error{Op: "ship", Session: id, Err: ErrCorrupt, Detail: "its chain of forks has a loop at " + m.Parent}
		}
		p, err := s.replicate(ctx, m.Parent, depth+1)
		s.parents = append(s.parents, p)
		if err != nil {
			return r, err
		}
	}
	err = s.copyLog(ctx, m, &r)
	if r.Created {
		err = errors.Join(err, s.deleteIfGone(ctx, m))
	}
	return r, err
}

// copyLog copies one log while holding the lease of its copy.
func (s *replication) copyLog(ctx context.Context, m Meta, r *replicated) (err error) {
	l := s.to.newLog(m.ID)
	if err := l.acquire(ctx, false); err != nil {
		return err
	}
	l.keepLease()
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.repairCopy(ctx); err != nil {
		return err
	}
	prev := Record{Seq: m.ParentSeq}
	switch there, err := s.to.lookup(ctx, m.ID); {
	case errors.Is(err, ErrNotFound):
		r.Created = true
	case err != nil:
		return err
	default:
		if prev, err = s.lastCommon(ctx, m, there); err != nil {
			return err
		}
	}
	p := copyBatch{l: l, r: r, from: m, prev: prev}
	if err := p.fill(ctx, s.from.store); err != nil {
		return err
	}
	if p.prev.Seq == m.ParentSeq && r.Created && m.Deleted {
		return s.createRemnant(ctx, l, m, r)
	}
	if p.prev.Seq < m.Head && !m.Deleted { // the rest of a deleted one was removed
		now, err := s.from.lookup(ctx, m.ID)
		if err != nil {
			return err
		}
		if now.Deleted { // in the meantime
			s.deleted = append(s.deleted, m.ID)
			return nil
		}
		return &Error{Op: "ship", Session: m.ID, Seq: p.prev.Seq + 1, Err: ErrCorrupt, Detail: "the log ends before its head", Hint: "holdfast sessions verify " + m.ID}
	}
	return nil
}

// repairCopy lets the store cut a torn append.
func (l *Log) repairCopy(ctx context.Context) error {
	if r, ok := As[Recoverer](l.s.store); ok {
		_, err := r.Recover(ctx, l.id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// lastCommon finds the last record of the copy in the source.
func (s *replication) lastCommon(ctx context.Context, m, there Meta) (Record, error) {
	diverged := func(detail string) error {
		return &Error{
			Op: "ship", Session: m.ID, Seq: there.Head, Err: ErrConflict, Detail: detail,
			Hint: "the two logs have diverged: delete the copy, or use another target store",
		}
	}
	if there.Parent != m.Parent || there.ParentSeq != m.ParentSeq {
		return Record{}, diverged("they have different parents")
	}
	for r, err := range s.from.store.Read(ctx, m.ID, Range{After: there.Head - 1, Until: there.Head}) {
		if err != nil {
			return Record{}, err
		}
		if r.Digest != there.HeadDigest {
			return Record{}, diverged("the record at this number differs")
		}
		return r, nil
	}
	if m.Deleted { // the records that its forks do not need were removed
		return Record{Seq: there.Head, Digest: there.HeadDigest}, nil
	}
	return Record{}, diverged("the copy has records that the original does not have")
}

// copyBatch is a batch in transit.
type copyBatch struct {
	l     *Log // the copy
	r     *replicated
	from  Meta
	prev  Record // the last record added
	batch []Record
	bytes int
}

// fill copies everything after prev.
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
	if p.prev.Digest.IsZero() { // a fork: its first record has the digest it follows
		p.prev.Digest = r.Prev
	}
	if err := r.CheckAfter(&p.prev); err != nil && !errors.Is(err, ErrSealed) {
		return err
	}
	if r.Masked {
		if m, ok := p.l.s.store.(masker); !ok || !m.Masks() {
			return &Error{
				Op: "ship", Session: p.from.ID, Seq: r.Seq, Err: ErrSealed, Detail: "the record is masked, and the target store does not accept masked records",
				Hint: "open the target store with the Go package session/redacting",
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
	if p.bytes += len(r.Payload); len(p.batch) >= copyBatchRecords || p.bytes >= copyBatchBytes {
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

// erase erases in the copy the records that a redacted record names, before that record is
// appended. If it is interrupted, the copy ends before that record, and the next call erases
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

// redactedSeqs returns the seqs that a redacted record names.
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
