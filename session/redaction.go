package session

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// redaction is one redaction of a session and of what repeats it.
//
//	relatives ─► a plan for each ─► [dry run: report]
//	other sessions ─► copies ─► the session itself ─► deleted parents ─► copies again
//
// The session itself keeps the searched content until everything else is erased, so that a second
// redaction after a crash finds the rest.
type redaction struct {
	s    *Sessions
	o    RedactOptions
	meta Meta
	log  *Log // nil in a dry run, and of a deleted session

	named   namedText
	plans   []*redactionPlan // the session's plan first
	found   *Redaction
	erasing []*Erasing // the input for [ExternalCopies], one for each related session
}

// namedText is the content of the records selected by seq, used to find what repeats it.
type namedText struct {
	items      map[string]bool
	uses       map[string][]string // by session
	resultUses map[string][]string // the tool uses whose results were selected, by session
	texts      []string
}

func newNamedText() namedText {
	return namedText{items: map[string]bool{}, uses: map[string][]string{}, resultUses: map[string][]string{}}
}

func (n *namedText) hasContent() bool { return len(n.items) > 0 || len(n.uses) > 0 || len(n.texts) > 0 }

// plan decides what is erased and fills found.
func (r *redaction) plan(ctx context.Context) error {
	relatives, err := r.s.relatives(ctx, r.meta)
	if err != nil {
		return err
	}
	seqs, err := r.seqs(ctx)
	if err != nil {
		return err
	}
	r.named = newNamedText()
	for _, m := range relatives { // plan the selected records first: they are used to find what repeats them
		if len(seqs[m.ID]) == 0 {
			continue
		}
		p, err := r.newPlan(ctx, m, seqs[m.ID])
		if err == nil {
			err = p.planRecords(&r.named)
		}
		if err != nil {
			return err
		}
		r.plans = append(r.plans, p)
	}
	for _, m := range relatives {
		i := slices.IndexFunc(r.plans, func(p *redactionPlan) bool { return p.meta.ID == m.ID })
		if i < 0 {
			p, err := r.newPlan(ctx, m, nil)
			switch {
			case m.ID != r.meta.ID && (errors.Is(err, ErrCorrupt) || errors.Is(err, ErrSealed) || errors.Is(err, ErrNotFound)):
				r.found.Remaining = append(r.found.Remaining, Erasure{Session: m.ID, Reason: "it cannot be read: " + err.Error()})
				continue
			case err != nil:
				return err
			}
			i, r.plans = len(r.plans), append(r.plans, p)
		}
		if err := r.plans[i].decide(&r.named, m.ID == r.meta.ID); err != nil {
			return err
		}
	}
	return r.settle(ctx, relatives)
}

// seqs returns the selected seqs by the session that stores them: a fork shows the records of its
// parents too.
func (r *redaction) seqs(ctx context.Context) (map[string][]int64, error) {
	if len(r.o.Seqs) == 0 {
		return nil, nil
	}
	of := map[string][]int64{}
	rest := slices.Clone(r.o.Seqs)
	for seg, err := range r.s.ancestors(ctx, r.meta, 0) {
		if err != nil {
			return nil, err
		}
		rest = slices.DeleteFunc(rest, func(seq int64) bool {
			its := seq >= seg.first && seq <= seg.last
			if its {
				of[seg.id] = append(of[seg.id], seq)
			}
			return its
		})
	}
	if len(rest) > 0 {
		of[r.meta.ID] = rest
	}
	return of, nil
}

// newPlan starts a plan.
func (r *redaction) newPlan(ctx context.Context, m Meta, seqs []int64) (*redactionPlan, error) {
	o := r.o
	o.Seqs = seqs
	return r.s.readPlan(ctx, m, o)
}

// settle determines what each plan can do and puts it in found.
func (r *redaction) settle(ctx context.Context, relatives []Meta) error {
	slices.SortStableFunc(r.plans, func(a, b *redactionPlan) int { return rank(relatives, a) - rank(relatives, b) })
	for _, p := range r.plans {
		if p.meta.ID == r.meta.ID || p.meta.Deleted || !p.hasTargets() {
			continue
		}
		held, err := r.s.heldLease(ctx, p.meta.ID)
		if err != nil {
			return err
		}
		if held != nil {
			p.busy = "it is open in " + held.Holder.String() + "; redact again when it has ended"
		}
	}
	r.addParents()
	for _, p := range r.plans {
		r.found.Remaining = append(r.found.Remaining, p.remaining...)
		if p.busy != "" {
			for _, e := range p.erasures() {
				r.found.Remaining = append(r.found.Remaining, leftover(e.Session, &e.Record, p.busy))
			}
			continue
		}
		r.found.Erased = append(r.found.Erased, p.erasures()...)
		if err := r.findCopies(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func rank(relatives []Meta, p *redactionPlan) int {
	return slices.IndexFunc(relatives, func(m Meta) bool { return m.ID == p.meta.ID })
}

// addParents adds to the plan of every fork the records that are erased in its deleted parents,
// because no record can be appended to the logs of deleted sessions.
func (r *redaction) addParents() {
	for _, dead := range r.plans {
		if !dead.meta.Deleted || len(dead.targets) == 0 {
			continue
		}
		for _, p := range r.plans {
			if last := p.shares[dead.meta.ID]; last > 0 && p.busy != "" && slices.Min(dead.sortedSeqs()) <= last {
				dead.busy = "session " + p.meta.ID + " uses it, and " + p.busy
			}
		}
		if dead.busy != "" {
			continue
		}
		for _, p := range r.plans {
			if !p.meta.Deleted {
				p.addDeletedParents(dead)
			}
		}
	}
}

// addDeletedParents adds to the plan the shared records that are erased in a deleted parent.
func (p *redactionPlan) addDeletedParents(dead *redactionPlan) {
	for seq, instead := range dead.targets {
		if seq > p.shares[dead.meta.ID] {
			continue
		}
		if was, ok := p.known[seq]; !ok || string(was) != string(instead) {
			p.targets[seq] = instead
		}
	}
}

// findCopies lists the external copies of a session's content.
func (r *redaction) findCopies(ctx context.Context, p *redactionPlan) error {
	if len(r.s.opt.Copies) == 0 {
		return nil
	}
	e := &Erasing{Session: p.meta.ID, Mask: r.o.Mask, Uses: slices.Concat(r.named.uses[p.meta.ID], r.named.resultUses[p.meta.ID]), Records: p.records, Changed: len(p.targets) > 0}
	n := len(r.found.Copies)
	for _, c := range r.s.opt.Copies {
		list, err := c.Find(ctx, e)
		if err != nil {
			return err
		}
		r.found.Copies = append(r.found.Copies, list...)
	}
	if n == len(r.found.Copies) {
		e.Records = nil // nothing was found, so the records are not needed to erase the copies
	}
	r.erasing = append(r.erasing, e)
	return nil
}

func (r *redaction) eraseCopies(ctx context.Context) error {
	for _, e := range r.erasing {
		for _, c := range r.s.opt.Copies {
			if err := c.Erase(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// carryOut erases what was planned.
func (r *redaction) carryOut(ctx context.Context) error {
	var main *redactionPlan
	for _, p := range r.plans {
		switch {
		case p.meta.ID == r.meta.ID:
			main = p
		case p.busy != "" || p.meta.Deleted || !p.hasTargets():
		default:
			if err := r.redactRelative(ctx, p); err != nil {
				return err
			}
		}
	}
	if err := r.eraseCopies(ctx); err != nil {
		return err
	}
	if r.log != nil {
		if err := r.log.redact(ctx, main); err != nil {
			return err
		}
	}
	for _, p := range r.plans {
		if !p.meta.Deleted || p.busy != "" || len(p.targets) == 0 {
			continue
		}
		// A deleted session cannot be written, so it has no lease.
		if err := r.s.erase(ctx, p.meta.ID, 0, p.sortedSeqs()); err != nil {
			return err
		}
	}
	return r.eraseCopies(ctx)
}

// redactRelative redacts a relative. If it has changed since it was planned, it is planned again.
func (r *redaction) redactRelative(ctx context.Context, p *redactionPlan) (err error) {
	l, err := r.s.Open(ctx, p.meta.ID, &OpenOptions{Trashed: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if now := l.Meta(); now.Head != p.meta.Head {
		again, err := r.newPlan(ctx, now, p.o.Seqs)
		if err == nil {
			err = again.planRecords(new(newNamedText()))
		}
		if err == nil {
			err = again.decide(&r.named, false)
		}
		if err != nil {
			return err
		}
		for _, dead := range r.plans {
			if dead.meta.Deleted && dead.busy == "" {
				again.addDeletedParents(dead)
			}
		}
		p = again
	}
	return l.redact(ctx, p)
}

// redact appends the redacted record of a plan and erases.
func (l *Log) redact(ctx context.Context, p *redactionPlan) error {
	d, needed, err := p.draft()
	if err != nil {
		return err
	}
	if needed {
		// Only at the planned head: newer records may repeat the content.
		if _, err := l.AppendAt(ctx, p.meta.Head, d); err != nil {
			return err
		}
	}
	seqs := slices.Clone(p.unfinished)
	for seq := range p.targets {
		if seq > p.meta.ParentSeq {
			seqs = append(seqs, seq)
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	slices.Sort(seqs)
	return l.erase(ctx, slices.Compact(seqs))
}

// hasTargets reports whether the plan erases anything.
func (p *redactionPlan) hasTargets() bool {
	if len(p.targets) > 0 || len(p.unfinished) > 0 {
		return true
	}
	_, needed, err := p.draft()
	return needed || err != nil
}

// sortedSeqs lists the seqs to erase.
func (p *redactionPlan) sortedSeqs() []int64 {
	return slices.Sorted(maps.Keys(p.targets))
}

// replacementMap returns the replacements of an earlier redacted record.
func replacementMap(list []record.Replacement) map[int64]json.RawMessage {
	of := map[int64]json.RawMessage{}
	for _, i := range list {
		of[i.Seq] = i.Payload
	}
	return of
}
