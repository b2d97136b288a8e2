package session

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// redactionPlan determines which records a redaction erases in one session.
type redactionPlan struct {
	s         *Sessions
	o         RedactOptions
	meta      Meta
	records   []Record                  // the session's records with their replacements
	known     erased                    // replacements of records that were erased before
	by        map[int64]int64           // seq of the redacted record that has the replacement, for each record erased before
	targets   map[int64]json.RawMessage // seqs to erase and their replacements
	carried   map[int64]bool            // the seqs in targets that were erased before and whose replacement is unchanged
	open      map[int64]bool            // approval requests without an answer, and those whose answer has had no effect yet
	shares    map[string]int64          // seq of the last shared record, for each session that this one was forked from
	remaining []Erasure
	busy      string // why nothing can be erased here now; "" if it can

	unfinished []int64
}

// readPlan reads a session's log for a plan. It changes nothing.
func (s *Sessions) readPlan(ctx context.Context, m Meta, o RedactOptions) (*redactionPlan, error) {
	p := &redactionPlan{
		s: s, o: o, meta: m, by: map[int64]int64{}, targets: map[int64]json.RawMessage{}, carried: map[int64]bool{}, open: map[int64]bool{},
		shares: map[string]int64{},
	}
	if m.Deleted { // a deleted session cannot be resumed; it has only the records that forks need
		known, err := s.erasedOf(ctx, m)
		if err != nil {
			return nil, err
		}
		return p, p.read(ctx, known)
	}
	f, err := s.replay(ctx, m)
	if err != nil {
		return nil, err
	}
	p.unfinished = f.unfinished(m.ParentSeq)
	for _, q := range f.s.OpenApprovals {
		p.open[q.Seq] = true
	}
	for _, a := range f.s.Answered {
		p.open[a.Asked.Seq] = true
	}
	for seg, err := range s.ancestors(ctx, m, 0) {
		if err != nil {
			return nil, err
		}
		p.shares[seg.id] = seg.last
	}
	return p, p.read(ctx, f.known)
}

// decide adds to the plan the records that repeat the selected ones, and those that the mask
// matches. The parameter main is true for the session that Redact was called for.
func (p *redactionPlan) decide(n *namedText, main bool) error {
	if n.hasContent() {
		if err := p.addRepeats(n, main); err != nil {
			return err
		}
	}
	p.addAnswers()
	if p.o.Mask != nil {
		p.addMasked()
	}
	p.carry()
	return nil
}

// read reads the records with their replacements.
func (p *redactionPlan) read(ctx context.Context, known erased) error {
	p.known = known
	for r, err := range p.s.store.Read(ctx, p.meta.ID, Range{Until: p.meta.Head}) {
		if err != nil {
			return err
		}
		if r.Kind == record.KindRedacted && r.Payload != nil {
			var w record.Redacted
			if err := json.Unmarshal(r.Payload, &w); err != nil {
				return err
			}
			for _, i := range w.Replacements {
				p.by[i.Seq] = r.Seq
			}
		}
		if instead, ok := known[r.Seq]; ok {
			r.Payload = instead
		}
		p.records = append(p.records, r)
	}
	return nil
}

// hits reports whether the mask matches a record.
func (p *redactionPlan) hits(r Record) bool { return r.matchesMask(p.o.Mask) }

func (p *redactionPlan) record(seq int64) *Record {
	i := seq - p.meta.ParentSeq - 1
	if i < 0 || i >= int64(len(p.records)) {
		return nil
	}
	return &p.records[i]
}

// planRecords plans the selected records and adds their content to n.
func (p *redactionPlan) planRecords(n *namedText) error {
	for _, seq := range p.o.Seqs {
		r := p.record(seq)
		if r != nil && r.Payload == nil {
			continue // erased already
		}
		why, hint := p.whyNotErasable(seq, r)
		switch {
		case why != "" && p.o.Skip && r != nil:
			p.remaining = append(p.remaining, leftover(p.meta.ID, r, why))
		case why != "":
			return p.refuse(seq, why, hint)
		default:
			if err := p.addWhole(r, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// addAnswers adds to the plan the answers to its approval requests.
func (p *redactionPlan) addAnswers() {
	asked := map[string]bool{}
	for i := range p.records {
		r := &p.records[i]
		_, planned := p.targets[r.Seq]
		switch id := payloadText(r.Payload, "id"); {
		case r.Kind == record.KindApprovalAsked && planned:
			asked[id] = true
		case r.Kind == record.KindApprovalResolved && !planned && r.Payload != nil && asked[id]:
			p.targets[r.Seq] = emptied(r, nil)
		}
	}
}

const reasonOpen = "the approval request is open, or its answer was not acted on"

// whyNotErasable returns why a selected record cannot be erased, or "".
func (p *redactionPlan) whyNotErasable(seq int64, r *Record) (why, hint string) {
	switch {
	case r == nil:
		return "there is no record with this number", ""
	case p.open[seq]:
		return reasonOpen, "holdfast approvals list"
	case r.Kind == record.KindRedacted:
		return "it has the replacements of other records; use their numbers", ""
	case r.Kind == record.KindRewrite:
		if held, err := heldItems(r); err != nil || len(held) == 0 {
			return "it cuts the transcript and contains none of its text", ""
		}
	}
	return notErasableReason(r.Kind), ""
}

// addWhole adds a whole record to the plan, and adds its items, tool uses and texts to n.
func (p *redactionPlan) addWhole(r *Record, n *namedText) error {
	held, err := heldItems(r)
	if err != nil {
		return p.refuse(r.Seq, err.Error(), "")
	}
	for _, e := range held {
		if e.ID() != "" {
			n.items[e.ID()] = true
		}
		n.uses[p.meta.ID] = append(n.uses[p.meta.ID], e.UseIDs()...)
		n.resultUses[p.meta.ID] = append(n.resultUses[p.meta.ID], e.ResultIDs()...)
		for _, text := range append(itemTexts(e), e.Text()) {
			if text = strings.TrimSpace(text); text != "" && text != record.Erased {
				n.texts = append(n.texts, text)
			}
		}
	}
	p.targets[r.Seq] = emptied(r, nil)
	return nil
}

// addRepeats adds to the plan the records with the same items, about the same tool uses, or with
// the same text.
func (p *redactionPlan) addRepeats(n *namedText, main bool) error {
	uses := slices.Clone(n.uses[p.meta.ID])
	for id := range p.shares {
		uses = append(uses, n.uses[id]...)
	}
	written := p.written(uses)
	begun := p.startedBy(n)
	for i := range p.records {
		r := &p.records[i]
		if _, planned := p.targets[r.Seq]; planned || r.Payload == nil {
			continue
		}
		again := false
		switch r.Kind {
		case KindItem, record.KindRewrite:
			held, err := heldItems(r)
			if err != nil {
				return err
			}
			ids := map[string]bool{}
			for _, e := range held {
				if n.items[e.ID()] || begun && n.matchesAny(itemTexts(e)) {
					ids[e.ID()] = true
				}
			}
			if len(ids) > 0 {
				p.targets[r.Seq] = emptied(r, ids)
			}
		case record.KindApprovalAsked, record.KindApprovalResolved, record.KindDecision, record.KindHookRan:
			again = slices.ContainsFunc(uses, func(use string) bool { return mentions(r.Payload, use) })
		case record.KindFileSaved:
			again = slices.Contains(uses, payloadText(r.Payload, "use_id")) || slices.Contains(written, payloadText(r.Payload, "digest"))
		case record.KindMetaChanged:
			if n.matchesAny(textsIn(r.Payload)) {
				p.targets[r.Seq] = n.erasedFields(r.Payload)
			}
		case record.KindRunEvent, record.KindTaskChanged, record.KindWorkspaceEvent:
			again = n.matchesAny(textsIn(withoutStrategy(r)))
		case record.KindOpened:
			if n.matchesAny(textsIn(r.Payload)) {
				p.remaining = append(p.remaining, leftover(p.meta.ID, r, whyOpened+"; delete the session to remove the repeated text"))
			}
		}
		switch {
		case !again:
		case p.open[r.Seq] && main:
			return p.refuse(r.Seq, "it is an open approval request for a tool use to be erased", "holdfast approvals list")
		case p.open[r.Seq]:
			p.remaining = append(p.remaining, leftover(p.meta.ID, r, reasonOpen))
		default:
			p.targets[r.Seq] = emptied(r, nil)
		}
	}
	return nil
}

// withoutStrategy returns the payload of a run.event without the strategy, which existed before
// any item.
func withoutStrategy(r *Record) json.RawMessage {
	if r.Kind != record.KindRunEvent {
		return r.Payload
	}
	return fieldsOf(r.Payload, "input", "text", "message")
}

// startedBy reports whether one of the selected tool uses started the session.
func (p *redactionPlan) startedBy(n *namedText) bool {
	if len(p.records) == 0 || p.records[0].Kind != record.KindOpened {
		return false
	}
	use := payloadText(p.records[0].Payload, "use")
	return use != "" && slices.Contains(n.uses[payloadText(p.records[0].Payload, "caller")], use)
}

// written returns the digests of the contents that tool uses wrote to files. A file.saved record
// made before the next change of such a file repeats that content.
func (p *redactionPlan) written(uses []string) []string {
	var list []string
	for i := range p.records {
		if r := &p.records[i]; r.Kind == record.KindFileSaved && slices.Contains(uses, payloadText(r.Payload, "use_id")) {
			list = append(list, payloadText(r.Payload, "after"))
		}
	}
	return list
}

// minMatch is the minimum length in bytes of a text that is searched inside other texts. A shorter
// text may occur there by coincidence.
const minMatch = 16

// matchesAny reports whether one of some texts contains a selected text.
func (n *namedText) matchesAny(texts []string) bool {
	for _, has := range texts {
		has = strings.TrimSpace(has)
		if slices.ContainsFunc(n.texts, func(text string) bool {
			return has == text || len(text) >= minMatch && strings.Contains(has, text)
		}) {
			return true
		}
	}
	return false
}

// erasedFields returns an object without the fields that contain a selected text.
func (n *namedText) erasedFields(payload json.RawMessage) json.RawMessage {
	var fields map[string]any
	if json.Unmarshal(payload, &fields) != nil {
		return nil
	}
	for name, v := range fields {
		if text, ok := v.(string); ok && n.matchesAny([]string{text}) {
			fields[name] = record.Erased
		}
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return b
}

// addMasked adds to the plan every record that the mask matches.
func (p *redactionPlan) addMasked() {
	for i := range p.records {
		r := &p.records[i]
		if _, planned := p.targets[r.Seq]; planned || r.Payload == nil || r.Kind == record.KindRedacted || !p.hits(*r) {
			continue
		}
		why := keptReason(r.Kind)
		if p.open[r.Seq] {
			why = reasonOpen
		}
		if why != "" {
			p.remaining = append(p.remaining, leftover(p.meta.ID, r, why))
			continue
		}
		p.targets[r.Seq] = maskedPayload(r, p.o.Mask)
	}
}

// carry adds to the plan the earlier redacted records whose replacements change, and keeps their
// other replacements.
func (p *redactionPlan) carry() {
	var old []int64
	for seq := range p.targets {
		if by, ok := p.by[seq]; ok && !slices.Contains(old, by) {
			old = append(old, by)
		}
	}
	for i := range p.records { // the reason may contain the text to erase
		r := &p.records[i]
		if r.Kind == record.KindRedacted && r.Payload != nil && p.o.Mask != nil && p.hits(*r) && !slices.Contains(old, r.Seq) {
			old = append(old, r.Seq)
		}
	}
	for _, seq := range old {
		r := p.record(seq)
		if r == nil {
			continue
		}
		var w record.Redacted
		if json.Unmarshal(r.Payload, &w) != nil {
			continue
		}
		instead := replacementMap(w.Replacements)
		for _, was := range w.Seqs {
			if _, planned := p.targets[was]; planned {
				continue
			}
			p.carried[was] = true
			p.targets[was] = instead[was]
			if of := p.record(was); of != nil {
				p.targets[was] = of.Payload
			}
		}
		p.targets[seq] = nil
	}
}
