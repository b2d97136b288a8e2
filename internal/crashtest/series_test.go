package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// series is a number of trials on one kind of store with one kind of work. Each child
// continues the sessions of the previous one, until they are retired.
type series struct {
	store, work string
	dir         string // the stores'
	outside     string // the ledgers'
	rng         *rand.Rand
	noSync      bool // controls: a loss is expected
	early       bool
	retire      int // after how many trials a new store is begun

	typical time.Duration // how long an undisturbed child works
	n       int           // children so far
	tally   Totals
	acked   Evidence
	last    Task     // of the last child
	found   *Finding // after it
}

const rounds = 4 // prompts of an undisturbed run; each has two rounds of tool calls

func (s *series) task() Task {
	generation := s.n / s.retire
	if s.n%s.retire == 0 {
		s.acked = Evidence{}
	}
	return Task{
		Store: s.store, Work: s.work, Rounds: rounds, NoSync: s.noSync, Early: s.early, Run: s.n,
		Dir:      filepath.Join(s.dir, fmt.Sprint("store-", generation)),
		Ledger:   filepath.Join(s.outside, fmt.Sprint("ledger-", generation)),
		Sessions: []string{fmt.Sprint("a", generation), fmt.Sprint("b", generation)},
	}
}

// undisturbed runs one child to its end and takes its time. At the beginning it
// says how long a run is, at the end that the last crash can be resumed too.
func (s *series) undisturbed(t *testing.T) {
	t.Helper()
	task := s.task()
	s.n++
	report, err := Launch(t.Context(), task, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Done || len(report.Faults) > 0 {
		t.Fatalf("an undisturbed child did not come to its end: %q %q", report.Faults, report.Failed)
	}
	s.typical = report.Took
	s.tally.Resumed += report.Resumed
	s.acked.Add(report.Acks)
	s.verify(t, task)
}

// finish shows that the last crash can be resumed too, and sums up.
func (s *series) finish(t *testing.T) {
	t.Helper()
	s.undisturbed(t)
	if s.n%s.retire != 0 {
		s.retireStore(t)
	}
	t.Log(&s.tally)
}

// trial starts a child and kills it at a random time.
func (s *series) trial(t *testing.T, kill func() error, restart func(context.Context) error) (ok bool) {
	t.Helper()
	task := s.task()
	s.n++
	delay := time.Duration(s.rng.Int64N(s.typical.Microseconds()+1)) * time.Microsecond
	report, err := Launch(t.Context(), task, delay, kill)
	if err != nil {
		t.Fatal(err)
	}
	s.tally.Add(report)
	s.learn(report)
	before, late := report.Split()
	s.acked.Add(before)
	for _, f := range report.Faults {
		t.Errorf("trial %d after %v: %s", s.n-1, delay, f)
	}
	if kill == nil {
		for _, f := range report.Failed {
			t.Errorf("trial %d after %v: the child failed: %s", s.n-1, delay, f)
		}
	}
	if kill != nil {
		s.tally.Late += len(late)
		if err := errors.Join(restart(t.Context()), MarkLate(task.Ledger, report.KilledAt)); err != nil {
			t.Fatal(err)
		}
	}
	return s.verify(t, task)
}

// learn follows the length of a run on a machine that is not always as busy.
func (s *series) learn(r *Report) {
	if r.Done {
		s.typical = (s.typical + r.Took) / 2
	} else {
		s.typical += s.typical / 50
	}
}

// verify checks what is left.
func (s *series) verify(t *testing.T, task Task) bool {
	t.Helper()
	ledger, err := OpenLedger(task.Ledger) // it may not be there yet
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	f := &Finding{}
	store, err := OpenStore(task.Store, task.Dir)
	if err != nil {
		f.wrong("the store does not open: %v", err)
	} else {
		if f, err = Verify(t.Context(), store, s.acked, task.Ledger); err != nil {
			t.Fatal(err)
		}
		if err := CloseStore(store); err != nil {
			f.wrong("the store does not close: %v", err)
		}
	}
	s.last, s.found = task, f
	s.tally.Found(f)
	if !s.noSync && !s.early {
		for _, p := range f.Problem {
			t.Errorf("trial %d: %s", s.n-1, p)
		}
	}
	if s.n%s.retire == 0 {
		s.retireStore(t)
	}
	return len(f.Problem) == 0
}

// retireStore counts what is only known at the end, and removes the store.
func (s *series) retireStore(t *testing.T) {
	t.Helper()
	ran, err := ReadLedger(s.last.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	for _, uses := range ran {
		s.tally.Ran += len(uses)
	}
	s.tally.Unacked += s.found.Unacked
	s.tally.Unknown += s.found.Unknown
	if err := os.RemoveAll(s.last.Dir); err != nil {
		t.Fatal(err)
	}
}
