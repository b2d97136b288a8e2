package transcript

import (
	"encoding/json"
	"fmt"
)

// OutcomeUnknown is what a model is told about a tool call whose result never
// reached the log.
const OutcomeUnknown = "interrupted, outcome unknown: the call had started when the session stopped. " +
	"It may or may not have taken effect and was not run again. Check before you repeat it."

// NotRun is what a model is told about a tool call that was never started.
const NotRun = "interrupted before it ran: the session stopped first, and the call was not run."

// RepairNote says one thing that [Repair] did.
type RepairNote struct {
	Fault PairingFault
	UseID string
	Item  int // index in the list that was given
}

func (n RepairNote) String() string {
	switch n.Fault {
	case FaultUnanswered:
		return fmt.Sprintf("tool use %s had no result: answered with %q", n.UseID, "interrupted, outcome unknown")
	case FaultDuplicateUse:
		return fmt.Sprintf("tool use %s appeared twice: the second was set aside", n.UseID)
	}
	return fmt.Sprintf("%s %s: set aside", n.Fault, n.UseID)
}

// Repair returns a list that [Validate] accepts, and what it changed; no notes
// means that the list was sound and is returned as it was. A use without a
// result is answered with [OutcomeUnknown]; a result without a use, a second
// result and a second use of one id are set aside, each with a notification
// item that carries their text. newID names the items it adds.
func Repair(items []Encoded, newID func() string) ([]Encoded, []RepairNote, error) {
	var (
		t     Transcript
		notes []RepairNote
	)
	add := func(it Item) error {
		it.ID = newID()
		e, err := Encode(it)
		if err != nil {
			return err
		}
		return t.Append(e)
	}
	closeOpen := func() error {
		for _, id := range t.Open() {
			notes = append(notes, RepairNote{FaultUnanswered, id, t.openAt})
			if err := add(UnknownOutcome(id)); err != nil {
				return err
			}
		}
		return nil
	}
	for i, e := range items {
		if len(e.results) == 0 {
			if err := closeOpen(); err != nil {
				return nil, notes, err
			}
		}
		if t.Admits(e) == nil {
			if err := t.Append(e); err != nil {
				return nil, notes, err
			}
			continue
		}
		mended, removed, err := t.mend(e)
		if err != nil {
			return nil, notes, err
		}
		for k := range removed {
			removed[k].note.Item = i
			notes = append(notes, removed[k].note)
		}
		if !mended.IsZero() {
			if err := t.Append(mended); err != nil {
				return nil, notes, err
			}
		}
		for _, r := range removed {
			if len(t.open) > 0 { // a notice may not stand between a use and its result
				continue
			}
			notice := Item{Role: RoleNotification, Parts: []Part{Text{Text: r.notice()}}}
			if err := add(notice); err != nil {
				return nil, notes, err
			}
		}
	}
	if err := closeOpen(); err != nil {
		return nil, notes, err
	}
	if len(notes) == 0 {
		return items, nil, nil
	}
	return t.items, notes, nil
}

// UnknownOutcome is the tool item that answers an interrupted call. Its
// metadata marks it, so that hosts can show it as what it is.
func UnknownOutcome(useID string) Item {
	it := ResultItem(ToolResult{UseID: useID, IsError: true, Content: []Part{Text{Text: OutcomeUnknown}}})
	it.Metadata = map[string]json.RawMessage{"outcome": json.RawMessage(`"unknown"`)}
	return it
}

// NeverRan is the tool item that answers a call that had not started.
func NeverRan(useID string) Item {
	return ResultItem(ToolResult{UseID: useID, IsError: true, Content: []Part{Text{Text: NotRun}}})
}

type setAside struct {
	note RepairNote
	text string
}

func (s setAside) notice() string {
	text := s.text
	if len(text) > 400 {
		text = text[:400] + "…"
	}
	return fmt.Sprintf("%s %s was set aside when the transcript was repaired. It said: %q", s.note.Fault, s.note.UseID, text)
}

// mend takes out of e the parts that cannot be admitted. The result is zero when nothing is left.
func (t *Transcript) mend(e Encoded) (Encoded, []setAside, error) {
	it, err := e.Decode()
	if err != nil {
		return Encoded{}, nil, err
	}
	var (
		kept    []Part
		removed []setAside
		seen    = map[string]bool{}
	)
	for _, p := range it.Parts {
		switch p := p.(type) {
		case ToolResult:
			open := false
			for _, id := range t.open {
				open = open || id == p.UseID
			}
			if _, done := t.answered[p.UseID]; seen[p.UseID] || done {
				removed = append(removed, setAside{RepairNote{Fault: FaultDuplicateResult, UseID: p.UseID}, p.Text()})
				continue
			} else if !open {
				removed = append(removed, setAside{RepairNote{Fault: FaultOrphanResult, UseID: p.UseID}, p.Text()})
				continue
			}
			seen[p.UseID] = true
		case ToolUse:
			if _, done := t.answered[p.ID]; done || seen[p.ID] {
				removed = append(removed, setAside{RepairNote{Fault: FaultDuplicateUse, UseID: p.ID}, string(p.Input)})
				continue
			}
			seen[p.ID] = true
		}
		kept = append(kept, p)
	}
	if len(kept) == 0 {
		return Encoded{}, removed, nil
	}
	it.Parts, it.Native = kept, nil // the provider's own form still holds what was taken out
	mended, err := Encode(it)
	return mended, removed, err
}
