package runmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/session"
)

// check holds the logs against the model. At the end it reads them all.
func (w *simulation) check(end bool) {
	for _, r := range w.runs {
		w.clearDoubt(r)
		w.checkPolicy(r)
		w.checkCost(r)
	}
	if end || w.place.quick() {
		w.checkErased()
	}
	if end {
		w.verify()
	}
}

// cost is what a run has cost, as its log says.
func (w *simulation) cost(r *run) int {
	m, err := w.outside.Get(ctx, r.id)
	if err != nil {
		w.violate("%s: %v", r.id, err)
		return 0
	}
	st, err := w.outside.StateAt(ctx, r.id, m.Head)
	if err != nil {
		w.violate("%s: %v", r.id, err)
		return 0
	}
	return int(math.Round(st.CostUSD))
}

// lose finds out how many of the calls that a kill has cut short are off the record: at
// most those that nothing has followed. mu is held.
func (w *simulation) lose(r *run, unconfirmed int) {
	lost := r.paid - r.lost - w.cost(r)
	if lost < 0 || lost > unconfirmed {
		w.violate("%s has cost %d dollars, of which %d were lost before and at most %d now: its log says %d", r.id, r.paid, r.lost, unconfirmed, w.cost(r))
	}
	r.lost, r.unconfirmed = r.lost+lost, 0
}

// checkCost holds what the log says of a run's cost against what was paid. Nothing is
// under way.
func (w *simulation) checkCost(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.unconfirmed = 0
	for _, at := range w.programs {
		if at.run == r {
			at.unconfirmed = 0
		}
	}
	if said := w.cost(r); said != r.paid-r.lost {
		w.violate("%s has cost %d dollars, and its log says %d", r.id, r.paid-r.lost, said)
	}
	if r.budget > 0 && r.paid-r.lost > r.budget {
		w.violate("%s has cost %d of %d dollars", r.id, r.paid-r.lost, r.budget)
	}
}

// listed are the grants that a person sees under a run.
func (w *simulation) listed(r *run) []grant {
	m, err := w.outside.Get(ctx, r.id)
	if err != nil {
		w.fatal("%s: %v", r.id, err)
	}
	all, err := sessionpolicy.Guards(ctx, w.outside, m)
	if err != nil {
		w.fatal("the policy of %s: %v", r.id, err)
	}
	var list []grant
	for _, g := range all.Grants() {
		list = append(list, grant{g.Effect, g.Tool, g.Resource})
	}
	return list
}

// checkPolicy holds the grants that a person sees under a run against those in force, and the
// questions against those that somebody waits with.
func (w *simulation) checkPolicy(r *run) {
	if m, err := w.outside.Get(ctx, r.id); err != nil || r.process != nil && r.waiting == nil && m.OpenApprovals > 0 {
		w.mu.Lock()
		w.violate("%d questions of run %s are open, and nobody waits with them: %v", m.OpenApprovals, r.id, err)
		w.mu.Unlock()
	}
	have := w.listed(r)
	if want := r.state().grants; !sameGrants(have, want) {
		w.mu.Lock()
		w.violate("the grants in force in run %s are %v, and its log says %v", r.id, want, have)
		w.mu.Unlock()
	}
}

func sameGrants(a, b []grant) bool {
	key := func(list []grant) []string {
		var keys []string
		for _, g := range list {
			keys = append(keys, fmt.Sprint(g))
		}
		slices.Sort(keys)
		return keys
	}
	return slices.Equal(key(a), key(b))
}

// clearDoubt finds out what of the changes is on record whose program was killed before
// it heard that they are.
func (w *simulation) clearDoubt(r *run) {
	doubt := r.doubt
	r.doubt = nil
	for _, c := range doubt {
		is := w.onRecord(r, c)
		if !is {
			w.note("%s: %+v is not on record", r.id, c)
		}
		switch {
		case c.grant != nil && !is: // it was thought to be in force
			r.push(change{revoke: c.grant})
		case c.grant == nil && is:
			r.set(c)
		}
	}
	for _, g := range r.refused {
		more := count(w.listed(r), g.grant) - count(r.state().grants, g.grant)
		for ; more > 0; more-- {
			r.push(change{grant: &g.grant})
		}
		for ; more < 0; more++ {
			r.push(change{revoke: &g.grant})
		}
	}
}

// applyRefused revokes what the next turn of a run's own agent does.
func (r *run) applyRefused() {
	for _, g := range r.refused {
		if g.own && slices.Contains(r.state().grants, g.grant) {
			r.push(change{revoke: &g.grant})
		}
	}
}

func count(list []grant, g grant) (n int) {
	for _, h := range list {
		if h == g {
			n++
		}
	}
	return n
}

// onRecord reports whether a run's log has a change.
func (w *simulation) onRecord(r *run, c change) bool {
	listed := w.listed(r)
	switch {
	case c.grant != nil:
		return count(listed, *c.grant) == count(r.state().grants, *c.grant)
	case c.revoke != nil:
		return count(listed, *c.revoke) < count(r.state().grants, *c.revoke)
	}
	var last session.Record
	for rec, err := range w.outside.Records(ctx, r.id, session.Range{Reverse: true}) {
		if err != nil {
			w.fatal("%s: %v", r.id, err)
		}
		if rec.Kind == record.KindPolicyChanged && (c.mode == "" || bytes.Contains(rec.Payload, []byte(`"mode":"`))) {
			last = rec
			break
		}
	}
	if c.mode != "" {
		return strings.Contains(string(last.Payload), `"mode":"`+string(c.mode)+`"`)
	}
	return strings.Contains(string(last.Payload), c.patch.path) && strings.Contains(string(last.Payload), `"`+string(c.patch.effect)+`":[`)
}

// redact erases a word that was said in a run.
func (w *simulation) redact(t *rapid.T) {
	said := one(t, "said", w.spoken...)
	for _, r := range w.runs {
		if r.waiting != nil {
			return // a question is open
		}
	}
	for _, r := range w.runs { // what a kill has left open is closed by going on
		if r.process == nil {
			w.note("start %s for a redaction", r.id)
			if w.resume(r, ""); r.waiting != nil {
				return
			}
		}
	}
	for _, r := range w.alive() {
		if w.leave(r, false); r.process != nil {
			return
		}
	}
	w.note("redact %s, said in %s", said.word, said.run.id)
	done, err := w.outside.Redact(ctx, said.run.id, session.RedactOptions{By: "ann", Reason: "it is a test", Mask: func(p json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(p, []byte(said.word), []byte("gone"))
	}})
	if err != nil {
		w.fatal("redacting %s: %v", said.run.id, err)
	}
	for _, left := range done.Remaining {
		w.fatal("redacting %s leaves record %d (%s) of %s: %s", said.run.id, left.Record.Seq, left.Record.Kind, left.Session, left.Reason)
	}
	w.erased = append(w.erased, said.word)
	w.spoken = slices.DeleteFunc(w.spoken, func(s spokenWord) bool { return s.word == said.word })
	w.checkErased()
}

// sessions are all logs of this world.
func (w *simulation) sessions() []session.Meta {
	var list []session.Meta
	add := func(q session.Query) {
		q.WithTrash, q.Worktrees = true, true
		page, err := w.store.List(ctx, q)
		if err != nil {
			w.fatal("listing: %v", err)
		}
		list = append(list, page.Sessions...)
	}
	for _, r := range w.runs {
		add(session.Query{ID: r.id})
		add(session.Query{Owner: r.id})
	}
	return list
}

// checkErased looks for the words that were erased, in everything that the store gives.
func (w *simulation) checkErased() {
	if len(w.erased) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	find := func(where string, text []byte) {
		for _, word := range w.erased {
			if bytes.Contains(text, []byte(word)) {
				w.violate("%s was erased, and %s says it: %.300s", word, where, text)
			}
		}
	}
	for _, m := range w.sessions() {
		text, _ := json.Marshal(m)
		find("the list of sessions", text)
		for r, err := range w.store.Read(ctx, m.ID, session.Range{}) {
			if err != nil {
				w.violate("reading %s: %v", m.ID, err)
				return
			}
			find(fmt.Sprintf("record %d (%s) of %s", r.Seq, r.Kind, m.ID), r.Payload)
		}
	}
	w.search(find)
}

// search looks for them with the store's own index. mu is held.
func (w *simulation) search(find func(string, []byte)) {
	s, ok := session.As[session.Searcher](w.store)
	if !ok {
		return
	}
	if err := s.Index(ctx); err != nil {
		w.violate("indexing: %v", err)
		return
	}
	for _, word := range w.erased {
		hits, err := s.Search(ctx, session.Search{Words: word, WithTrash: true})
		if err != nil {
			w.violate("searching: %v", err)
			return
		}
		for _, h := range hits.Hits {
			find("the search index of "+h.Session, []byte(h.Excerpt+" "+h.Title+" "+word))
		}
	}
}

// verify checks the chains of all logs, and that they can be gone on with.
func (w *simulation) verify() {
	for _, m := range w.sessions() {
		if _, err := w.outside.Load(ctx, m.ID, nil); err != nil {
			w.fatal("loading %s: %v", m.ID, err)
		}
	}
}
