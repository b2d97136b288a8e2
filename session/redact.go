package session

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// RedactOptions says what of a session [Sessions.Redact] erases.
type RedactOptions struct {
	// Seqs are erased whole, and with them what repeats them: other records of the
	// same item, what was asked and decided about its tool uses, tasks, and what a run
	// says of its text, here, in forks and in sessions that its tool uses have begun.
	Seqs []int64
	// Skip reports those of Seqs that may not be erased as left, and erases the rest,
	// where otherwise nothing is erased: for ranges that a person gave.
	Skip bool
	// Mask returns a payload without what is to go, and the same bytes when nothing
	// is; package audit/secret has one. What it returns is read instead. It is applied to
	// all that may repeat the session's text: see [Sessions.Redact].
	Mask func(payload json.RawMessage) json.RawMessage

	Reason string // why, for the record
	By     string // who wants it
	DryRun bool   // only say what would be erased; takes no lease
}

// Redaction is what [Sessions.Redact] erased, or would.
type Redaction struct {
	Erased    []Erasure      // the session's own first, then those of others; oldest first
	Copies    []ExternalCopy // beside the logs: removed, or left where Stays says why
	Remaining []Erasure      // what should have gone, and stays; the record has a Seq and a Kind
}

// Erasure is a record that is erased, or that has what was to be erased and keeps it.
type Erasure struct {
	Session     string          // whose record it is
	Record      Record          // as it was read before; of one that is left without a Seq: the whole session
	Replacement json.RawMessage // what is read from now on; nil: nothing
	Reason      string          // why it is left
}

// leftover is a record that keeps what was to be erased.
func leftover(session string, r *Record, why string) Erasure {
	return Erasure{Session: session, Record: Record{Seq: r.Seq, Kind: r.Kind}, Reason: why}
}

// Redact erases content of a session for good: in the log, in what lists show, on the
// medium, and in every copy of it that is known. The records stay, with their digests, so
// that the log still verifies and its audit trail too. Where something is needed to go on,
// something without the content stands in its place: an item of the same id, role and
// tool uses.
//
// With Mask that goes for the sessions that share or repeat its text, too: what it was
// forked from (also when that is deleted), its forks, and who works for a run of one of
// these. One of them that runs is reported as left. What [Options.Copies] keep is erased.
//
// First a [record.Redacted] record is appended, then the payloads are erased. The session itself
// is the last one: when something comes between, redacting again does the rest.
//
// It takes the lease: ErrBusy while the session runs. ErrUnsupported when the store
// is no [Eraser]. ErrInvalid for a seq that may not be erased: the structure of the
// log (turns, tools, policy, the first record), and an open question. With Mask such
// records are reported as left.
func (s *Sessions) Redact(ctx context.Context, id string, o RedactOptions) (found *Redaction, err error) {
	if len(o.Seqs) == 0 && o.Mask == nil {
		return nil, &Error{Op: "redact", Session: id, Err: ErrInvalid, Detail: "nothing says what to erase", Hint: "give seqs or a mask"}
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

// draft is the record that says what is erased, what is read instead, and what lists
// show from then on; needed says whether it says anything new.
func (p *redactionPlan) draft() (d Draft, needed bool, err error) {
	w := record.Redacted{Reason: p.o.Reason, By: p.o.By}
	for _, seq := range p.order() {
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

// listed is the meta that follows from the records as they will be read.
func (p *redactionPlan) listed() (Meta, error) {
	var m, first Meta
	for _, r := range p.own {
		if instead, ok := p.targets[r.Seq]; ok {
			r.Payload = instead
		}
		if r.Kind == record.KindRedacted { // what it stands for is read already
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
	// What the first record says of them cannot be erased there: what lists show of it now
	// counts, which an earlier redaction may have masked.
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

// erasures lists what the plan erases of the session's own.
func (p *redactionPlan) erasures() (list []Erasure) {
	for _, rec := range p.own {
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
