package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Report is the result of [Sessions.Verify].
type Report struct {
	Records int      // records read, including the parents'
	Erased  int      // records read that have an erased payload
	Items   int      // number of items in the transcript
	Faults  []Error  // each fault has a Detail and the Seq of the record concerned, or 0
	Notices []string // such as open tool uses at the end, which Restore answers

	Meta        Meta // the meta as it is stored
	Rebuilt     Meta // the meta as computed from the records
	MetaDiffers bool // Sessions.Rebuild fixes it
}

// OK reports whether Verify found no fault and the stored meta is correct.
func (r *Report) OK() bool { return len(r.Faults) == 0 && !r.MetaDiffers }

// Verify reads a whole log, including the parents' part, and checks every digest, that the records
// form one chain from the first, that every payload matches its kind, that tool uses and results
// pair, and that the store's meta follows from the records. It changes nothing and takes no lease.
// It returns an error only if it could not read the log; the faults that it found are in the
// report.
func (s *Sessions) Verify(ctx context.Context, id string) (*Report, error) {
	m, err := s.getDamaged(ctx, id)
	if err != nil {
		return nil, err
	}
	for {
		r, err := s.verify(ctx, m)
		if err != nil || !r.MetaDiffers {
			return r, err
		}
		// Another writer may have appended between the two reads.
		now, err := s.getDamaged(ctx, id)
		if err != nil {
			return nil, err
		}
		if now.same(m, false) {
			return r, nil
		}
		m = now
	}
}

func (s *Sessions) verify(ctx context.Context, m Meta) (*Report, error) {
	v, err := s.verifyWith(ctx, m, nil)
	if err == nil && v.f.needsSecondPass { // again, with the replacements of erased payloads
		known := v.f.current
		if known == nil {
			known = erased{}
		}
		if err := s.erasedAbove(ctx, m, known); err != nil && !errors.Is(err, ErrCorrupt) {
			return nil, err
		}
		v, err = s.verifyWith(ctx, m, known)
	}
	if err != nil {
		return nil, err
	}
	v.finish(m)
	return &v.r, nil
}

func (s *Sessions) verifyWith(ctx context.Context, m Meta, known erased) (*verifier, error) {
	v := &verifier{r: Report{Meta: m}, f: replayer{erasures: erasures{known: known}}}
	for r, err := range s.records(ctx, m, Range{}) {
		switch {
		case err == nil:
			if record.IsSealed(r.Payload) && errors.Is(r.Check(), ErrSealed) { // an encrypted record is not the fault
				return nil, r.sealedError()
			}
			v.record(r, m)
		case errors.Is(err, ErrCorrupt):
			v.unreadable(err)
		default:
			return nil, err
		}
	}
	return v, nil
}

// Rebuild replaces a session's meta by the one computed from its records, and returns it.
// It returns ErrUnsupported if the store is not a [Rebuilder]. It takes the lease, so that no other
// process writes meanwhile.
func (s *Sessions) Rebuild(ctx context.Context, id string) (Meta, error) {
	b, ok := As[Rebuilder](s.store)
	if !ok {
		return Meta{}, &Error{Op: "rebuild", Session: id, Err: ErrUnsupported}
	}
	if _, err := s.getDamaged(ctx, id); err != nil {
		return Meta{}, err
	}
	l := s.newLog(id)
	if err := l.acquire(ctx, false); err != nil {
		return Meta{}, err
	}
	r, err := s.Verify(ctx, id)
	switch {
	case err != nil:
	case r.Rebuilt.ID == "":
		err = &Error{Op: "rebuild", Session: id, Err: ErrCorrupt, Detail: "its first record cannot be read"}
	case r.Rebuilt.ID != id:
		err = &Error{Op: "rebuild", Session: id, Err: ErrCorrupt, Detail: "its records belong to session " + r.Rebuilt.ID}
	}
	if err == nil && r.MetaDiffers {
		err = b.PutMeta(ctx, r.Rebuilt)
	}
	if err = errors.Join(err, l.release()); err != nil {
		return Meta{}, err
	}
	return r.Rebuilt, nil
}

type verifier struct {
	r    Report
	f    replayer
	prev Record
	lost bool // a record could not be read, so the next one cannot be checked against it

	masked int // masked records
}

func (v *verifier) fault(seq int64, err error) {
	detail := err.Error()
	if e, ok := errors.AsType[*Error](err); ok && e.Detail != "" {
		detail = e.Detail
	}
	v.r.Faults = append(v.r.Faults, Error{Op: "verify", Session: v.r.Meta.ID, Seq: seq, Detail: detail, Err: ErrCorrupt})
}

func (v *verifier) unreadable(err error) {
	seq := v.prev.Seq + 1
	if e, ok := errors.AsType[*Error](err); ok && e.Seq != 0 {
		seq = e.Seq
	}
	v.fault(seq, err)
	v.lost = true
}

func (v *verifier) record(r Record, m Meta) {
	v.r.Records++
	err := r.Check()
	switch {
	case err != nil:
		v.fault(r.Seq, err)
	case v.lost && r.Seq > v.prev.Seq:
	default:
		if err = r.CheckAfter(&v.prev); err != nil {
			v.fault(r.Seq, err)
		}
	}
	v.lost = false
	v.prev = Record{Seq: r.Seq, Digest: r.Digest}
	if r.Payload == nil {
		v.r.Erased++
	}
	if r.Masked {
		v.masked++
	}
	if r.Payload != nil && !json.Valid(r.Payload) {
		v.fault(r.Seq, fmt.Errorf("the payload of %s is not JSON", r.Kind))
		return
	} else if err := v.f.add(&r); err != nil {
		v.fault(r.Seq, err)
	}
	if r.Seq <= m.ParentSeq { // the parents' records are not part of this session's meta
		return
	}
	d, err := Fold([]Record{r})
	if err != nil {
		return // already reported by folding
	}
	if d.Opened != nil && r.Seq != m.ParentSeq+1 {
		v.fault(r.Seq, errors.New("session.opened is not the first record"))
		return
	}
	v.r.Rebuilt = v.r.Rebuilt.Apply(d)
}

func (v *verifier) finish(m Meta) {
	items := v.f.s.Items
	v.r.Items = len(items)
	v.checkErasures(m)
	var t transcript.Transcript
	if err := t.Append(items...); err != nil && len(v.f.blank) > 0 {
		v.r.Notices = append(v.r.Notices, "erased content is missing from the transcript: "+err.Error())
	} else if err != nil {
		v.fault(0, err)
	} else if err := t.Check(); err != nil {
		v.r.Notices = append(v.r.Notices, err.Error())
	}
	if m.ParentSeq > 0 && v.r.Records > 0 && v.r.Rebuilt.Parent != m.Parent {
		v.fault(m.ParentSeq+1, errors.New("the log and its metadata have different parents"))
	}
	if v.r.Records == 0 {
		v.fault(1, errors.New("the log is empty"))
	}
	v.r.MetaDiffers = !v.r.Rebuilt.same(m, v.r.Erased > 0)
}

// checkErasures checks that every missing payload is named by a redacted record, and the other way
// round. A deleted parent has no record left that could name it.
func (v *verifier) checkErasures(m Meta) {
	for _, seq := range v.f.blank {
		if seq > m.ParentSeq {
			v.fault(seq, errors.New("its payload is missing, and no record shows that it was erased"))
		}
	}
	if v.masked > 0 {
		v.r.Notices = append(v.r.Notices, fmt.Sprintf("%d records were masked: the hash chain is valid, but the masked text itself is not proven", v.masked))
	}
	if n := len(v.f.unfinished(m.ParentSeq)); n > 0 {
		v.r.Notices = append(v.r.Notices, fmt.Sprintf("%d records of an interrupted redaction still have their payloads; redact or resume the session to erase them", n))
	}
}

// same reports whether two metadata values are equal. After an erasure, the actual size is smaller
// than the counted one.
func (m Meta) same(o Meta, erased bool) bool {
	if !m.CreatedAt.Equal(o.CreatedAt) || !m.UpdatedAt.Equal(o.UpdatedAt) {
		return false
	}
	m.CreatedAt, m.UpdatedAt = o.CreatedAt, o.UpdatedAt
	if erased {
		m.Size, o.Size = 0, 0
	}
	return m == o
}
