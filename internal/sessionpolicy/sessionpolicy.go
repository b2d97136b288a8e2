// Package sessionpolicy reads and changes the policy of a session through its log, without running it.
//
//	log ──► Guards ──► Change ──► policy.changed record, appended only if the log's head
//	                              has not changed since it was read
//
//	g, err := sessionpolicy.Guards(ctx, sessions, meta)
//	c, err := sessionpolicy.Change(ctx, sessions, id, func(g *policy.Guards) (policy.Change, error) { … })
//
// A running agent applies the record before its next decision; a resumed one replays it. The settings
// are not part of the log, so their rules are not in the guards.
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

// Changes returns the policy changes in a session's log since its run began, oldest first, as input for
// [policy.Guards.Replay]. A fork does not inherit the changes of its parent.
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
		if rec.Seq <= m.ParentSeq && c.Mode == "" { // a fork does not inherit grants
			continue
		}
		if c.Ended {
			changes = nil
		}
		changes = append(changes, rec.Payload)
	}
	return changes, nil
}

// PolicySession returns the session whose log holds the policy for the runs of m. That is the owner
// of m if the owner still exists, otherwise m itself.
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

// Guards returns guards with the changes of a session's log: grants, patches and mode. They do not have
// the rules of the settings.
func Guards(ctx context.Context, s *session.Sessions, m session.Meta) (*policy.Guards, error) {
	changes, err := Changes(ctx, s, m)
	if err != nil {
		return nil, err
	}
	c := &policy.Config{}
	if filepath.IsAbs(m.CWD) { // the base of relative paths in changes
		c.Folders = []string{filepath.Clean(m.CWD)}
	}
	all, err := policy.New(c)
	if err == nil {
		err = all.Replay(changes)
	}
	return all, err
}

// Change records a change of a session's policy and returns the recorded change. decide gets the current
// guards of the session, and is called again if another program appended to the log meanwhile. Change
// returns the errors of decide, of [policy.Guards.Check] and of the store.
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
		if ctx.Err() != nil { // another program appended first: try again
			return c, context.Cause(ctx)
		}
	}
}
