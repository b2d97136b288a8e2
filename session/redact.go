package session

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// RedactOptions selects what [Sessions.Redact] erases.
type RedactOptions struct {
	// The records in Seqs are erased whole, together with everything that repeats them: other
	// records of the same item, approvals and decisions about its tool uses, tasks, and run events
	// with its text; in this session, in forks, and in sessions started by its tool uses.
	Seqs []int64
	// Skip reports the Seqs that cannot be erased as Remaining and erases the rest; otherwise
	// nothing is erased. It is for ranges that a user entered.
	Skip bool
	// Mask returns a payload without the content to erase, or the same bytes if there is none;
	// package audit/secret has such a function. The result replaces the payload. Mask is applied to
	// everything that may repeat the session's text: see [Sessions.Redact].
	Mask func(payload json.RawMessage) json.RawMessage

	Reason string // stored in the redacted record
	By     string // who requested it
	DryRun bool   // only report what would be erased; DryRun takes no lease
}

// Redaction is the result of [Sessions.Redact].
type Redaction struct {
	Erased    []Erasure      // the session's own records, then those of other sessions; each oldest first
	Copies    []ExternalCopy // copies outside the logs: removed, or left for the reason in Stays
	Remaining []Erasure      // records that could not be erased, with their Seq and Kind
}

// Erasure is a record that is erased, or one that could not be.
type Erasure struct {
	Session     string          // the session of the record
	Record      Record          // the record before the erasure; in Remaining, a zero Seq means the whole session
	Replacement json.RawMessage // the new payload, or nil
	Reason      string          // why it could not be erased
}

// leftover returns the Erasure for a record that cannot be erased.
func leftover(session string, r *Record, why string) Erasure {
	return Erasure{Session: session, Record: Record{Seq: r.Seq, Kind: r.Kind}, Reason: why}
}

// Redact permanently erases content of a session: in the log, in list entries, on the storage
// medium, and in every known copy. The records stay with their digests, so that the log and its
// audit trail still verify. If resuming needs an erased payload, a replacement without the content
// is stored: an item with the same id, role and tool uses.
//
// With Mask, Redact also covers the sessions that share or repeat the text: the sessions it was
// forked from (even deleted ones), its forks, and the sessions that work for the runs of all
// these. A session that is running is reported in Remaining. Copies in [Options.Copies] are
// erased.
//
// Redact first appends a [record.Redacted] record, then erases the payloads. It redacts the
// session itself last: if it is interrupted, redacting again does the rest.
//
// It takes the lease and returns ErrBusy while the session runs. It returns ErrUnsupported if the
// store is not an [Eraser], and ErrInvalid for a seq that cannot be erased: the structure of the
// log (turns, tools, policy, the first record) and open approval requests. With Mask such records
// are reported in Remaining.
func (s *Sessions) Redact(ctx context.Context, id string, o RedactOptions) (found *Redaction, err error) {
	if len(o.Seqs) == 0 && o.Mask == nil {
		return nil, &Error{Op: "redact", Session: id, Err: ErrInvalid, Detail: "no records selected", Hint: "set Seqs or Mask"}
	}
	if err := CheckID(id); err != nil {
		return nil, err
	}
	m, err := s.lookup(ctx, id)
	if err != nil {
		return nil, err
	}
	if _, ok := As[Eraser](s.store); !ok {
		return nil, &Error{Op: "redact", Session: id, Err: ErrUnsupported, Detail: "the store cannot erase"}
	}
	r := redaction{s: s, o: o, meta: m, found: &Redaction{}}
	if !o.DryRun && !m.Deleted {
		l, failed := s.Open(ctx, id, &OpenOptions{Trashed: true})
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		r.log, r.meta = l, l.Meta()
	}
	if err := r.plan(ctx); err != nil {
		return nil, err
	}
	if o.DryRun {
		return r.found, nil
	}
	return r.found, r.carryOut(ctx)
}

// erase lets the store erase payloads.
func (l *Log) erase(ctx context.Context, seqs []int64) error {
	return l.s.erase(ctx, l.id, l.lease.Epoch, seqs)
}

func (s *Sessions) erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	e, ok := As[Eraser](s.store)
	if !ok {
		return &Error{Op: "erase", Session: id, Err: ErrUnsupported}
	}
	return e.Erase(ctx, id, epoch, seqs)
}

// draft returns the redacted record: the erased seqs, the replacements and the new list fields.
// The result needed is true if the record adds anything to earlier redacted records.
func (p *redactionPlan) draft() (d Draft, needed bool, err error) {
	w := record.Redacted{Reason: p.o.Reason, By: p.o.By}
	for _, seq := range p.sortedSeqs() {
		w.Seqs = append(w.Seqs, seq)
		if instead := p.targets[seq]; instead != nil {
			w.Replacements = append(w.Replacements, record.Replacement{Seq: seq, Payload: instead})
		}
	}
	m, err := p.listed()
	if err != nil {
		return Draft{}, false, err
	}
	patch, err := NewDraft(record.KindMetaChanged, MetaPatch{
		Title: &m.Title, Summary: &m.Summary, Tag: &m.Tag, CWD: &m.CWD, Project: &m.Project, Model: &m.Model, GitBranch: &m.GitBranch,
	})
	if err != nil {
		return Draft{}, false, err
	}
	w.Listed = &record.Listed{Messages: m.MessageCount, Prompt: m.FirstPrompt, Run: m.Run, Patch: patch.Payload}
	d, err = NewDraft(record.KindRedacted, w)
	relists := m.FirstPrompt != p.meta.FirstPrompt || m.Title != p.meta.Title || m.Summary != p.meta.Summary || m.Tag != p.meta.Tag
	return d, len(w.Seqs) > 0 || relists, err
}

// listed returns the meta that follows from the records with their replacements.
func (p *redactionPlan) listed() (Meta, error) {
	var m, first Meta
	for _, r := range p.records {
		if instead, ok := p.targets[r.Seq]; ok {
			r.Payload = instead
		}
		if r.Kind == record.KindRedacted { // the replacements of these records are already applied
			r.Payload = nil
		}
		d, err := Fold([]Record{r})
		if err != nil {
			return m, err
		}
		if m = m.Apply(d); r.Kind == record.KindOpened {
			first = m
		}
	}
	// The texts in the first record cannot be erased there. Use the current list texts, which an
	// earlier redaction may have masked.
	for i, f := range m.Texts() {
		if now := *p.meta.Texts()[i]; *f != "" && *f == *first.Texts()[i] {
			*f = now
		}
	}
	if p.o.Mask != nil {
		for _, f := range []*string{&m.FirstPrompt, &m.Title, &m.Summary, &m.Tag} {
			*f = maskedText(*f, p.o.Mask)
		}
	}
	return m, nil
}

// erasures lists what the plan erases in its session.
func (p *redactionPlan) erasures() (list []Erasure) {
	for _, rec := range p.records {
		if instead, ok := p.targets[rec.Seq]; ok && !p.carried[rec.Seq] {
			list = append(list, Erasure{Session: p.meta.ID, Record: rec, Replacement: instead})
		}
	}
	return list
}

func (p *redactionPlan) refuse(seq int64, why, hint string) error {
	if hint == "" {
		hint = "holdfast sessions show --records " + p.meta.ID
	}
	return &Error{Op: "redact", Session: p.meta.ID, Seq: seq, Err: ErrInvalid, Detail: "record " + strconv.FormatInt(seq, 10) + " cannot be erased: " + why, Hint: hint}
}
