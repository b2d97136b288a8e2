package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
)

// RedactOptions says what of a session [Sessions.Redact] erases.
type RedactOptions struct {
	// Seqs are erased whole, and with them what repeats them: other records of the
	// same item, what was asked and decided about its tool uses, and what a run says of
	// its text.
	Seqs []int64
	// Skip reports those of Seqs that may not be erased as left, and erases the rest,
	// where otherwise nothing is erased: for ranges that a person gave.
	Skip bool
	// Mask returns a payload without what is to go, and the same bytes when nothing
	// is; package audit/secret has one. What it returns is read instead.
	Mask func(payload json.RawMessage) json.RawMessage

	Reason string // why, for the record
	By     string // who wants it
	DryRun bool   // only say what would be erased; takes no lease
}

// Redaction is what [Sessions.Redact] erased, or would.
type Redaction struct {
	Erased []Erasure  // oldest first
	Left   []Leftover // what should have gone, and stays
}

// Erasure is a record that is erased.
type Erasure struct {
	Record  Record          // as it was read before
	Instead json.RawMessage // what is read from now on; nil: nothing
}

// Leftover is a record that has what was to be erased and keeps it.
type Leftover struct {
	Session string
	Seq     int64
	Kind    Kind
	Why     string
}

// Redact erases content of a session for good: in the log, in what lists show, on the
// medium. The records stay, with their digests, so that the log still verifies and
// its audit trail too. Where something is needed to go on, something without the
// content stands in its place: an item of the same id, role and tool uses.
//
// First a [Redacted] record is appended, then the payloads are erased. When something
// comes between, Redact or [Sessions.Restore] finishes it.
//
// It takes the lease: ErrBusy while the session runs. ErrUnsupported when the store
// is no [Eraser]. ErrInvalid for a seq that may not be erased: the structure of the
// log (turns, tools, policy, the first record), an open question, and what belongs
// to the parent of a fork. With Mask such records are reported as left.
func (s *Sessions) Redact(ctx context.Context, id string, o RedactOptions) (*Redaction, error) {
	if len(o.Seqs) == 0 && o.Mask == nil {
		return nil, &Error{Op: "redact", Session: id, Err: ErrInvalid, Detail: "nothing says what to erase", Hint: "give seqs or a mask"}
	}
	m, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if _, ok := As[Eraser](s.store); !ok {
		return nil, &Error{Op: "redact", Session: id, Err: ErrUnsupported, Detail: "the store cannot erase"}
	}
	if o.DryRun {
		p, err := s.planRedaction(ctx, m, o)
		if err != nil {
			return nil, err
		}
		return p.result(ctx)
	}
	l, err := s.Open(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	r, err := l.redact(ctx, o)
	return r, errors.Join(err, l.Close())
}

func (l *Log) redact(ctx context.Context, o RedactOptions) (*Redaction, error) {
	p, err := l.s.planRedaction(ctx, l.Meta(), o)
	if err != nil {
		return nil, err
	}
	r, err := p.result(ctx)
	if err != nil {
		return nil, err
	}
	d, relists, err := p.draft()
	if err != nil {
		return nil, err
	}
	if len(r.Erased) > 0 || relists {
		// At the head that was planned for: what came since may repeat the content.
		if _, err := l.AppendAt(ctx, p.meta.Head, d); err != nil {
			return nil, err
		}
	}
	seqs := slices.Clone(p.unfinished)
	for _, e := range r.Erased {
		seqs = append(seqs, e.Record.Seq)
	}
	if len(seqs) == 0 {
		return r, nil
	}
	slices.Sort(seqs)
	return r, l.erase(ctx, slices.Compact(seqs))
}

// erase lets the store erase payloads.
func (l *Log) erase(ctx context.Context, seqs []int64) error {
	e, ok := As[Eraser](l.s.store)
	if !ok {
		return &Error{Op: "erase", Session: l.id, Err: ErrUnsupported}
	}
	return e.Erase(ctx, l.id, l.lease.Epoch, seqs)
}

// draft is the record that says what is erased, what is read instead, and what lists
// show from then on; relists says whether they show something else than before.
func (p *redactionPlan) draft() (d Draft, relists bool, err error) {
	w := Redacted{Reason: p.o.Reason, By: p.o.By}
	for _, seq := range p.order() {
		w.Seqs = append(w.Seqs, seq)
		if instead := p.targets[seq]; instead != nil {
			w.Instead = append(w.Instead, Instead{seq, instead})
		}
	}
	m, err := p.listed()
	if err != nil {
		return Draft{}, false, err
	}
	w.Listed = &Listed{Messages: m.MessageCount, Prompt: m.FirstPrompt, Run: m.Run, Patch: MetaPatch{
		Title: &m.Title, Summary: &m.Summary, Tag: &m.Tag, CWD: &m.CWD, Project: &m.Project, Model: &m.Model, GitBranch: &m.GitBranch,
	}}
	d, err = NewDraft(KindRedacted, w)
	return d, m.FirstPrompt != p.meta.FirstPrompt || m.Title != p.meta.Title || m.Summary != p.meta.Summary || m.Tag != p.meta.Tag, err
}

// listed is the meta that follows from the records as they will be read.
func (p *redactionPlan) listed() (Meta, error) {
	var m Meta
	for _, r := range p.own {
		if instead, ok := p.targets[r.Seq]; ok {
			r.Payload = instead
		}
		if r.Kind == KindRedacted { // what it stands for is read already
			r.Payload = nil
		}
		d, err := Fold([]Record{r})
		if err != nil {
			return m, err
		}
		m = m.Apply(d)
	}
	if p.o.Mask != nil { // what the first record says of them cannot be erased there
		for _, f := range []*string{&m.FirstPrompt, &m.Title, &m.Summary, &m.Tag} {
			*f = p.maskText(*f)
		}
	}
	return m, nil
}

// maskText masks a text as if it were a payload.
func (p *redactionPlan) maskText(text string) string {
	raw, _ := json.Marshal(map[string]string{"text": text})
	var out struct{ Text string }
	if json.Unmarshal(p.o.Mask(raw), &out) != nil {
		return Erased
	}
	return out.Text
}

// result lists what the plan erases and what it must leave.
func (p *redactionPlan) result(ctx context.Context) (*Redaction, error) {
	r := &Redaction{Left: p.left}
	for _, rec := range p.own {
		if instead, ok := p.targets[rec.Seq]; ok && !p.carried[rec.Seq] {
			r.Erased = append(r.Erased, Erasure{rec, instead})
		}
	}
	m, err := p.listed()
	if err != nil {
		return nil, err
	}
	if was := p.meta.FirstPrompt; was != "" && was != m.FirstPrompt {
		err = p.repeated(ctx, was, r)
	}
	return r, err
}

// repeated looks for forks that begin by repeating the first prompt.
func (p *redactionPlan) repeated(ctx context.Context, prompt string, r *Redaction) error {
	forks, err := p.s.store.List(ctx, Query{Parent: p.meta.ID, Worktrees: true, Trash: TrashToo})
	if err != nil {
		return err
	}
	for _, f := range forks.Sessions {
		if f.FirstPrompt == prompt {
			r.Left = append(r.Left, Leftover{f.ID, f.ParentSeq + 1, KindOpened, "this fork repeats the first prompt for the list: redact it there, or delete it"})
		}
	}
	return nil
}

// mayNotErase says why records of a kind keep their payloads, or "".
func mayNotErase(k Kind) string {
	switch k {
	case KindItem, KindApprovalAsked, KindApprovalResolved, KindDecision, KindHookRan, KindRewrite, KindMetaChanged, KindRedacted, KindRunEvent, KindFileSaved:
		return ""
	case KindOpened:
		return "the first record says what the session is"
	case KindTurnOpened, KindTurnClosed, KindToolStarted, KindToolFinished:
		return "it says how far the work had come, and has none of its content"
	case KindPolicyChanged:
		return "what may happen follows from it"
	}
	return "what runs elsewhere is found by it"
}

func (p *redactionPlan) refuse(seq int64, why, hint string) error {
	if hint == "" {
		hint = "holdfast sessions show --records " + p.meta.ID
	}
	return &Error{Op: "redact", Session: p.meta.ID, Seq: seq, Err: ErrInvalid, Detail: "record " + strconv.FormatInt(seq, 10) + " cannot be erased: " + why, Hint: hint}
}
