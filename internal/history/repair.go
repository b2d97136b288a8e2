package history

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/transcript"
)

// OutcomeUnknown is the text for the model about a tool call whose result was never recorded.
const OutcomeUnknown = "interrupted, outcome unknown: the call had started when the session stopped. " +
	"It may or may not have taken effect and was not run again. Check before you repeat it."

// OutcomeUnknownInFork is the text for the model about a tool call that may have run outside this
// transcript: in the parent session, in a part that was cut off, or in another program.
const OutcomeUnknownInFork = "outcome unknown: the call may have run, but its result is not part of this session, which was " +
	"forked, cut or imported without it. It was not run here. Check before you repeat it."

// NotRun is the text for the model about a tool call that never started.
const NotRun = "interrupted before it ran: the session stopped first, so the call was not run."

// The faults of a [Note].
const (
	duplicateUse    = "duplicate tool_use"
	orphanResult    = "orphaned tool_result"
	duplicateResult = "duplicate tool_result"
	unanswered      = "tool_use without matching tool_result"
)

// Note is one change that [Repair] made.
type Note struct {
	Fault string
	UseID string
	Item  int // index in the input of Repair
}

func (n Note) String() string {
	switch n.Fault {
	case unanswered:
		return fmt.Sprintf("tool use %s had no result: added the result %q", n.UseID, "interrupted, outcome unknown")
	case duplicateUse:
		return fmt.Sprintf("duplicate tool use %s: the second was removed", n.UseID)
	}
	return fmt.Sprintf("%s %s: removed", n.Fault, n.UseID)
}

// Repair returns a list that [transcript.Validate] accepts, and notes about its changes. Without
// notes the list was valid and is returned unchanged. Repair answers a use without a result with
// [OutcomeUnknown]. It removes a result without a use, a second result, and a second use of the
// same id, and adds a notification item with the removed text. newID makes the ids of new items.
func Repair(items []transcript.Encoded, newID func() string) ([]transcript.Encoded, []Note, error) {
	r := repair{newID: newID}
	for i, e := range items {
		if err := r.take(i, e); err != nil {
			return nil, r.notes, err
		}
	}
	if err := r.close(r.t.Open()); err != nil {
		return nil, r.notes, err
	}
	if err := r.flush(); err != nil {
		return nil, r.notes, err
	}
	if len(r.notes) == 0 {
		return items, nil, nil
	}
	return r.t.Items(), r.notes, nil
}

// repair builds the repaired list.
type repair struct {
	t       transcript.Transcript
	notes   []Note
	newID   func() string
	usedAt  int               // input index of the item with the open uses
	notices []transcript.Item // to add after the open uses are answered
}

func (r *repair) take(i int, e transcript.Encoded) error {
	if r.t.CanAppend(e) != nil {
		repaired, removed, err := r.dropUnpaired(e)
		if err != nil {
			return err
		}
		for _, s := range removed {
			s.note.Item = i
			r.notes = append(r.notes, s.note)
			r.notices = append(r.notices, transcript.Item{Role: transcript.RoleNotification, Parts: []transcript.Part{transcript.Text{Text: s.notice()}}})
		}
		if e = repaired; e.IsZero() {
			return r.flush()
		}
		if len(e.ResultIDs()) == 0 || len(e.UseIDs()) > 0 {
			if err := r.close(slices.DeleteFunc(r.t.Open(), func(id string) bool { return slices.Contains(e.ResultIDs(), id) })); err != nil {
				return err
			}
		}
	}
	if err := r.t.Append(e); err != nil {
		return err
	}
	if len(e.UseIDs()) > 0 {
		r.usedAt = i
	}
	return r.flush()
}

// close adds a result to each tool use that has none.
func (r *repair) close(ids []string) error {
	for _, id := range ids {
		r.notes = append(r.notes, Note{unanswered, id, r.usedAt})
		if err := r.add(UnknownOutcome(id)); err != nil {
			return err
		}
	}
	return nil
}

// flush adds the notices, which must not be between a use and its result.
func (r *repair) flush() error {
	if len(r.t.Open()) > 0 {
		return nil
	}
	for _, n := range r.notices {
		if err := r.add(n); err != nil {
			return err
		}
	}
	r.notices = nil
	return nil
}

func (r *repair) add(it transcript.Item) error {
	it.ID = r.newID()
	e, err := it.Encode()
	if err != nil {
		return err
	}
	return r.t.Append(e)
}

// UnknownOutcome returns the tool item that answers an interrupted call. Its metadata marks it, so
// that hosts can show it differently.
func UnknownOutcome(useID string) transcript.Item { return unknown(useID, OutcomeUnknown) }

// UnknownInFork returns the tool item that answers a call that may have run outside this transcript.
// It has the same mark as the item of [UnknownOutcome].
func UnknownInFork(useID string) transcript.Item { return unknown(useID, OutcomeUnknownInFork) }

func unknown(useID, text string) transcript.Item {
	it := transcript.ToolResult{UseID: useID, IsError: true, Content: []transcript.Part{transcript.Text{Text: text}}}.Item()
	it.Metadata = map[string]json.RawMessage{"outcome": json.RawMessage(`"unknown"`)}
	return it
}

// NotStarted returns the tool item that answers a call that had not started.
func NotStarted(useID string) transcript.Item {
	return transcript.ToolResult{UseID: useID, IsError: true, Content: []transcript.Part{transcript.Text{Text: NotRun}}}.Item()
}

// LostTask returns the notification about a background task that was running when the program
// stopped.
func LostTask(useID, tool string) transcript.Item {
	return transcript.Item{Role: transcript.RoleNotification, Parts: []transcript.Part{transcript.Text{Text: fmt.Sprintf(
		"The task %s (%s) ran in the background when the program stopped: its outcome is unknown, and it was not run again.", useID, tool)}}}
}

// TaskInParent returns the notification for a fork about a background task of its parent session.
func TaskInParent(useID, tool string) transcript.Item {
	return transcript.Item{Role: transcript.RoleNotification, Parts: []transcript.Part{transcript.Text{Text: fmt.Sprintf(
		"The task %s (%s) continues in the session that this one was forked from. It does not run here, and you will not be notified when it ends.", useID, tool)}}}
}

// removedPart is a part that was removed, and its text.
type removedPart struct {
	note Note
	text string
}

func (s removedPart) notice() string {
	const maxText = 400 // bytes
	return fmt.Sprintf("%s %s was removed when the transcript was repaired. Its content: %q", s.note.Fault, s.note.UseID, truncate.String(s.text, maxText))
}

// dropUnpaired removes the results and uses from e that break the pairing rule. The returned item is
// zero if nothing remains.
func (r *repair) dropUnpaired(e transcript.Encoded) (transcript.Encoded, []removedPart, error) {
	it, err := e.Decode()
	if err != nil {
		return transcript.Encoded{}, nil, err
	}
	var (
		kept    []transcript.Part
		removed []removedPart
		results = map[string]bool{}
		uses    = map[string]bool{}
		open    = r.t.Open()
	)
	for _, p := range it.Parts {
		var fault string
		var id, text string
		switch p := p.(type) {
		case transcript.ToolResult:
			id, text = p.UseID, resultText(p)
			switch {
			case r.t.Answered(id) || results[id]:
				fault = duplicateResult
			case !slices.Contains(open, id):
				fault = orphanResult
			}
			results[id] = true
		case transcript.ToolUse:
			id, text = p.ID, p.Name+" "+string(p.Input)
			if r.t.Answered(id) || slices.Contains(open, id) || uses[id] {
				fault = duplicateUse
			}
			uses[id] = true
		}
		if fault != "" {
			removed = append(removed, removedPart{Note{Fault: fault, UseID: id}, text})
			continue
		}
		kept = append(kept, p)
	}
	switch {
	case len(removed) == 0:
		return e, nil, nil
	case len(kept) == 0:
		return transcript.Encoded{}, removed, nil
	}
	it.Parts, it.Native = kept, nil // the native form still has the removed parts
	repaired, err := it.Encode()
	return repaired, removed, err
}

// resultText returns the result's text or, if it has none, its content as JSON.
func resultText(r transcript.ToolResult) string {
	if text := r.Text(); text != "" || len(r.Content) == 0 {
		return text
	}
	e, err := r.Item().Encode()
	if err != nil {
		return ""
	}
	for p := range e.Parts() {
		return string(p.Field("content"))
	}
	return ""
}
