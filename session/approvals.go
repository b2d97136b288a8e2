package session

import (
	"slices"

	"github.com/holdfast-dev/holdfast/transcript"
)

// approvals is the data that a [replayer] has, besides its State, about tool uses with an approval
// request.
type approvals struct {
	begun    map[string]bool // tool uses that started and have no result yet
	obsolete map[int64]bool  // seqs of approval requests that a rewrite made obsolete
	outside  map[string]bool // open uses that may have run outside this transcript
	unrun    map[string]bool // uses that have a result but did not run
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

// text returns a string field of the payload, or "".
func (r *Record) text(field string) string { return payloadText(r.Payload, field) }

// resolved processes the answer to an approval request. The first answer wins.
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

// acted removes the answers for a tool use that has started or has a result.
func (f *replayer) acted(use string) {
	if len(f.s.Answered) > 0 {
		f.s.Answered = slices.DeleteFunc(f.s.Answered, func(a AnsweredApproval) bool { return a.Asked.text("use_id") == use })
	}
}

// paired updates the sets for the tool uses and results of a new item.
func (f *replayer) paired(e transcript.Encoded) {
	for _, use := range e.ResultIDs() {
		if f.s.OpenTurn != "" && !f.begun[use] {
			include(&f.unrun, use)
		}
		delete(f.begun, use)
		delete(f.outside, use)
		f.acted(use)
	}
	for _, use := range e.UseIDs() { // an id may be used again after a cut
		delete(f.begun, use)
		delete(f.unrun, use)
		if delete(f.outside, use); f.s.OpenTurn == "" { // an imported item: the other program does not record what ran
			include(&f.outside, use)
		}
	}
}

// rewritten handles a rewrite: approval requests for tool uses of the old transcript become
// obsolete.
func (f *replayer) rewritten() {
	for _, e := range f.s.Items {
		for _, use := range e.UseIDs() {
			include(&f.s.UsedIDs, use)
		}
	}
	for _, q := range f.s.OpenApprovals {
		include(&f.obsolete, q.Seq)
	}
	f.s.Answered = nil
}

// unanswer handles results that were removed from the transcript: the outcome of their tool uses is
// no longer in it.
func (f *replayer) unanswer(items []transcript.Encoded) {
	for _, e := range items {
		for _, use := range e.ResultIDs() {
			if !f.unrun[use] {
				include(&f.outside, use)
			}
		}
	}
}

// leaveParent starts a fork. Open approval requests and running tools of the parent stay in the
// parent.
func (f *replayer) leaveParent() {
	for use := range f.begun {
		include(&f.outside, use)
	}
	f.approvals = approvals{outside: f.outside, unrun: f.unrun}
	f.s.OpenApprovals, f.s.Answered = nil, nil
}

// askedElsewhere processes approval requests for this session's tool uses that are in another log.
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
	return (asker == "" || asker == f.s.SessionID) && !f.obsolete[q.Seq] && !f.begun[use] && f.open(use)
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

// waiting is the set of tool uses whose approval request is open, or was answered but has had no
// effect yet.
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
