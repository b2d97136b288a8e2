package transcript

import "slices"

// Transcript is a growing list of items that keeps the pairing rule. The zero
// value is empty and ready. It is not safe for concurrent use.
type Transcript struct {
	items    []Encoded
	open     []string       // tool uses that wait for a result, in order
	openAt   int            // index of the item that opened them
	answered map[string]int // tool-use id → index of its result
	index    map[string]int // item id → index; nil until the first Find
}

// Append adds items at the end. If an item breaks the pairing rule, Append stops and returns a
// [PairingError]; the items before it stay. Open tool uses at the end are allowed; see
// [Transcript.Check].
func (t *Transcript) Append(items ...Encoded) error {
	if t.answered == nil {
		t.answered = make(map[string]int, len(items)/2)
	}
	t.items = slices.Grow(t.items, len(items))
	for _, e := range items {
		if err := t.append(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *Transcript) append(e Encoded) error {
	if err := t.CanAppend(e); err != nil {
		return err
	}
	at := len(t.items)
	t.items = append(t.items, e)
	if t.index != nil && e.id != "" {
		t.index[e.id] = at
	}
	for _, id := range e.results {
		t.answered[id] = at
		t.open = slices.DeleteFunc(t.open, func(o string) bool { return o == id })
	}
	if len(e.uses) > 0 {
		t.open, t.openAt = slices.Clone(e.uses), at
	}
	return nil
}

// CanAppend returns the error with which Append would reject e now, or nil.
func (t *Transcript) CanAppend(e Encoded) error {
	at := len(t.items)
	fault := func(f string, ids ...string) error { return &PairingError{Fault: f, IDs: ids, Item: at} }
	for i, id := range e.results {
		if slices.Contains(e.results[:i], id) {
			return fault(faultDuplicateResult, id)
		}
		if slices.Contains(t.open, id) {
			continue
		}
		if _, done := t.answered[id]; done {
			return fault(faultDuplicateResult, id)
		}
		return fault(faultOrphanResult, id)
	}
	for i, id := range e.uses {
		if t.Answered(id) || slices.Contains(t.open, id) || slices.Contains(e.uses[:i], id) {
			return fault(faultDuplicateUse, id)
		}
	}
	if len(t.open) > 0 && len(e.results) == 0 {
		return fault(faultUnanswered, t.open...)
	}
	if len(e.uses) > 0 {
		if open := t.openAfter(e); len(open) > 0 {
			return fault(faultUnanswered, open...)
		}
	}
	return nil
}

// openAfter returns the open uses that e does not answer.
func (t *Transcript) openAfter(e Encoded) []string {
	var open []string
	for _, id := range t.open {
		if !slices.Contains(e.results, id) {
			open = append(open, id)
		}
	}
	return open
}

// Check returns a [PairingError] if tool uses still wait for a result, and nil if the transcript
// can be sent to a model.
func (t *Transcript) Check() error {
	if len(t.open) == 0 {
		return nil
	}
	return &PairingError{Fault: faultUnanswered, IDs: slices.Clone(t.open), Item: t.openAt}
}

// Open returns the ids of tool uses without a result, in call order.
func (t *Transcript) Open() []string { return slices.Clone(t.open) }

// OpenUses returns the tool uses without a result, in call order.
func (t *Transcript) OpenUses() []ToolUse {
	if len(t.open) == 0 {
		return nil
	}
	return slices.DeleteFunc(t.items[t.openAt].Uses(), func(u ToolUse) bool { return !slices.Contains(t.open, u.ID) })
}

// Answered reports whether the tool use with this id has a result.
func (t *Transcript) Answered(useID string) bool {
	_, ok := t.answered[useID]
	return ok
}

// Len returns the number of items.
func (t *Transcript) Len() int { return len(t.items) }

// At returns item i.
func (t *Transcript) At(i int) Encoded { return t.items[i] }

// Last returns the last item, or the zero value.
func (t *Transcript) Last() Encoded {
	if len(t.items) == 0 {
		return Encoded{}
	}
	return t.items[len(t.items)-1]
}

// Items returns the items. Do not change the slice.
func (t *Transcript) Items() []Encoded { return t.items }

// Find returns the index of the item with the given id, or -1.
func (t *Transcript) Find(id string) int {
	if t.index == nil {
		t.index = make(map[string]int, len(t.items))
		for i, e := range t.items {
			if e.id != "" {
				t.index[e.id] = i
			}
		}
	}
	if i, ok := t.index[id]; ok {
		return i
	}
	return -1
}

// Dispatchable reports whether a model has something to answer: the last item has a dispatchable
// role and no tool use is open.
func (t *Transcript) Dispatchable() bool {
	return len(t.open) == 0 && len(t.items) > 0 && t.Last().role.Dispatchable()
}

// Validate checks the pairing rule for a whole list. It returns a [PairingError] or nil.
func Validate(items []Encoded) error {
	var t Transcript
	if err := t.Append(items...); err != nil {
		return err
	}
	return t.Check()
}
