package session

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// questions is what a [folder] knows of tool uses that were asked about, besides
// what the state says.
type questions struct {
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

func (f *folder) asked(r *Record) {
	q := record.Question{
		Seq: r.Seq, ID: payloadText(r.Payload, "id"), Use: payloadText(r.Payload, "use_id"),
		Asker: payloadText(r.Payload, "asker"), Payload: r.Payload,
	}
	f.s.Asked = append(f.s.Asked, q)
	include(&f.s.Used, q.ID)
}

// resolved takes the first answer to a question; a later one changes nothing.
func (f *folder) resolved(r *Record) {
	id := payloadText(r.Payload, "id")
	i := slices.IndexFunc(f.s.Asked, func(q record.Question) bool { return q.ID == id })
	if i < 0 {
		return
	}
	q := f.s.Asked[i]
	f.s.Asked = slices.Delete(f.s.Asked, i, i+1)
	if f.waits(q) {
		f.s.Answered = append(f.s.Answered, record.AnsweredQuestion{Question: q, Answer: r.Payload})
	}
}

func (f *folder) started(use string) {
	include(&f.begun, use)
	f.acted(use)
}

// acted forgets the answers about a use: they were acted on.
func (f *folder) acted(use string) {
	if len(f.s.Answered) > 0 {
		f.s.Answered = slices.DeleteFunc(f.s.Answered, func(a record.AnsweredQuestion) bool { return a.Use == use })
	}
}

// paired follows the uses and results of a new item.
func (f *folder) paired(e transcript.Encoded) {
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
func (f *folder) rewritten() {
	for _, e := range f.s.Items {
		for _, use := range e.UseIDs() {
			include(&f.s.Used, use)
		}
	}
	for _, q := range f.s.Asked {
		include(&f.moot, q.Seq)
	}
	f.s.Answered = nil
}

// unanswer notes that results were cut off: what became of their uses is not in
// the transcript any more.
func (f *folder) unanswer(items []transcript.Encoded) {
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
func (f *folder) leaveParent() {
	for use := range f.begun {
		include(&f.apart, use)
	}
	f.questions = questions{apart: f.apart, unrun: f.unrun}
	f.s.Asked, f.s.Answered = nil, nil
}

// askedElsewhere takes in the questions about tool uses of this session that another log has.
func (f *folder) askedElsewhere(asked []record.Question, answered []record.AnsweredQuestion) {
	f.s.Asked = append(f.s.Asked, asked...)
	for _, a := range answered {
		if f.waits(a.Question) {
			f.s.Answered = append(f.s.Answered, a)
		}
	}
}

// waits reports whether a tool use waits for the answer to q.
func (f *folder) waits(q record.Question) bool {
	return (q.Asker == "" || q.Asker == f.s.SessionID) && !f.moot[q.Seq] && !f.begun[q.Use] && f.open(q.Use)
}

// open reports whether a use of the last answer has no result.
func (f *folder) open(use string) bool {
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
func (f *folder) waiting() map[string]bool {
	var uses map[string]bool
	for _, q := range f.s.Asked {
		if f.waits(q) {
			include(&uses, q.Use)
		}
	}
	for _, a := range f.s.Answered {
		include(&uses, a.Use)
	}
	return uses
}
