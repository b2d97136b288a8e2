// Package prune finds old sessions and moves them to the trash, or deletes sessions that have been
// in the trash for a long time.
//
//	list, err := prune.Find(ctx, sessions, o)
//	for i := range list {
//		err := list[i].Remove(ctx, sessions, o) // sets KeptReason if it keeps the session
//	}
package prune

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Options select old sessions.
type Options struct {
	Before     time.Time // selects sessions last changed or, with Empty, moved to the trash before this time
	Project    string    // "" means all projects
	Tag        string    // only sessions with this tag
	KeepTagged bool      // keep every session that has a tag
	// Empty deletes sessions in the trash instead of moving old ones there. Records that forks need
	// are kept, as in [session.Sessions.Delete].
	Empty bool
}

// Session is an old session, removed or kept.
type Session struct {
	Meta       session.Meta
	KeptReason string // why it is kept, or "" if it is removed
}

// Find lists the sessions that [Session.Remove] would remove, and removes nothing. Sub-agents'
// sessions are removed with the run's session. Running sessions, and those that wait for an
// answer, are kept.
func Find(ctx context.Context, s *session.Sessions, o Options) ([]Session, error) {
	q := session.Query{Project: o.Project, Tag: o.Tag, Worktrees: true}
	if o.Empty {
		q.OnlyTrash = true
	}
	page, err := s.List(ctx, q)
	if err != nil {
		return nil, err
	}
	present := make(map[string]bool, len(page.Sessions))
	for i := range page.Sessions {
		present[page.Sessions[i].ID] = true
	}
	var list []Session
	for _, m := range page.Sessions {
		if m.Owner != "" && present[m.Owner] || !o.old(&m) {
			continue
		}
		kept, err := o.familyKeepReason(ctx, s, &m)
		if err != nil {
			return nil, err
		}
		list = append(list, Session{m, kept})
	}
	return list, nil
}

func (o *Options) old(m *session.Meta) bool {
	if !o.Empty {
		return m.UpdatedAt.Before(o.Before)
	}
	at, err := time.Parse(time.RFC3339, m.Trashed)
	return err == nil && at.Before(o.Before)
}

// familyKeepReason returns why an old session is kept, or "". A session that works for the old
// session's run is removed together with it, so it can also be the reason to keep it.
func (o *Options) familyKeepReason(ctx context.Context, s *session.Sessions, m *session.Meta) (string, error) {
	why, err := o.keepReason(ctx, s, m)
	if err != nil || why != "" {
		return why, err
	}
	owned, err := s.Family(ctx, m.ID)
	if err != nil {
		return "", err
	}
	for i := range owned {
		of := &owned[i]
		if (of.Trashed != "") != o.Empty { // already in the trash, or restored from it
			continue
		}
		switch why, err := o.keepReason(ctx, s, of); {
		case err != nil:
			return "", err
		case why != "":
			return of.ID + " works for its run: " + why, nil
		case !o.old(of):
			return of.ID + " works for its run and is newer", nil
		}
	}
	return "", nil
}

// keepReason returns why the session is kept, without regard to the sessions that work for its run.
func (o *Options) keepReason(ctx context.Context, s *session.Sessions, m *session.Meta) (string, error) {
	held, err := s.Lease(ctx, m.ID)
	switch {
	case err != nil:
		return "", err
	case held != nil:
		return "it is open in " + held.Holder.String(), nil
	case m.OpenApprovals > 0 && !o.Empty:
		return "an approval request waits for an answer", nil
	case o.KeepTagged && m.Tag != "":
		return "it has the tag " + m.Tag, nil
	}
	return "", nil
}

// Remove moves a session found by [Find] to the trash, or deletes it. If a session is no longer old
// because it was opened, resumed or restored from the trash meanwhile, it is kept and gets a
// KeptReason.
func (p *Session) Remove(ctx context.Context, s *session.Sessions, o Options) error {
	if p.KeptReason != "" {
		return nil
	}
	m, err := s.Get(ctx, p.Meta.ID)
	switch {
	case errors.Is(err, session.ErrNotFound):
		p.KeptReason = "it was deleted meanwhile"
		return nil
	case err != nil:
		return err
	case (m.Trashed != "") != o.Empty || !o.old(&m):
		p.KeptReason = "it was changed meanwhile"
		return nil
	}
	if p.KeptReason, err = o.familyKeepReason(ctx, s, &m); err != nil || p.KeptReason != "" {
		return err
	}
	if o.Empty {
		err = remove(ctx, s, m.ID)
	} else {
		err = s.Trash(ctx, m.ID)
	}
	if errors.Is(err, session.ErrBusy) {
		p.KeptReason, err = err.Error(), nil
	}
	return err
}

// remove deletes a session and those that work for its run, except sessions restored from the
// trash meanwhile.
func remove(ctx context.Context, s *session.Sessions, id string) error {
	family, err := s.Family(ctx, id)
	if err != nil {
		return err
	}
	if err := s.Delete(ctx, id); err != nil {
		return err
	}
	for _, m := range family {
		if m.Trashed == "" {
			continue
		}
		if err := s.Delete(ctx, m.ID); err != nil {
			return err
		}
	}
	return nil
}
