package crashtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/session"
)

// A run is repeatedly killed around its approval requests and continues each time. The
// requests are answered by this process, by the child and by third programs, some of which are
// killed too. A full run is HOLDFAST_CRASH_TRIALS=2000: 200 kills on each store.
func TestKillDuringApproval(t *testing.T) {
	for _, store := range Stores {
		t.Run(store, func(t *testing.T) {
			s := &askSeries{kind: store, dir: t.TempDir(), rng: random(t), stages: map[string]int{}, moments: map[string]int{}}
			for range trials(t, 200) {
				s.trial(t)
				if t.Failed() {
					t.Fatalf("stopped at the first fault, trial %d", s.n)
				}
			}
			s.close(t)
			t.Log(s)
		})
	}
}

// askSeries is a number of trials on one kind of store. Each child continues the session of
// the previous one, until it is retired.
type askSeries struct {
	kind, dir string
	rng       *rand.Rand
	n         int // children so far
	trials    int

	store     session.Store // this process's own handle
	sessions  *session.Sessions
	task      Task
	acked     Evidence
	given     map[string]approval.Answer // the answers that Resolve accepted from this process
	typical   time.Duration              // of a run whose person is quick
	answering sync.WaitGroup             // an answer in progress while the child is killed

	stages, moments                          map[string]int
	questions, allowed, denied, ran, unknown int
}

func (s *askSeries) String() string {
	return fmt.Sprintf("%d kills; struck %v; found %v; %d questions, %d allowed and %d denied; %d tool runs, %d of unknown outcome",
		s.trials, s.moments, s.stages, s.questions, s.allowed, s.denied, s.ran, s.unknown)
}

const retireAsking = 10 // trials

// begin makes a new store with a session.
func (s *askSeries) begin(t *testing.T) {
	t.Helper()
	dir := filepath.Join(s.dir, fmt.Sprint("store-", s.n))
	store, err := OpenStore(s.kind, dir)
	if err != nil {
		t.Fatal(err)
	}
	s.store, s.sessions = store, session.New(store, nil)
	s.task = Task{Store: s.kind, Dir: dir, Ledger: filepath.Join(s.dir, fmt.Sprint("ledger-", s.n)), Sessions: []string{"s"}, Rounds: 1}
	s.acked, s.given = Evidence{}, map[string]approval.Answer{}
	s.undisturbed(t, true)
}

// close sums up and removes the store.
func (s *askSeries) close(t *testing.T) {
	t.Helper()
	if s.store == nil {
		return
	}
	for _, a := range s.asked(t) {
		s.questions++
		s.ran += a.Runs.Times
		if a.Answers[0].Decision.Allows() {
			s.allowed++
		} else {
			s.denied++
		}
		if a.Started > 0 && a.Result[:3] != "ran" {
			s.unknown++
		}
	}
	if err := errors.Join(CloseStore(s.store), os.RemoveAll(s.task.Dir)); err != nil {
		t.Fatal(err)
	}
	s.store = nil
}

func (s *askSeries) next(work string, person bool) Task {
	t := s.task
	t.Work, t.Person, t.Run = work, person, s.n
	s.n++
	return t
}

// trial kills a child at a random time, answers at another, and lets the next child finish.
func (s *askSeries) trial(t *testing.T) {
	t.Helper()
	if s.trials%retireAsking == 0 {
		s.close(t)
		s.begin(t)
	}
	s.trials++
	m := killPoints[s.rng.IntN(len(killPoints))]
	s.moments[m.name]++
	delay := time.Duration(0)
	if m.when == nil {
		delay = s.upTo(s.typical)
	}
	before := len(s.asked(t))
	report, err := Launch(t.Context(), s.next("ask", m.person), delay, func() error {
		if m.when == nil {
			return nil
		}
		return m.when(t, s)
	})
	s.answering.Wait()
	if err != nil {
		t.Fatal(err)
	}
	s.took(t, report)
	s.stages[s.stage(t, before)]++
	s.check(t, false)
	if s.rng.IntN(2) == 0 {
		s.answer(t)
		s.check(t, false)
	}
	s.undisturbed(t, s.rng.IntN(2) == 0)
}

// killPoint is when a child is killed.
type killPoint struct {
	name   string
	person bool                               // the child's own person is there
	when   func(*testing.T, *askSeries) error // returns at the moment; nil: any time
}

var killPoints = []killPoint{
	{"anywhere", true, nil},
	{"anywhere, alone", false, nil},
	{"open", false, func(t *testing.T, s *askSeries) error {
		s.awaitQuestion(t)
		s.pause(10 * time.Millisecond)
		return nil
	}},
	{"answering", false, func(t *testing.T, s *askSeries) error {
		s.awaitQuestion(t)
		s.answering.Go(func() { s.answer(t) })
		s.pause(2 * time.Millisecond)
		return nil
	}},
	{"answering, killed too", false, func(t *testing.T, s *askSeries) error {
		s.awaitQuestion(t)
		report, err := Launch(t.Context(), s.next("answer", false), s.upTo(4*time.Millisecond), nil)
		if err == nil {
			s.took(t, report)
		}
		return err
	}},
	{"answered", false, func(t *testing.T, s *askSeries) error {
		s.awaitQuestion(t)
		s.answer(t)
		s.pause(280 * time.Millisecond) // the child looks four times a second
		return nil
	}},
	{"both answering", true, func(t *testing.T, s *askSeries) error {
		s.awaitQuestion(t)
		s.answer(t)
		s.pause(2 * time.Millisecond)
		return nil
	}},
	{"running", true, func(t *testing.T, s *askSeries) error {
		before := s.notes(t)
		s.await(func() bool { return s.notes(t) > before+1 }) // the first is a look
		s.pause(3 * time.Millisecond)
		return nil
	}},
}

func (s *askSeries) upTo(d time.Duration) time.Duration {
	return time.Duration(s.rng.Int64N(d.Microseconds()+1)) * time.Microsecond
}

func (s *askSeries) pause(most time.Duration) { time.Sleep(s.upTo(most)) }

// await waits a limited time for a condition. It may not become true, because the child may
// have been faster.
func (s *askSeries) await(cond func() bool) {
	for range 300 {
		if cond() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *askSeries) awaitQuestion(t *testing.T) {
	s.await(func() bool {
		open, err := approval.Pending(t.Context(), s.sessions, "s")
		if err != nil {
			t.Errorf("open questions: %v", err)
		}
		return len(open) > 0 || err != nil
	})
}

func (s *askSeries) notes(t *testing.T) int {
	info, err := os.Stat(s.task.Ledger)
	if err != nil {
		t.Errorf("ledger: %v", err)
		return 0
	}
	return int(info.Size() / noteSize)
}

// answer answers all open requests and stores the accepted answers.
func (s *askSeries) answer(t *testing.T) {
	open, err := approval.Pending(t.Context(), s.sessions, "s")
	if err != nil {
		t.Errorf("open questions: %v", err)
	}
	for _, q := range open {
		ans, err := approval.Resolve(t.Context(), s.sessions, "s", Choice(q, "parent"))
		if won, ok := errors.AsType[*approval.AnsweredError](err); ok {
			ans, err = won.First, nil
		}
		if err != nil {
			t.Errorf("question %s cannot be answered: %v", q.ID, err)
			continue
		}
		s.given[q.ID] = ans
	}
}

// undisturbed lets a child finish, with its own approver or with this process answering.
func (s *askSeries) undisturbed(t *testing.T, person bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if !person {
				s.answerIfThere(t)
			}
		}
	}()
	report, err := Launch(ctx, s.next("ask", person), -1, nil)
	close(over)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	s.took(t, report)
	if !report.Done {
		t.Errorf("child %d did not come to its end: %q", s.n-1, report.Failed)
	}
	if person && s.typical == 0 {
		s.typical = report.Took
	}
	s.check(t, true)
}

func (s *askSeries) answerIfThere(t *testing.T) {
	if _, err := s.sessions.Get(t.Context(), "s"); err == nil {
		s.answer(t)
	}
}

func (s *askSeries) took(t *testing.T, r *Report) {
	t.Helper()
	s.acked.Add(r.Acks)
	for _, f := range slices.Concat(r.Faults, r.Failed) {
		t.Errorf("child %d: %s", s.n-1, f)
	}
}

func (s *askSeries) asked(t *testing.T) []*ApprovalState {
	t.Helper()
	list, _, err := ReadApprovals(t.Context(), s.store, "s", "s", s.task.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// stage returns how far a child that started after some requests had come.
func (s *askSeries) stage(t *testing.T, before int) string {
	t.Helper()
	list := s.asked(t)
	if len(list) == before {
		return "not asked"
	}
	return list[len(list)-1].Stage()
}

// check looks at what is left.
func (s *askSeries) check(t *testing.T, over bool) {
	t.Helper()
	found, err := Verify(t.Context(), s.store, s.acked, s.task.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found.Problem {
		t.Error(p)
	}
	open := map[string]bool{}
	for _, a := range s.asked(t) {
		if err := a.Check(over); err != nil {
			t.Error(err)
		}
		if ans, ok := s.given[a.Question.ID]; ok && (len(a.Answers) == 0 || a.Answers[0].Decision != ans.Decision || a.Answers[0].Actor != ans.Actor) {
			t.Errorf("%s: %s by %s was told to count, and the log has %+v", a.Question.Use, ans.Decision, ans.Actor, a.Answers)
		}
		if len(a.Answers) == 0 {
			open[a.Question.ID] = true
		}
	}
	pending, err := approval.Pending(t.Context(), s.sessions, "s")
	if err != nil && len(s.acked) > 0 {
		t.Errorf("open questions: %v", err)
	}
	for _, q := range pending {
		delete(open, q.ID)
	}
	if len(open) > 0 {
		t.Errorf("open and not to be found: %v", slices.Collect(maps.Keys(open)))
	}
}
