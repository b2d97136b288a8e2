package session

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// CopyReport is the result of [Sessions.ReplicateAll], or its progress so far.
type CopyReport struct {
	Sessions int     // sessions in the store, without the deleted ones that are kept for their forks
	Done     int     // sessions that were processed
	Changed  int     // sessions whose copy was changed, or would be changed
	Records  int64   // records appended, or that would be appended
	Bytes    int64   // size of their payloads
	Erased   int64   // payloads that were erased
	Verified int64   // records read back and compared
	Faults   []Error // sessions that could not be copied, or whose copy differs
	Last     string  // the last session processed
}

// OK reports whether every session was copied and equals its copy.
func (r *CopyReport) OK() bool { return len(r.Faults) == 0 && r.Done == r.Sessions }

// ReplicateAll copies every session into another store, parents first (see [Sessions.Replicate]).
// It then reads each session from both stores and compares them record by record: digests and
// erased payloads. Other sessions of the target store are left unchanged. Calling it again copies
// only new records; an interrupted copy continues where it stopped.
//
// A session that cannot be copied is added to Faults, and ReplicateAll continues with the next
// one. It returns an error only if it could not continue; the report then shows what was copied
// before.
//
// The function progress may be nil. It is called after each session and must not use Faults and
// Last after it returns.
func (s *Sessions) ReplicateAll(ctx context.Context, to Store, progress func(CopyReport)) (*CopyReport, error) {
	return s.copyAll(ctx, &copying{replication: s.newReplication(to), progress: progress})
}

// PreviewCopy is [Sessions.ReplicateAll] without copying: its report shows what would be copied.
func (s *Sessions) PreviewCopy(ctx context.Context, to Store, progress func(CopyReport)) (*CopyReport, error) {
	return s.copyAll(ctx, &copying{replication: s.newReplication(to), progress: progress, preview: true})
}

func (s *Sessions) copyAll(ctx context.Context, c *copying) (*CopyReport, error) {
	p, err := s.store.List(ctx, Query{Worktrees: true, WithTrash: true})
	if err != nil {
		return &c.r, err
	}
	c.r.Sessions = len(p.Sessions)
	slices.Reverse(p.Sessions) // so that the copies are created in the order of the originals
	for _, m := range p.Sessions {
		if err := c.copySession(ctx, m); err != nil {
			return &c.r, err
		}
		c.r.Done++
		c.r.Last = m.ID
		if c.progress != nil {
			c.progress(c.r)
		}
	}
	if c.preview {
		return &c.r, nil
	}
	return &c.r, c.deleteCopies(ctx)
}

// deleteCopies deletes the copies of sessions that the source keeps only for their forks.
func (c *copying) deleteCopies(ctx context.Context) error {
	forks, err := c.forks(ctx)
	if err != nil {
		return err
	}
	for id := range forks {
		m, err := c.from.lookup(ctx, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if m.Deleted && !slices.Contains(c.deleted, id) {
			c.deleted = append(c.deleted, id)
		}
	}
	return c.deleteParents(ctx, forks, &replicated{})
}

type copying struct {
	*replication
	progress func(CopyReport)
	preview  bool // nothing is copied
	r        CopyReport
}

// copySession copies a session. It returns an error only if copying cannot continue.
func (c *copying) copySession(ctx context.Context, m Meta) error {
	var (
		did replicated
		err error
	)
	if c.preview {
		did, err = c.countMissing(ctx, m)
	} else {
		did, err = c.replicate(ctx, m.ID, 0)
		if err == nil {
			err = c.compare(ctx, m)
		}
	}
	for _, did := range append(c.parents, did) {
		if did.Records > 0 {
			c.r.Changed++
		}
		c.r.Records += did.Records
		c.r.Bytes += did.Bytes
		c.r.Erased += did.Erased
	}
	c.parents = nil
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	for _, end := range []error{ErrFull, ErrReadOnly, ErrPoisoned, ErrClosed} {
		if errors.Is(err, end) {
			return err
		}
	}
	if gone, look := c.from.lookup(ctx, m.ID); errors.Is(look, ErrNotFound) || look == nil && gone.Deleted {
		return nil // deleted in the meantime
	}
	c.r.Faults = append(c.r.Faults, Error{Op: "copy", Session: m.ID, Err: err})
	return nil
}

// countMissing counts the records that copying would append.
func (c *copying) countMissing(ctx context.Context, m Meta) (replicated, error) {
	r := replicated{Session: m.ID}
	after := m.ParentSeq
	there, err := c.to.lookup(ctx, m.ID)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return r, err
	case there.Head == m.Head && there.HeadDigest == m.HeadDigest:
		return r, nil
	default:
		last, err := c.lastCommon(ctx, m, there)
		if err != nil {
			return r, err
		}
		after = last.Seq
	}
	for rec, err := range c.from.store.Read(ctx, m.ID, Range{After: after}) {
		if err != nil {
			return r, err
		}
		r.Records++
		r.Bytes += int64(len(rec.Payload))
	}
	return r, nil
}

// compare reads a session in both stores. Records that another writer appends to the original
// meanwhile are not compared.
func (c *copying) compare(ctx context.Context, m Meta) error {
	there, err := c.to.lookup(ctx, m.ID)
	if err != nil {
		return err
	}
	differs := func(seq int64, detail string) error {
		return &Error{Op: "compare", Session: m.ID, Seq: seq, Err: ErrCorrupt, Detail: "the copy " + detail, Hint: "delete the copy and copy again"}
	}
	if there.Head < m.Head {
		return differs(there.Head, "ends before the original")
	}
	r := Range{Until: there.Head}
	next, stop := iter.Pull2(c.to.store.Read(ctx, m.ID, r))
	defer stop()
	for want, err := range c.from.store.Read(ctx, m.ID, r) {
		if err != nil {
			return err
		}
		got, err, ok := next()
		switch {
		case !ok:
			return differs(want.Seq, "lacks a record")
		case err != nil:
			return err
		case got.Digest != want.Digest || got.ID != want.ID || got.Kind != want.Kind || !got.Time.Equal(want.Time):
			return differs(want.Seq, "has another record")
		case (got.Payload == nil) && want.Payload != nil:
			return differs(want.Seq, "lacks the payload")
		case record.IsSealed(want.Payload) && !bytes.Equal(got.Payload, want.Payload):
			return differs(want.Seq, "has another payload")
		case (got.Payload != nil) && want.Payload == nil:
			return differs(want.Seq, "has a payload that was erased")
		}
		if err := got.Check(); err != nil && !errors.Is(err, ErrSealed) {
			return err
		}
		c.r.Verified++
	}
	if _, _, more := next(); more {
		return differs(there.Head, "has more records")
	}
	return nil
}
