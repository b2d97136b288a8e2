package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// sessionLeaves are the leaves of a session.
type sessionLeaves struct {
	leaves  []leafRef
	deletes []deletedAt
}

// leafRef is a leaf that names a certain record as the end of the log.
type leafRef struct {
	seq, leaf int64
	digest    session.Digest
}

// deletedAt is the position of a deletion among the leaves of a session.
type deletedAt struct {
	at   int
	leaf int64
}

func (v *verifyRun) sessionOf(id string) *sessionLeaves {
	p := v.sessions[id]
	if p == nil {
		p = &sessionLeaves{}
		v.sessions[id] = p
	}
	return p
}

// since returns the leaves after a deletion, sorted by seq. For the last deletion n is 0, for the
// one before n is 1. An id may be reused after a deletion.
func (p *sessionLeaves) since(n int) []leafRef {
	leaves := p.leaves
	if i := len(p.deletes) - 1 - n; i >= 0 {
		leaves = leaves[p.deletes[i].at:]
	}
	leaves = slices.Clone(leaves)
	slices.SortStableFunc(leaves, func(a, b leafRef) int { return cmp.Compare(a.seq, b.seq) })
	return leaves
}

// verifyLog verifies one session.
func (v *verifyRun) verifyLog(id string, metas map[string]session.Meta) error {
	m, ok := metas[id]
	if !ok {
		page, err := v.s.Store().List(v.ctx, session.Query{ID: id, Worktrees: true})
		if errors.Is(err, session.ErrCorrupt) {
			v.addFinding(Finding{Session: id, Detail: "the session cannot be found: " + detail(err)})
			return nil
		}
		if err != nil {
			return err
		}
		if len(page.Sessions) == 0 {
			return v.checkMissing(id)
		}
		m = page.Sessions[0]
	}
	p := v.sessions[id]
	if p == nil {
		p = &sessionLeaves{}
		if !m.Deleted {
			v.withoutLeaf = append(v.withoutLeaf, id)
		}
	}
	v.r.Sessions++
	l := logCheck{v: v, m: m, id: id, leaves: p.since(0)}
	if n := len(p.deletes); n > 0 && len(l.leaves) == 0 {
		l.leaves = p.since(1)
		if !m.Deleted {
			v.note("session %s: leaf %d marks it as deleted, but it exists: the delete was interrupted", id, p.deletes[n-1].leaf)
		}
	} else if n == 0 && m.Deleted && len(l.leaves) > 0 && !v.deletedMeanwhile(id) {
		v.addFinding(Finding{Session: id, Detail: "the session is marked as deleted, but no leaf records the delete"})
	}
	return v.settle(l)
}

// settle runs a check. If the log has changed meanwhile, it repeats the check: another process may
// be appending, redacting or deleting.
func (v *verifyRun) settle(l logCheck) error {
	for again := 3; ; again-- {
		try, notes := l, len(v.r.Notes)
		if err := try.run(); err != nil {
			return err
		}
		if try.first.Detail == "" {
			v.r.Records += try.count
			return nil
		}
		now, err := v.s.Get(v.ctx, l.id)
		gone := errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrCorrupt) // another process is deleting it now
		if l.m.Deleted {                                                                  // Get does not find the session, but forks may need its records
			page, err := v.s.Store().List(v.ctx, session.Query{ID: l.id, Worktrees: true})
			if err != nil && !errors.Is(err, session.ErrCorrupt) {
				return err
			}
			gone = err == nil && len(page.Sessions) == 0
		}
		if gone && v.deleted(l.id) {
			v.r.Notes = v.r.Notes[:notes]
			return nil
		}
		if err != nil && !errors.Is(err, session.ErrNotFound) && !errors.Is(err, session.ErrCorrupt) {
			return err
		}
		if still := err != nil || now.HeadDigest == l.m.HeadDigest; still || again == 0 {
			v.r.Records += try.count
			v.addFinding(try.first)
			return nil
		}
		l.m, v.r.Notes = now, v.r.Notes[:notes]
	}
}

// checkMissing checks a session that does not exist.
func (v *verifyRun) checkMissing(id string) error {
	p := v.sessions[id]
	if p == nil {
		if v.o.Session != "" {
			_, err := v.s.Get(v.ctx, id)
			return err
		}
		v.addFinding(Finding{Session: id, Detail: "the session is missing, but forks of it exist"})
		return nil
	}
	left := p.since(0)
	if n := len(p.deletes); n > 0 {
		// If a process wrote a leaf during the deletion, that leaf is not a new session.
		before := p.leaves[:p.deletes[n-1].at]
		last := int64(1)
		for _, s := range before {
			last = max(last, s.seq)
		}
		left = slices.DeleteFunc(left, func(s leafRef) bool { return s.seq > last })
	}
	if len(left) == 0 || v.deletedMeanwhile(id) {
		return nil
	}
	last := left[len(left)-1]
	v.addFinding(Finding{Session: id, Seq: 1, Leaf: last.leaf, Detail: fmt.Sprintf("the session is missing: no leaf records a delete, and its log ended at record %d", last.seq)})
	return nil
}

// deleted reports whether the last leaf of a session is a deletion.
func (v *verifyRun) deleted(id string) bool {
	p := v.sessions[id]
	return p != nil && len(p.deletes) > 0 && len(p.since(0)) == 0 || v.deletedMeanwhile(id)
}

// logCheck verifies a log's own records: first the hash chain, then the leaves.
type logCheck struct {
	v      *verifyRun
	m      session.Meta
	id     string
	leaves []leafRef // by seq

	prev    session.Record
	lost    bool // a record could not be read, so the next one cannot be checked against it
	first   Finding
	count   int
	good    int64 // the last record that a leaf proves
	erased  []int64
	named   map[int64]int64 // key: the seq of an erased record; value: the seq of the first record of kind redacted that names it
	rebuilt session.Meta
}

// fault stores a fault, unless the stored one has the same or a lower seq.
func (l *logCheck) fault(seq, leaf int64, what string) {
	if l.first.Detail != "" && l.first.Seq <= seq {
		if l.first.Leaf == 0 && l.first.Seq == seq {
			l.first.Leaf = leaf
		}
		return
	}
	l.first = Finding{Session: l.id, Seq: seq, Leaf: leaf, Detail: what}
}

func (l *logCheck) run() error {
	if err := l.base(); err != nil {
		return err
	}
	for r, err := range l.v.s.Store().Read(l.v.ctx, l.id, session.Range{}) {
		switch {
		case err == nil:
			l.record(r)
		case errors.Is(err, session.ErrCorrupt):
			l.unreadable(err)
		case errors.Is(err, session.ErrNotFound): // the session was deleted after it was listed
			l.fault(l.prev.Seq+1, 0, "the log is missing")
		default:
			return err
		}
	}
	if err := l.checkEnd(); err != nil {
		return err
	}
	l.checkErasures()
	return nil
}

// base finds the record that the log follows: for a fork, a record of its parent.
func (l *logCheck) base() error {
	if l.m.ParentSeq == 0 {
		return nil
	}
	for r, err := range l.v.s.Records(l.v.ctx, l.id, session.Range{After: l.m.ParentSeq - 1, Until: l.m.ParentSeq}) {
		if err != nil && !errors.Is(err, session.ErrCorrupt) && !errors.Is(err, session.ErrNotFound) {
			return err
		}
		if err == nil {
			l.prev = session.Record{Seq: r.Seq, Digest: r.Digest}
			return nil
		}
	}
	l.prev.Seq, l.lost = l.m.ParentSeq, true
	if !l.m.Deleted { // Records does not return the records of a deleted session
		l.fault(l.m.ParentSeq, 0, fmt.Sprintf("record %d of session %s, at which it was forked, is missing", l.m.ParentSeq, l.m.Parent))
	}
	return nil
}

func (l *logCheck) unreadable(err error) {
	seq := l.prev.Seq + 1
	if e, ok := errors.AsType[*session.Error](err); ok && e.Seq != 0 {
		seq = e.Seq
	}
	l.fault(seq, 0, detail(err))
	l.lost = true
}

func (l *logCheck) record(r session.Record) {
	l.count++
	l.checkChain(&r)
	l.compare(&r)
	if r.Payload == nil {
		l.erased = append(l.erased, r.Seq)
	} else if r.Kind == record.KindRedacted {
		l.redacted(r.Seq, r.Payload)
	}
	if r.Seq <= l.m.Head && !l.m.Deleted {
		if d, err := session.Fold([]session.Record{r}); err != nil {
			l.fault(r.Seq, 0, detail(err))
		} else {
			l.rebuilt = l.rebuilt.Apply(d)
		}
	}
	l.lost = false
	l.prev = session.Record{Seq: r.Seq, Digest: r.Digest}
}

// checkChain checks the digests of a record, and that the record follows the previous one.
func (l *logCheck) checkChain(r *session.Record) {
	if err := r.Check(); err != nil {
		l.fault(r.Seq, 0, detail(err))
		return
	}
	if l.lost && r.Seq > l.prev.Seq {
		return
	}
	switch err := r.CheckAfter(&l.prev); {
	case err == nil:
	case r.Seq > l.prev.Seq+1:
		l.fault(l.prev.Seq+1, 0, records(l.prev.Seq+1, r.Seq-1)+" gone")
	default:
		l.fault(r.Seq, 0, detail(err))
	}
}

// records describes a range of records, with the verb: "record 4 is", "records 4 to 6 are".
func records(from, to int64) string {
	if from == to {
		return fmt.Sprintf("record %d is", from)
	}
	return fmt.Sprintf("records %d to %d are", from, to)
}

// compare checks that a record matches the leaves that name it.
func (l *logCheck) compare(r *session.Record) {
	for len(l.leaves) > 0 && l.leaves[0].seq <= r.Seq {
		s := l.leaves[0]
		l.leaves = l.leaves[1:]
		switch {
		case s.seq < r.Seq:
			l.fault(s.seq, s.leaf, fmt.Sprintf("record %d is missing: leaf %d names it", s.seq, s.leaf))
		case s.digest != r.Digest:
			first := max(l.good, l.m.ParentSeq) + 1
			l.fault(first, s.leaf, records(first, s.seq)+fmt.Sprintf(" inconsistent with leaf %d: the hash chain was recomputed", s.leaf))
		default:
			l.good = s.seq
		}
	}
}

func (l *logCheck) redacted(by int64, payload json.RawMessage) {
	var p record.Redacted
	if json.Unmarshal(payload, &p) != nil {
		return // this problem is reported with the error of session.Fold
	}
	if l.named == nil {
		l.named = map[int64]int64{}
	}
	for _, seq := range p.Seqs {
		if l.named[seq] == 0 {
			l.named[seq] = by
		}
	}
}

// checkEnd checks whether records are missing after the last one.
func (l *logCheck) checkEnd() error {
	last := l.prev.Seq
	if l.m.Deleted { // if no fork needs the records, they were removed on purpose
		return nil
	}
	if l.m.Head < last || l.m.Head > last && len(l.leaves) == 0 {
		now, err := l.v.s.Get(l.v.ctx, l.id) // another process may have appended to the log or deleted it
		if errors.Is(err, session.ErrNotFound) && l.v.deletedMeanwhile(l.id) {
			return nil
		}
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			return err
		}
		if now.Head < last {
			l.fault(now.Head+1, 0, fmt.Sprintf("the session's metadata ends at record %d, the log at %d", now.Head, last))
		} else if l.m.Head > last {
			l.fault(last+1, 0, records(last+1, l.m.Head)+" gone")
		}
	}
	if len(l.leaves) > 0 {
		to := l.leaves[len(l.leaves)-1]
		l.fault(last+1, l.leaves[0].leaf, records(last+1, to.seq)+fmt.Sprintf(" missing: leaf %d names record %d", to.leaf, to.seq))
		return nil
	}
	if l.good > 0 && l.good < last && l.first.Detail == "" {
		l.v.note("session %s: %s not in the trail yet", l.id, records(l.good+1, last))
	}
	if l.first.Detail == "" && !l.sameMeta() {
		l.fault(last, 0, "the session's metadata does not match its records")
	}
	return nil
}

// sameMeta reports whether the stored metadata matches the records. After an erasure the sizes
// differ, so they are not compared.
func (l *logCheck) sameMeta() bool {
	a, b := l.m, l.rebuilt
	if len(l.erased) > 0 {
		a.Size = b.Size
	}
	if !a.CreatedAt.Equal(b.CreatedAt) || !a.UpdatedAt.Equal(b.UpdatedAt) {
		return false
	}
	a.CreatedAt, a.UpdatedAt = b.CreatedAt, b.UpdatedAt
	return a == b
}

// checkErasures finds missing payloads whose erasure is not proven: no redacted record in the trail
// names them. The leaf of a redacted record is written before anything is erased.
func (l *logCheck) checkErasures() {
	if l.m.Deleted { // the record that names them may have been removed too
		return
	}
	for _, seq := range l.erased {
		by := l.named[seq]
		switch {
		case by == 0:
			l.fault(seq, 0, "the payload was erased, but no redacted record names it")
			return
		case l.good > 0 && by > l.good && !l.v.changedSince(l.id, func(f leaf) bool { return f.seq >= by }):
			l.fault(seq, 0, fmt.Sprintf("the payload was erased, but record %d, which names it, is not in the trail", by))
			return
		}
	}
}
