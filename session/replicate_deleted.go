package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// createRemnant creates a session that has only its fork point left: forks of it start before its
// own first record. It is deleted as soon as these forks exist.
func (s *replication) createRemnant(ctx context.Context, l *Log, m Meta, r *replicated) error {
	o := Opened{Format: record.FormatVersion, SessionID: m.ID, Created: m.CreatedAt, Owner: m.Owner}
	if m.Parent != "" {
		o.Base = &Base{Parent: m.Parent, Seq: m.ParentSeq}
		for rec, err := range s.from.records(ctx, m, Range{After: m.ParentSeq - 1, Until: m.ParentSeq}) {
			if err != nil {
				return err
			}
			o.Base.Digest = rec.Digest
		}
	}
	d, err := NewDraft(record.KindOpened, o)
	if err != nil {
		return err
	}
	rec := Record{Seq: m.ParentSeq + 1, ID: "remnant-" + m.ID, Time: m.UpdatedAt, Kind: record.KindOpened, Payload: d.Payload}
	if o.Base != nil {
		rec.Seal(o.Base.Digest)
	} else {
		rec.Seal(Digest{})
	}
	p := copyBatch{l: l, r: r, from: m, batch: []Record{rec}}
	return p.send(ctx)
}

// deleteIfGone deletes a copy that was just created of a session that was deleted meanwhile: the
// deletion found no copy to delete.
func (s *replication) deleteIfGone(ctx context.Context, m Meta) error {
	now, err := s.from.lookup(ctx, m.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		return errors.Join(err, s.delete(ctx, m.ID))
	case err == nil && now.Deleted && !slices.Contains(s.deleted, m.ID):
		s.deleted = append(s.deleted, m.ID)
	}
	return err
}

// deleteUnneeded deletes in the target the sessions that the source keeps only for their forks,
// once all these forks are there.
func (s *replication) deleteUnneeded(ctx context.Context, r *replicated) error {
	if len(s.deleted) == 0 {
		return nil
	}
	forks, err := s.forks(ctx)
	if err != nil {
		return err
	}
	return s.deleteParents(ctx, forks, r)
}

func (s *replication) deleteParents(ctx context.Context, forks map[string][]string, r *replicated) error {
	for _, id := range s.deleted {
		there, err := s.to.lookup(ctx, id)
		if errors.Is(err, ErrNotFound) || err == nil && there.Deleted {
			continue
		}
		ready := err == nil
		for _, fork := range forks[id] {
			_, err := s.to.lookup(ctx, fork)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			ready = ready && err == nil
		}
		if err != nil {
			return err
		}
		if !ready {
			continue
		}
		if err := s.delete(ctx, id); err != nil {
			return fmt.Errorf("delete the copy of a deleted session: %w", err)
		}
		r.Deleted = r.Deleted || id == r.Session
	}
	return nil
}

func (s *replication) delete(ctx context.Context, id string) error {
	err := s.to.Delete(ctx, id)
	if errors.Is(err, ErrNotFound) { // already deleted
		return nil
	}
	return err
}

// forks lists the forks of every session in the source store, including deleted ones.
func (s *replication) forks(ctx context.Context) (map[string][]string, error) {
	p, err := s.from.store.List(ctx, Query{Worktrees: true, WithTrash: true})
	if err != nil {
		return nil, err
	}
	forks := map[string][]string{}
	seen := map[string]bool{}
	for _, m := range p.Sessions {
		for m.Parent != "" && !seen[m.ID] {
			seen[m.ID] = true
			forks[m.Parent] = append(forks[m.Parent], m.ID)
			if m, err = s.from.lookup(ctx, m.Parent); errors.Is(err, ErrNotFound) {
				break // the session is damaged: the error is reported when the record is read
			} else if err != nil {
				return nil, err
			}
		}
	}
	return forks, nil
}
