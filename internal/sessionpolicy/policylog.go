// Package sessionpolicy reads and changes the policy of a session that nobody runs: from
// its log, and by a record in its log.
//
//	log ──► Guards ──► Change ──► policy.changed record, on the condition that the
//	                              log's head is what was read
//
// A run that is under way takes the record in before its next decision; one that goes
// on later replays it.
package sessionpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// Changes lists what a session's log says about policy since its run began, oldest
// first, as [policy.Guards.Replay] wants it. What was decided in the session that a fork
// was made from is not the fork's.
func Changes(ctx context.Context, s *session.Sessions, m session.Meta) (changes []json.RawMessage, err error) {
	for rec, err := range s.Records(ctx, m.ID, session.Range{After: m.ParentSeq, Until: m.Head}) {
		if err != nil {
			return nil, err
		}
		if rec.Kind != record.KindPolicyChanged || rec.Payload == nil {
			continue
		}
		var c policy.Change
		if err := c.Parse(rec.Payload); err != nil {
			return nil, fmt.Errorf("record %d: %w", rec.Seq, err)
		}
		if rec.Seq <= m.ParentSeq && c.Mode == "" { // a fork begins without what was granted in its parent
			continue
		}
		if c.Ended {
			changes = nil
		}
		changes = append(changes, rec.Payload)
	}
	return changes, nil
}

// PolicySession is the session whose log has the policy of a session's run: the one that it works for,
// where that is still there, or itself.
func PolicySession(ctx context.Context, s *session.Sessions, m session.Meta) (session.Meta, error) {
	if m.Owner == "" {
		return m, nil
	}
	run, err := s.Get(ctx, m.Owner)
	if errors.Is(err, session.ErrNotFound) {
		return m, nil
	}
	return run, err
}

// Guards replays those changes: grants, patches and mode. What settings say is not in
// the log, and not in the guards.
func Guards(ctx context.Context, s *session.Sessions, m session.Meta) (*policy.Guards, error) {
	changes, err := Changes(ctx, s, m)
	if err != nil {
		return nil, err
	}
	c := &policy.Config{}
	if filepath.IsAbs(m.CWD) { // what relative paths of a change are below
		c.Folders = []string{filepath.Clean(m.CWD)}
	}
	all, err := policy.New(c)
	if err == nil {
		err = all.Replay(changes)
	}
	return all, err
}

// Change records a change of a session's policy and returns it as it is on record.
// decide gets the guards as the log has left them, and is called again when somebody
// else was faster. Errors: those of decide, those of [policy.Guards.Check], and the store's.
func Change(ctx context.Context, s *session.Sessions, id string, decide func(*policy.Guards) (policy.Change, error)) (policy.Change, error) {
	for {
		m, err := s.Get(ctx, id)
		if err != nil {
			return policy.Change{}, err
		}
		all, err := Guards(ctx, s, m)
		if err != nil {
			return policy.Change{}, err
		}
		c, err := decide(all)
		if err == nil {
			c, err = all.Check(c)
		}
		if err != nil {
			return c, err
		}
		d, err := session.NewDraft(record.KindPolicyChanged, c)
		if err != nil {
			return c, err
		}
		if _, err = s.AppendShared(ctx, id, m.Head, d); !errors.Is(err, session.ErrConflict) {
			return c, err
		}
		if ctx.Err() != nil { // somebody was faster: look again
			return c, context.Cause(ctx)
		}
	}
}
