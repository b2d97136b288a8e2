package session

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Rename sets the title. It needs no lease. Renaming a session that does not exist does nothing,
// as in the Open Agent SDK.
func (s *Sessions) Rename(ctx context.Context, id, title string) error {
	return ignoreMissing(s.Patch(ctx, id, MetaPatch{Title: &title}))
}

// Tag sets the tag; an empty one clears it. Tagging a session that does not exist does nothing, as
// in the Open Agent SDK.
func (s *Sessions) Tag(ctx context.Context, id, tag string) error {
	return ignoreMissing(s.Patch(ctx, id, MetaPatch{Tag: &tag}))
}

func ignoreMissing(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Relocate records that the session's folder has moved, and the project it now belongs to.
// It returns ErrNotFound if there is no such session.
func (s *Sessions) Relocate(ctx context.Context, id, cwd, project string) error {
	return s.Patch(ctx, id, MetaPatch{CWD: &cwd, Project: &project})
}

// Patch changes metadata by a meta.changed record, without a lease. It leaves out fields that
// already have their value and writes nothing if none is left. It returns ErrNotFound if there is
// no such session.
func (s *Sessions) Patch(ctx context.Context, id string, p MetaPatch) error {
	rid := s.opt.NewID()
	for {
		m, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		d, changes, err := p.draft(m)
		if err != nil || !changes {
			return err
		}
		d.ID = rid
		if _, err = s.appendShared(ctx, m, m.Head, []Draft{d}); !errors.Is(err, ErrConflict) {
			return err
		}
		if err := ctx.Err(); err != nil { // another writer appended first: read again
			return err
		}
	}
}

// draft returns the record that applies patch p to m, and whether the patch changes anything.
func (p MetaPatch) draft(m Meta) (Draft, bool, error) {
	changes := false
	for _, f := range []struct {
		set **string
		now string
	}{
		{&p.Title, m.Title},
		{&p.Summary, m.Summary},
		{&p.Tag, m.Tag},
		{&p.CWD, m.CWD},
		{&p.Project, m.Project},
		{&p.Model, m.Model},
		{&p.GitBranch, m.GitBranch},
		{&p.Trashed, m.Trashed},
	} {
		if *f.set != nil && **f.set == f.now {
			*f.set = nil
		}
		changes = changes || *f.set != nil
	}
	if !changes {
		return Draft{}, false, nil
	}
	d, err := NewDraft(record.KindMetaChanged, p)
	return d, true, err
}
