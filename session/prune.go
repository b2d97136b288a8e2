package session

import (
	"context"
	"errors"
	"slices"
	"time"
)

// PruneOptions says which sessions are old.
type PruneOptions struct {
	Before     time.Time // not changed since then; in the trash since before then
	Project    string    // "" is all projects
	Tag        string    // only sessions with this tag
	KeepTagged bool      // none that has a tag
	// Empty deletes what lies in the trash, instead of putting there what is old. What
	// forks need stays, as with [Sessions.Delete].
	Empty bool
}

// Pruned is one session that was found old, or would have been.
type Pruned struct {
	Meta Meta
	Kept string // why it stays; "" when it does not
}

// Prunable finds what [Sessions.Prune] would do, and does nothing. Agents of a run go
// with the run. What runs, and what waits for an answer, stays.
func (s *Sessions) Prunable(ctx context.Context, o PruneOptions) ([]Pruned, error) {
	q := Query{Project: o.Project, Tag: o.Tag, Worktrees: true}
	if o.Empty {
		q.Trash = TrashOnly
	}
	page, err := s.store.List(ctx, q)
	if err != nil {
		return nil, err
	}
	present := make(map[string]bool, len(page.Sessions))
	for i := range page.Sessions {
		present[page.Sessions[i].ID] = true
	}
	var list []Pruned
	for _, m := range page.Sessions {
		if m.Owner != "" && present[m.Owner] || !o.old(&m) {
			continue
		}
		kept, err := s.needed(ctx, &m, &o)
		if err != nil {
			return nil, err
		}
		list = append(list, Pruned{m, kept})
	}
	return list, nil
}

func (o *PruneOptions) old(m *Meta) bool {
	if !o.Empty {
		return m.UpdatedAt.Before(o.Before)
	}
	at, err := time.Parse(time.RFC3339, m.Trashed)
	return err == nil && at.Before(o.Before)
}

// needed says why an old session stays, or "". What works for its run goes with it, and
// so keeps it, too.
func (s *Sessions) needed(ctx context.Context, m *Meta, o *PruneOptions) (string, error) {
	why, err := s.wanted(ctx, m, o)
	if err != nil || why != "" {
		return why, err
	}
	owned, err := s.owned(ctx, m.ID)
	if err != nil {
		return "", err
	}
	for i := range owned {
		of := &owned[i]
		if (of.Trashed != "") != o.Empty { // there already, or taken out again
			continue
		}
		switch why, err := s.wanted(ctx, of, o); {
		case err != nil:
			return "", err
		case why != "":
			return of.ID + " works for its run: " + why, nil
		case !o.old(of):
			return of.ID + " works for its run and is not as old", nil
		}
	}
	return "", nil
}

// wanted says why a session stays by itself.
func (s *Sessions) wanted(ctx context.Context, m *Meta, o *PruneOptions) (string, error) {
	held, err := s.Held(ctx, m.ID)
	switch {
	case err != nil:
		return "", err
	case held != nil:
		return "it is open in " + held.Holder.String(), nil
	case m.Questions > 0 && !o.Empty:
		return "a question waits for an answer", nil
	case o.KeepTagged && m.Tag != "":
		return "it has the tag " + m.Tag, nil
	}
	return "", nil
}

// Prune does to p what [Sessions.Prunable] found it to be due: it puts it into the
// trash, or deletes it. One that is not due any more stays, and Kept says so: somebody
// opened it, went on with it, or took it out of the trash meanwhile.
func (s *Sessions) Prune(ctx context.Context, p *Pruned, o PruneOptions) error {
	if p.Kept != "" {
		return nil
	}
	m, err := s.Get(ctx, p.Meta.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		p.Kept = "it was deleted meanwhile"
		return nil
	case err != nil:
		return err
	case (m.Trashed != "") != o.Empty || !o.old(&m):
		p.Kept = "it was changed meanwhile"
		return nil
	}
	if p.Kept, err = s.needed(ctx, &m, &o); err != nil || p.Kept != "" {
		return err
	}
	act := s.Trash
	if o.Empty {
		act = s.deleteFamily
	}
	err = act(ctx, m.ID)
	if errors.Is(err, ErrBusy) {
		p.Kept, err = err.Error(), nil
	}
	return err
}

// Sweep removes what crashes and deletes have left in the store, where that is a
// [sweeper]. It is for after a pruning, and never needed.
func (s *Sessions) Sweep(ctx context.Context) error {
	if sw, ok := As[sweeper](s.store); ok {
		_, err := sw.Sweep(ctx)
		return err
	}
	return nil
}

// DeleteFamily deletes a session for good, and first those that work for its run, so that
// what is left when something comes between can be deleted again. Errors are those of
// [Sessions.Delete].
func (s *Sessions) DeleteFamily(ctx context.Context, id string) error {
	owned, err := s.owned(ctx, id)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(owned) {
		if err := s.Delete(ctx, m.ID); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return s.Delete(ctx, id)
}

// deleteFamily deletes a session and those that work for its run.
func (s *Sessions) deleteFamily(ctx context.Context, id string) error {
	return s.family(ctx, id, func(m Meta) error {
		if m.ID != id && m.Trashed == "" {
			return nil // somebody took it out of the trash
		}
		return s.Delete(ctx, m.ID)
	})
}
