package mirror

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// task is the pending work for one session.
type task struct {
	deleted      bool           // deleted in the primary
	erase        map[int64]bool // payloads erased in the primary
	version      int64          // incremented by each change
	since        int64          // the store's round when the work arrived
	tried        int64          // round of the last attempt
	at           time.Time      // earliest time of the next attempt
	delay        time.Duration
	sessionError error // error of the last attempt if it concerns only this session
}

// The pauses after failed attempts.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
)

// mark adds work for a session.
func (s *Store) mark(id string, change func(*task)) {
	s.mu.Lock()
	t := s.work[id]
	if t == nil {
		t = &task{since: s.round}
		s.work[id] = t
	}
	t.version++
	if change != nil {
		change(t)
	}
	s.mu.Unlock()
	s.wakeReplication()
}

// wakeReplication wakes the replicating goroutine.
func (s *Store) wakeReplication() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run replicates until ctx ends.
func (s *Store) run(ctx context.Context) {
	for {
		next := s.pass(ctx)
		var due <-chan time.Time
		var timer *time.Timer
		if !next.IsZero() {
			timer = time.NewTimer(time.Until(next))
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-due:
		}
		if timer != nil {
			timer.Stop()
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// pass performs all work that is due and returns the time of the next work; zero means that there
// is none until a wake-up.
func (s *Store) pass(ctx context.Context) time.Time {
	s.mu.Lock()
	round, waiting := s.round, time.Now().Before(s.resume)
	s.mu.Unlock()
	if !waiting {
		s.attempt(ctx, round)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !waiting {
		s.round++
		close(s.attempted)
		s.attempted = make(chan struct{})
	}
	return s.next()
}

// attempt compares heads if that is due, and replicates the due sessions.
func (s *Store) attempt(ctx context.Context, round int64) {
	s.mu.Lock()
	compare := !s.compared || !s.compareAt.IsZero() && !time.Now().Before(s.compareAt)
	s.mu.Unlock()
	if compare {
		if err := s.compare(ctx); err != nil {
			s.failed(err)
			return
		}
	}
	for _, id := range s.due() {
		if ctx.Err() != nil {
			return
		}
		if err := s.do(ctx, id, round); err != nil {
			s.failed(err)
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause, s.resume = 0, time.Time{}
	if s.status.Err = s.ownError(); s.status.Err == nil {
		s.status.Failing = time.Time{}
	} else if s.status.Failing.IsZero() {
		s.status.Failing = time.Now()
	}
}

// failed notes that a store cannot be reached.
func (s *Store) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.Failing.IsZero() {
		s.status.Failing = time.Now()
	}
	s.status.Err = err
	s.pause = min(max(2*s.pause, firstPause), lastPause)
	s.resume = time.Now().Add(s.pause)
}

// next returns the time of the next work. s.mu is held.
func (s *Store) next() time.Time {
	if !s.resume.IsZero() {
		return s.resume
	}
	next := s.compareAt
	for _, t := range s.work {
		if next.IsZero() || t.at.Before(next) {
			next = t.at
		}
		if t.at.IsZero() { // changed while it was replicated
			return time.Now()
		}
	}
	return next
}

// due lists the sessions to replicate. Sessions to delete come last, because their forks must be
// replicated first.
func (s *Store) due() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ships, deletions []string
	now := time.Now()
	for id, t := range s.work {
		switch {
		case now.Before(t.at):
		case t.deleted:
			deletions = append(deletions, id)
		default:
			ships = append(ships, id)
		}
	}
	slices.Sort(ships)
	slices.Sort(deletions)
	return append(ships, deletions...)
}

// do performs the pending work of a session. The error is one that concerns all sessions.
func (s *Store) do(ctx context.Context, id string, round int64) error {
	s.mu.Lock()
	t := s.work[id]
	version, deleted := t.version, t.deleted
	erase := make([]int64, 0, len(t.erase))
	for seq := range t.erase {
		erase = append(erase, seq)
	}
	s.mu.Unlock()
	shipped, err := s.copySession(ctx, id, deleted, erase)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Copied += shipped
	t.tried = round + 1
	switch {
	case err == nil && t.version == version:
		delete(s.work, id)
	case err == nil:
		t.at, t.delay, t.sessionError = time.Time{}, 0, nil
		t.deleted = t.deleted && !deleted
		for _, seq := range erase {
			delete(t.erase, seq)
		}
	case isSessionError(err), errors.Is(err, errAwaitForks):
		t.sessionError = err
		if errors.Is(err, errAwaitForks) || t.version != version { // if the session changed meanwhile, the error concerns the old state
			t.sessionError = nil
		}
		t.delay = min(max(2*t.delay, firstPause), lastPause)
		t.at = time.Now().Add(t.delay)
	default:
		return err
	}
	return nil
}

// copySession performs the pending work of a session: it deletes, copies and erases in the
// secondary. It returns the number of copied records.
func (s *Store) copySession(ctx context.Context, id string, deleted bool, erase []int64) (records int64, err error) {
	if deleted {
		if err := s.delete(ctx, id); err != nil {
			return 0, err
		}
	}
	r, err := session.New(s.primary, nil).Replicate(ctx, s.secondary, id)
	if errors.Is(err, session.ErrNotFound) { // the session was deleted meanwhile: there is a task to delete it, or it is an orphan
		gone, look := s.find(ctx, s.primary, id)
		switch {
		case look != nil || gone != nil:
		case deleted: // the session was removed with its last fork; this is not reported
			return r, s.delete(ctx, id)
		default:
			return r, nil
		}
	}
	if err == nil && len(erase) > 0 {
		err = s.erase(ctx, id, erase)
	}
	if err == nil && deleted {
		err = s.awaitsDelete(ctx, id)
	}
	return r, err
}

// errAwaitForks means that a copy will be deleted as soon as all its forks are replicated.
var errAwaitForks = errors.New("waiting for its forks to be copied")

// awaitsDelete reports whether a deleted session must still be deleted in the secondary.
func (s *Store) awaitsDelete(ctx context.Context, id string) error {
	here, err := s.find(ctx, s.primary, id)
	if err != nil || here != nil && !here.Deleted {
		return err // recreated meanwhile
	}
	there, err := s.find(ctx, s.secondary, id)
	if err == nil && there != nil && !there.Deleted {
		err = errAwaitForks
	}
	return err
}

// delete deletes a session in the secondary that the primary no longer has. Sessions that the
// primary keeps for forks are left to [session.Sessions.Replicate].
func (s *Store) delete(ctx context.Context, id string) error {
	there, err := s.find(ctx, s.primary, id)
	if err != nil || there != nil && there.Deleted {
		return err
	}
	err = session.New(s.secondary, nil).Delete(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	return err
}

// erase erases payloads in the secondary under a separate lease.
func (s *Store) erase(ctx context.Context, id string, seqs []int64) error {
	e, ok := session.As[session.Eraser](s.secondary)
	if !ok {
		return &session.Error{Op: "erase", Session: id, Err: session.ErrUnsupported, Detail: "the secondary cannot erase"}
	}
	there, err := s.find(ctx, s.secondary, id)
	if err != nil || there == nil {
		return err
	}
	if there.Deleted { // erase the payloads that its forks show
		return e.Erase(ctx, id, 0, seqs)
	}
	l, err := session.New(s.secondary, nil).Open(ctx, id, &session.OpenOptions{Trashed: true})
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(e.Erase(ctx, id, l.Lease().Epoch, seqs), l.Close())
}

// find returns the meta of a session, including a deleted one, or nil if there is none.
func (s *Store) find(ctx context.Context, store session.Store, id string) (*session.Meta, error) {
	p, err := store.List(ctx, session.Query{ID: id})
	if err != nil || len(p.Sessions) == 0 {
		return nil, err
	}
	return &p.Sessions[0], nil
}

// isSessionError reports whether an error concerns only its session.
func isSessionError(err error) bool {
	for _, e := range []error{
		session.ErrConflict, session.ErrCorrupt, session.ErrExists, session.ErrBusy, session.ErrInvalid, session.ErrInvalidID,
		session.ErrUnsupported, session.ErrSealed, session.ErrNotFound, session.ErrFenced, session.ErrNewer, session.ErrTrashed,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// compare compares the heads of all sessions and adds work for differences.
func (s *Store) compare(ctx context.Context) error {
	all := session.Query{Worktrees: true, WithTrash: true}
	there, err := s.secondary.List(ctx, all)
	if err != nil {
		return err
	}
	here, err := s.primary.List(ctx, all) // the primary is read after the secondary, so that copies are never ahead
	if err != nil {
		return err
	}
	copies := make(map[string]session.Meta, len(there.Sessions))
	for _, m := range there.Sessions {
		copies[m.ID] = m
	}
	for _, m := range here.Sessions {
		if c, ok := copies[m.ID]; !ok || c.Head != m.Head || c.HeadDigest != m.HeadDigest {
			s.mark(m.ID, nil)
		}
		delete(copies, m.ID)
	}
	orphans, err := s.handleOrphans(ctx, copies, len(here.Sessions) > 0)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compared, s.compareAt = true, time.Time{}
	if s.opt.Interval > 0 {
		s.compareAt = time.Now().Add(s.opt.Interval)
	}
	s.status.Orphans = orphans
	return nil
}

// handleOrphans handles sessions that the primary does not list: a session that the primary keeps
// for its forks is replicated as a deleted session, and any other one is deleted or counted.
func (s *Store) handleOrphans(ctx context.Context, copies map[string]session.Meta, some bool) (n int, err error) {
	for id := range copies {
		m, err := s.find(ctx, s.primary, id)
		switch {
		case err != nil:
			return 0, err
		case m != nil:
			s.mark(id, func(t *task) { t.deleted = t.deleted || m.Deleted })
		case s.opt.DeleteOrphans && some:
			s.mark(id, func(t *task) { t.deleted = true })
		default:
			n++
		}
	}
	return n, nil
}
