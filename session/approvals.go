package session

import (
	"slices"

	"github.com/holdfast-dev/holdfast/transcript"
)

// approvals is what a [replayer] knows of tool uses that were asked about, besides
// what the state says.
type approvals struct {
	begun map[string]bool // uses that started and have no result yet
	moot  map[int64]bool  // seqs of questions that a rewrite has overtaken
	apart map[string]bool // open uses that may have run where this transcript does not go
	unrun map[string]bool // uses that have a result and were not run
}

func include[K comparable](set *map[K]bool, key K) {
	if *set == nil {
		*set = map[K]bool{}
	}
	(*set)[key] = true
}

func (f *replayer) asked(r *Record) {
	f.s.OpenApprovals = append(f.s.OpenApprovals, *r)
	include(&f.s.UsedIDs, r.text("id"))
}

// text is a field of the payload that is a text, or "".
func (r *Record) text(field string) string { return payloadText(r.Payload, field) }

// resolved takes the first answer to a question; a later one changes nothing.
func (f *replayer) resolved(r *Record) {
	id := r.text("id")
	i := slices.IndexFunc(f.s.OpenApprovals, func(q Record) bool { return q.text("id") == id })
	if i < 0 {
		return
	}
	q := f.s.OpenApprovals[i]
	f.s.OpenApprovals = slices.Delete(f.s.OpenApprovals, i, i+1)
	if f.waits(q) {
		f.s.Answered = append(f.s.Answered, AnsweredApproval{Asked: q, Answer: *r})
	}
}

func (f *replayer) started(use string) {
	include(&f.begun, use)
	f.acted(use)
}

// acted forgets the answers about a use: they were acted on.
func (f *replayer) acted(use string) {
	if len(f.s.Answered) > 0 {
		f.s.Answered = slices.DeleteFunc(f.s.Answered, func(a AnsweredApproval) bool { return a.Asked.text("use_id") == use })
	}
}

// paired follows the uses and results of a new item.
func (f *replayer) paired(e transcript.Encoded) {
	for _, use := range e.ResultIDs() {
		if f.s.OpenTurn != "" && !f.begun[use] {
			include(&f.unrun, use)
		}
		delete(f.begun, use)
		delete(f.apart, use)
		f.acted(use)
	}
	for _, use := range e.UseIDs() { // an id may come again after a cut
		delete(f.begun, use)
		delete(f.unrun, use)
		if delete(f.apart, use); f.s.OpenTurn == "" { // it comes from another program, which has not said what it ran
			include(&f.apart, use)
		}
	}
}

// rewritten: what the transcript asks for after a rewrite is not what was asked
// about.
func (f *replayer) rewritten() {
	for _, e := range f.s.Items {
		for _, use := range e.UseIDs() {
			include(&f.s.UsedIDs, use)
		}
	}
	for _, q := range f.s.OpenApprovals {
		include(&f.moot, q.Seq)
	}
	f.s.Answered = nil
}

// unanswer notes that results were cut off: what became of their uses is not in
// the transcript any more.
func (f *replayer) unanswer(items []transcript.Encoded) {
	for _, e := range items {
		for _, use := range e.ResultIDs() {
			if !f.unrun[use] {
				include(&f.apart, use)
			}
		}
	}
}

// leaveParent begins a fork: who asks in the parent is answered there, and what has
// started ends there.
func (f *replayer) leaveParent() {
	for use := range f.begun {
		include(&f.apart, use)
	}
	f.approvals = approvals{apart: f.apart, unrun: f.unrun}
	f.s.OpenApprovals, f.s.Answered = nil, nil
}

// askedElsewhere takes in the questions about tool uses of this session that another log has.
func (f *replayer) askedElsewhere(asked []Record, answered []AnsweredApproval) {
	f.s.OpenApprovals = append(f.s.OpenApprovals, asked...)
	for _, a := range answered {
		if f.waits(a.Asked) {
			f.s.Answered = append(f.s.Answered, a)
		}
	}
}

// waits reports whether a tool use waits for the answer to q.
func (f *replayer) waits(q Record) bool {
	use, asker := q.text("use_id"), q.text("asker")
	return (asker == "" || asker == f.s.SessionID) && !f.moot[q.Seq] && !f.begun[use] && f.open(use)
}

// open reports whether a use of the last answer has no result.
func (f *replayer) open(use string) bool {
	for _, e := range slices.Backward(f.s.Items) {
		if slices.Contains(e.ResultIDs(), use) {
			return false
		}
		if uses := e.UseIDs(); len(uses) > 0 {
			return slices.Contains(uses, use)
		}
	}
	return false
}

// waiting is the set of uses with a question that is open, or answered and not
// acted on.
func (f *replayer) waiting() map[string]bool {
	var uses map[string]bool
	for _, q := range f.s.OpenApprovals {
		if f.waits(q) {
			include(&uses, q.text("use_id"))
		}
	}
	for _, a := range f.s.Answered {
		include(&uses, a.Asked.text("use_id"))
	}
	return uses
}
