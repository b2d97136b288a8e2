package runmodel

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// simulation is everything of one run of the test: the store, the runs on it, and what
// ought to be true of them.
type simulation struct {
	t       *rapid.T
	prefix  string
	place   place
	store   session.Store     // for the checks, and for other programs
	outside *session.Sessions // another program

	mu         sync.Mutex // guards what follows
	moved      *sync.Cond // an agent in the background has moved
	names      int
	runs       []*run
	programs   map[string]*program
	calls      map[string]*call
	violations []string
	spoken     []spokenWord // words that went into the log of a run
	erased     []string
	processes  []*process
	trace      []string
}

// spokenWord is a word and the run that it was said in.
type spokenWord struct {
	word string
	run  *run
}

// run is a session that a person started, with all that works for it.
type run struct {
	id          string
	states      []policyState // the last one is in force
	recorded    policy.Mode   // the last that was set, and so is on record
	doubt       []change      // that may or may not be on record: their program was killed
	budget      int           // dollars; 0: none
	compact     int           // items
	paid        int           // a model call costs a dollar
	lost        int           // of that, what a kill may have kept off the record
	unconfirmed int           // compactions that may be on no record yet
	process     *process      // nil: nobody runs it
	waiting     *call         // whose question was left, or lay open at a kill
	refused     []refusal     // answers of another program that the policy did not let count
}

// refusal is a grant that is revoked when the answer that has left it is applied: with the
// next turn of the run's own agent, if it had asked.
type refusal struct {
	grant
	own bool
}

func (r *run) state() policyState { return r.states[len(r.states)-1] }

// push puts a change in force.
func (r *run) push(c change) {
	r.states = append(r.states, r.state().with(c))
}

// set puts a change in force that is on record.
func (r *run) set(c change) {
	r.push(c)
	if c.mode != "" {
		r.recorded = c.mode
	}
}

func newWorld(t *rapid.T, at place, prefix string) *simulation {
	w := &simulation{t: t, prefix: prefix, place: at, programs: map[string]*program{}, calls: map[string]*call{}}
	w.moved = sync.NewCond(&w.mu)
	w.store = at.open(t)
	w.outside = session.New(w.store, nil)
	return w
}

// note is for the trace of a failure. mu is held.
func (w *simulation) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

// violate notes that a law is broken. mu is held.
func (w *simulation) violate(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
	w.note("VIOLATION: "+format, args...)
}

// broken ends the test when a law was broken.
func (w *simulation) broken() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.violations) == 0 {
		return
	}
	w.dump()
	for _, line := range w.trace {
		w.t.Log(line)
	}
	w.t.Fatal(w.violations[0])
}

// dump adds the logs to the trace. mu is held.
func (w *simulation) dump() {
	for _, m := range w.sessions() {
		w.note("%s of run %q:", m.ID, m.Owner)
		for r, err := range w.store.Read(ctx, m.ID, session.Range{}) {
			w.note("  %d %s %.300s %v", r.Seq, r.Kind, r.Payload, err)
		}
	}
}

func (w *simulation) fatal(format string, args ...any) {
	w.mu.Lock()
	w.violate(format, args...)
	w.mu.Unlock()
	w.broken()
}

// say notes that a word goes into the log of a run. mu is held.
func (w *simulation) say(r *run, words ...string) {
	for _, word := range words {
		w.spoken = append(w.spoken, spokenWord{word, r})
	}
}

// wait waits until something is so. mu is held.
func (w *simulation) wait(what string, is func() bool) {
	late := false
	t := time.AfterFunc(patience, func() {
		w.mu.Lock()
		late = true
		w.mu.Unlock()
		w.moved.Broadcast()
	})
	defer t.Stop()
	for !is() {
		if late {
			w.violate("it takes too long until %s", what)
			return
		}
		w.moved.Wait()
	}
}

// alive are the runs that somebody runs.
func (w *simulation) alive() []*run {
	return slices.DeleteFunc(slices.Clone(w.runs), func(r *run) bool { return r.process == nil })
}

// end closes everything.
func (w *simulation) end() {
	for _, r := range w.alive() {
		r.process.kill()
	}
	for _, p := range w.processes {
		p.bury()
	}
	var ids []string
	for _, m := range w.sessions() {
		ids = append(ids, m.ID)
	}
	slices.Reverse(ids)
	w.place.close(w.t, w.store, ids)
}

var ctx = context.Background()
