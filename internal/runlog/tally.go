package runlog

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Tally reads what the sessions of a store have used since a time. Each Read reads only the records
// that are new. A Tally is not safe for concurrent use.
//
//	t := &runlog.Tally{Since: today, Add: func(id, owner string, c runlog.Charge) { … }}
//	err := t.Read(ctx, sessions, "")
//	for a := range t.Answers() { … }
type Tally struct {
	Since time.Time
	// Add is called once for each charge, except those of Answers.
	Add func(id, owner string, c Charge)

	read    map[string]*position
	counted map[string]bool // sub-agents whose answers the logs of their runs count
	answers []Answer
}

// position is how far a session was read.
type position struct {
	meter Meter
	seq   int64
}

// Answer is the charge for an answer in the log of a session that works for a run.
type Answer struct {
	ID, Owner string
	Charge    Charge
}

// Read reads the sessions of a project that have changed; "" is any project.
func (t *Tally) Read(ctx context.Context, s *session.Sessions, project string) error {
	page, err := s.List(ctx, session.Query{Worktrees: true, Project: project, WithTrash: true})
	if err != nil {
		return err
	}
	if t.read == nil {
		t.read, t.counted = map[string]*position{}, map[string]bool{}
	}
	for i := range page.Sessions {
		m := &page.Sessions[i]
		if m.UpdatedAt.Before(t.Since) {
			continue
		}
		if err := t.session(ctx, s, m); err != nil && !errors.Is(err, session.ErrNotFound) && !errors.Is(err, session.ErrCorrupt) {
			return err
		}
	}
	return nil
}

// session reads the new records of a session itself; those that a fork shares belong to its parent.
func (t *Tally) session(ctx context.Context, s *session.Sessions, m *session.Meta) error {
	at := t.read[m.ID]
	switch {
	case at == nil:
		at = &position{seq: m.ParentSeq}
		t.read[m.ID] = at
	case at.seq >= m.Head:
		return nil
	}
	for r, err := range s.Records(ctx, m.ID, session.Range{After: at.seq}) {
		if err != nil {
			return err
		}
		at.seq = r.Seq
		c, ok := at.meter.Read(r)
		if !ok || r.Time.Before(t.Since) {
			continue
		}
		if c.Agent != "" {
			t.counted[c.Agent] = true
		}
		if c.Model == "" {
			c.Model = m.Model
		}
		if m.Owner != "" && c.Answer {
			t.answers = append(t.answers, Answer{m.ID, m.Owner, c})
			continue
		}
		t.Add(m.ID, m.Owner, c)
	}
	return nil
}

// Answers returns the charges for the answers of sub-agents, as they are known now. If the log of
// the run counts the answer, only the tool calls and denials are in the charge.
func (t *Tally) Answers() iter.Seq[Answer] {
	return func(yield func(Answer) bool) {
		for _, a := range t.answers {
			if t.counted[a.ID] {
				c := &a.Charge
				*c = Charge{Time: c.Time, Model: c.Model, Agent: c.Agent, Answer: c.Answer, ToolCalls: c.ToolCalls, Denials: c.Denials}
			}
			if !yield(a) {
				return
			}
		}
	}
}

// Day adds up what all sessions of a store cost on the current day, in local time.
type Day struct {
	tally *Tally
	cost  float64 // without the answers
}

// Cost reads what is new and returns the cost of the day so far in US dollars.
func (d *Day) Cost(ctx context.Context, s *session.Sessions, now time.Time) (float64, error) {
	year, month, day := now.Date()
	if since := time.Date(year, month, day, 0, 0, 0, 0, now.Location()); d.tally == nil || !d.tally.Since.Equal(since) {
		d.cost = 0
		d.tally = &Tally{Since: since, Add: func(_, _ string, c Charge) { d.cost += c.CostUSD }}
	}
	err := d.tally.Read(ctx, s, "")
	cost := d.cost
	for a := range d.tally.Answers() {
		cost += a.Charge.CostUSD
	}
	return cost, err
}
