package session

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/transcript"
)

// redactionPlan finds out what a redaction erases.
type redactionPlan struct {
	s       *Sessions
	o       RedactOptions
	meta    Meta
	own     []Record                  // the session's own, as they are read now
	by      map[int64]int64           // by a record that was erased before: the redacted record that stands for it
	targets map[int64]json.RawMessage // what is erased and what is read instead
	carried map[int64]bool            // of those: erased before, and not read otherwise than before
	open    map[int64]bool            // questions without an answer, and answers that nobody acted on
	left    []Leftover
	texts   []string // of the items that were named

	unfinished []int64
}

// planRedaction reads the log and decides. It changes nothing.
func (s *Sessions) planRedaction(ctx context.Context, m Meta, o RedactOptions) (*redactionPlan, error) {
	f, err := s.replay(ctx, m)
	if err != nil {
		return nil, err
	}
	p := &redactionPlan{
		s: s, o: o, meta: m, by: map[int64]int64{}, targets: map[int64]json.RawMessage{}, carried: map[int64]bool{}, open: map[int64]bool{},
		unfinished: f.unfinished(m.ParentSeq),
	}
	for _, q := range f.s.Asked {
		p.open[q.Seq] = true
	}
	for _, a := range f.s.Answered {
		p.open[a.Seq] = true
	}
	if err := p.read(ctx, f.known); err != nil {
		return nil, err
	}
	if err := p.whole(); err != nil {
		return nil, err
	}
	if o.Mask != nil {
		p.masked()
	}
	p.carry()
	return p, nil
}

// read takes in the records, each as it is read now.
func (p *redactionPlan) read(ctx context.Context, known erased) error {
	for r, err := range p.s.records(ctx, p.meta, Range{Until: p.meta.Head}) {
		if err != nil {
			return err
		}
		if r.Kind == KindRedacted && r.Payload != nil {
			var w Redacted
			if err := json.Unmarshal(r.Payload, &w); err != nil {
				return err
			}
			for _, i := range w.Instead {
				p.by[i.Seq] = r.Seq
			}
		}
		if instead, ok := known[r.Seq]; ok {
			r.Payload = instead
		}
		if r.Seq > p.meta.ParentSeq {
			p.own = append(p.own, r)
		} else if p.o.Mask != nil && r.Payload != nil && p.hits(r) {
			p.left = append(p.left, Leftover{p.meta.Parent, r.Seq, r.Kind, "it belongs to the session that this one was forked from: redact that one"})
		}
	}
	return nil
}

// hits reports whether the mask finds something in a record.
func (p *redactionPlan) hits(r Record) bool { return r.shows(p.o.Mask) }

func (p *redactionPlan) record(seq int64) *Record {
	i := seq - p.meta.ParentSeq - 1
	if i < 0 || i >= int64(len(p.own)) {
		return nil
	}
	return &p.own[i]
}

// whole plans the records that were named, and what repeats them.
func (p *redactionPlan) whole() error {
	var (
		items = map[string]bool{}
		uses  []string
	)
	for _, seq := range p.o.Seqs {
		r := p.record(seq)
		if r != nil && r.Payload == nil {
			continue // erased already
		}
		why, hint := p.mayNot(seq, r)
		switch {
		case why != "" && p.o.Skip && r != nil:
			p.left = append(p.left, Leftover{p.meta.ID, seq, r.Kind, why})
		case why != "":
			return p.refuse(seq, why, hint)
		default:
			if err := p.empty(r, items, &uses); err != nil {
				return err
			}
		}
	}
	if len(items) > 0 || len(uses) > 0 || len(p.texts) > 0 {
		if err := p.repeats(items, uses); err != nil {
			return err
		}
	}
	p.answers()
	return nil
}

// answers plans the answers to the questions that are planned.
func (p *redactionPlan) answers() {
	asked := map[string]bool{}
	for i := range p.own {
		r := &p.own[i]
		_, planned := p.targets[r.Seq]
		switch id := payloadText(r.Payload, "id"); {
		case r.Kind == KindApprovalAsked && planned:
			asked[id] = true
		case r.Kind == KindApprovalResolved && !planned && r.Payload != nil && asked[id]:
			p.targets[r.Seq] = emptied(r, nil)
		}
	}
}

const whyOpen = "the question is open, or its answer was not acted on"

// mayNot says why a record that was named may not be erased, or "".
func (p *redactionPlan) mayNot(seq int64, r *Record) (why, hint string) {
	switch {
	case seq >= 1 && seq <= p.meta.ParentSeq:
		return "it belongs to session " + p.meta.Parent, "holdfast sessions redact " + p.meta.Parent
	case r == nil:
		return "there is none of this number", ""
	case p.open[seq]:
		return whyOpen, "holdfast approvals list"
	case r.Kind == KindRedacted:
		return "it stands for other records: name those", ""
	case r.Kind == KindRewrite:
		if held, err := heldItems(r); err != nil || len(held) == 0 {
			return "it cuts the transcript and has none of its content", ""
		}
	}
	return mayNotErase(r.Kind), ""
}

// empty plans to erase a record whole and notes the items and tool uses it had.
func (p *redactionPlan) empty(r *Record, items map[string]bool, uses *[]string) error {
	held, err := heldItems(r)
	if err != nil {
		return p.refuse(r.Seq, err.Error(), "")
	}
	for _, e := range held {
		if e.ID() != "" {
			items[e.ID()] = true
		}
		*uses = append(*uses, e.UseIDs()...)
		if text := strings.TrimSpace(e.Text()); text != "" {
			p.texts = append(p.texts, text)
		}
	}
	p.targets[r.Seq] = emptied(r, nil)
	return nil
}

// repeats plans what holds the same items or speaks of the same tool uses.
func (p *redactionPlan) repeats(items map[string]bool, uses []string) error {
	written := p.written(uses)
	for i := range p.own {
		r := &p.own[i]
		if _, planned := p.targets[r.Seq]; planned || r.Payload == nil {
			continue
		}
		switch r.Kind {
		case KindItem, KindRewrite:
			held, err := heldItems(r)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(held, func(e transcript.Encoded) bool { return items[e.ID()] }) {
				p.targets[r.Seq] = emptied(r, items)
			}
		case KindApprovalAsked, KindApprovalResolved, KindDecision, KindHookRan:
			if !slices.ContainsFunc(uses, func(use string) bool { return mentions(r.Payload, use) }) {
				continue
			}
			if p.open[r.Seq] {
				return p.refuse(r.Seq, "it asks about a tool use of what is to be erased, and is open", "holdfast approvals list")
			}
			p.targets[r.Seq] = emptied(r, nil)
		case KindFileSaved:
			if slices.Contains(uses, payloadText(r.Payload, "use_id")) || slices.Contains(written, payloadText(r.Payload, "digest")) {
				p.targets[r.Seq] = emptied(r, nil)
			}
		case KindRunEvent:
			if p.tells(r) {
				p.targets[r.Seq] = emptied(r, nil)
			}
		}
	}
	return nil
}

// written are the digests of what tool uses have put into files: what is saved of such a
// file before its next change repeats it.
func (p *redactionPlan) written(uses []string) []string {
	var list []string
	for i := range p.own {
		if r := &p.own[i]; r.Kind == KindFileSaved && slices.Contains(uses, payloadText(r.Payload, "use_id")) {
			list = append(list, payloadText(r.Payload, "after"))
		}
	}
	return list
}

// telling is from how many bytes on a text within another one is no coincidence.
const telling = 16

// tells reports whether a run.event has the text of an item that was named.
func (p *redactionPlan) tells(r *Record) bool {
	for _, f := range []string{"input", "text", "message"} {
		has := strings.TrimSpace(payloadText(r.Payload, f))
		if slices.ContainsFunc(p.texts, func(text string) bool {
			return has == text || len(text) >= telling && strings.Contains(has, text)
		}) {
			return true
		}
	}
	return false
}

// masked plans every record in which the mask finds something.
func (p *redactionPlan) masked() {
	for i := range p.own {
		r := &p.own[i]
		if _, planned := p.targets[r.Seq]; planned || r.Payload == nil || r.Kind == KindRedacted || !p.hits(*r) {
			continue
		}
		why := mayNotErase(r.Kind)
		if p.open[r.Seq] {
			why = whyOpen
		}
		if why != "" {
			p.left = append(p.left, Leftover{p.meta.ID, r.Seq, r.Kind, why})
			continue
		}
		p.targets[r.Seq] = maskedPayload(r, p.o.Mask)
	}
}

// carry plans to erase the redacted records that stand for what is read otherwise
// now, and takes over what else they stand for.
func (p *redactionPlan) carry() {
	var old []int64
	for seq := range p.targets {
		if by, ok := p.by[seq]; ok && !slices.Contains(old, by) {
			old = append(old, by)
		}
	}
	for i := range p.own { // the reason of one may say what is to go
		r := &p.own[i]
		if r.Kind == KindRedacted && r.Payload != nil && p.o.Mask != nil && p.hits(*r) && !slices.Contains(old, r.Seq) {
			old = append(old, r.Seq)
		}
	}
	for _, seq := range old {
		r := p.record(seq)
		if r == nil {
			continue
		}
		var w Redacted
		if json.Unmarshal(r.Payload, &w) != nil {
			continue
		}
		for _, was := range w.Seqs {
			if _, planned := p.targets[was]; planned {
				continue
			}
			p.carried[was] = true
			p.targets[was] = nil
			if of := p.record(was); of != nil {
				p.targets[was] = of.Payload
			}
		}
		p.targets[seq] = nil
	}
}

// order lists the seqs of what is erased.
func (p *redactionPlan) order() []int64 {
	seqs := make([]int64, 0, len(p.targets))
	for seq := range p.targets {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	return seqs
}
