package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// repair prepares the session for resuming, however its last run ended: it finishes every running
// tool, answers every tool use, closes every approval request about one of them, and closes the
// turn. While an approval request waits, its tool round and turn stay open. The repair is one
// batch; a session that ended normally or only waits needs none.
func (r *Restored) repair(ctx context.Context, f *replayer) error {
	notices := len(r.Notices)
	for {
		m := repairBatch{
			r: r, f: f,
			startedSessions: sync.OnceValues(func() (map[string]string, error) { return r.Log.s.startedSessions(ctx, r.Log.Meta()) }),
			since:           sync.OnceValues(func() (map[string]bool, error) { return r.Log.s.startedSince(ctx, r.Log.Meta()) }),
		}
		if err := m.plan(); err != nil {
			return err
		}
		err := r.applyAt(ctx, f, m.drafts)
		if !errors.Is(err, ErrConflict) {
			return err
		}
		// An approval request may have been answered meanwhile.
		added, takes := r.Log.Refresh(ctx)
		if takes != nil {
			return takes
		}
		if len(added) == 0 && r.Log.Head() == f.s.Head {
			return err
		}
		if err := r.catchUp(ctx, f); err != nil {
			return err
		}
		r.Notices = r.Notices[:notices]
	}
}

// repairBatch is the batch of records that repairs a session.
type repairBatch struct {
	r               *Restored
	f               *replayer
	drafts          []Draft
	startedSessions func() (map[string]string, error) // sessions started by tool uses, by use
	since           func() (map[string]bool, error)   // tool uses that the source session started after the fork was made
}

// startedSessions returns the sessions that tool uses of this session, and of those it was forked
// from, started; by use.
func (s *Sessions) startedSessions(ctx context.Context, m Meta) (map[string]string, error) {
	list := map[string]string{}
	for !m.Deleted { // its sub-agents too
		begun, err := s.childSessions(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		for _, b := range begun {
			if list[b.use] == "" {
				list[b.use] = b.ID
			}
		}
		if m.Parent == "" {
			break
		}
		if m, err = s.lookup(ctx, m.Parent); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// startedSince returns the uses that the source sessions of a fork started after the fork was
// made.
func (s *Sessions) startedSince(ctx context.Context, m Meta) (map[string]bool, error) {
	started := map[string]bool{}
	for m.Parent != "" {
		left := m.ParentSeq
		var err error
		if m, err = s.lookup(ctx, m.Parent); err != nil {
			return nil, err
		}
		for r, err := range s.records(ctx, m, Range{After: left}) {
			if err != nil {
				return nil, err
			}
			if r.Kind == record.KindToolStarted {
				started[payloadText(r.Payload, "use_id")] = true
			}
		}
	}
	return started, nil
}

// withResumeNote adds a note to the result of a tool use whose sub-agent can be resumed.
func (m *repairBatch) withResumeNote(it transcript.Item, use string) (transcript.Item, error) {
	workers, err := m.startedSessions()
	id := workers[use]
	if id == "" || err != nil {
		return it, err
	}
	text := transcript.Text{Text: "[sub-agent " + id + " worked on it and its session is kept: pass this id as resume to continue it]"}
	if r, ok := it.Parts[0].(transcript.ToolResult); ok {
		r.Content = append(r.Content, text)
		it.Parts[0] = r
		return it, nil
	}
	it.Parts = append(it.Parts, text)
	return it, nil
}

func (m *repairBatch) add(k Kind, payload any) error {
	d, err := NewDraft(k, payload)
	m.drafts = append(m.drafts, d)
	return err
}

func (m *repairBatch) plan() error {
	s := &m.f.s
	for _, t := range s.Running {
		if err := m.add(record.KindToolFinished, record.ToolFinished{Use: t.Use, Tool: t.Tool, IsError: true, Outcome: record.OutcomeUnknown}); err != nil {
			return err
		}
		m.r.notice("tool %s (%s) was running when the session stopped: its outcome is unknown", t.Tool, t.Use)
	}
	if err := m.repairTranscript(); err != nil {
		return err
	}
	if err := m.closeApprovals(); err != nil {
		return err
	}
	if s.OpenTurn == "" || m.r.Waiting {
		return nil
	}
	m.r.notice("turn %s was interrupted", s.OpenTurn)
	return m.add(record.KindTurnClosed, record.TurnClosed{Turn: s.OpenTurn, Reason: "interrupted"})
}

// repairTranscript answers open tool uses at the end, and rewrites a transcript that breaks the
// pairing rule elsewhere. If one of the open uses has an approval request, those that did not start
// stay open.
func (m *repairBatch) repairTranscript() error {
	r, f := m.r, m.f
	r.Waiting = false
	t := &transcript.Transcript{}
	if t.Append(f.s.Items...) != nil {
		return m.repair()
	}
	open := t.OpenUses()
	waiting := f.waiting()
	r.Waiting = slices.ContainsFunc(open, func(u transcript.ToolUse) bool { return waiting[u.ID] })
	if err := m.notifyBackground(open); err != nil {
		return err
	}
	for _, use := range open {
		if r.Waiting && !f.begun[use.ID] {
			if waiting[use.ID] {
				r.notice("tool use %s (%s) waits for approval", use.Name, use.ID)
			}
			continue
		}
		it, err := m.answer(use)
		if err != nil {
			return err
		}
		it.ID, it.Time = r.Log.s.NewID(), r.Log.s.opt.Clock()
		e, err := it.Encode()
		if err != nil {
			return err
		}
		if err := t.Append(e); err != nil {
			return err
		}
		m.drafts = append(m.drafts, ItemDraft(e, false, nil))
	}
	r.Transcript = t
	return nil
}

// notifyBackground queues notifications for the model about background tasks that had not ended:
// their tool uses already have results.
func (m *repairBatch) notifyBackground(open []transcript.ToolUse) error {
	for _, t := range m.f.s.Running {
		if slices.ContainsFunc(open, func(u transcript.ToolUse) bool { return u.ID == t.Use }) {
			continue
		}
		if err := m.queue(history.LostTask(t.Use, t.Tool), t.Use); err != nil {
			return err
		}
	}
	for _, t := range m.f.parentTasks {
		if err := m.add(record.KindToolFinished, record.ToolFinished{Use: t.Use, Tool: t.Tool, IsError: true, Outcome: record.OutcomeUnknown}); err != nil {
			return err
		}
		if err := m.queue(history.TaskInParent(t.Use, t.Tool), t.Use); err != nil {
			return err
		}
	}
	return nil
}

// queue queues an item about a tool use.
func (m *repairBatch) queue(it transcript.Item, use string) error {
	it, err := m.withResumeNote(it, use)
	if err != nil {
		return err
	}
	it.ID, it.Time = m.r.Log.s.NewID(), m.r.Log.s.opt.Clock()
	e, err := it.Encode()
	if err != nil {
		return err
	}
	m.drafts = append(m.drafts, ItemDraft(e, true, nil))
	return nil
}

// answer returns a result for a tool use that has none.
func (m *repairBatch) answer(use transcript.ToolUse) (transcript.Item, error) {
	if m.f.begun[use.ID] {
		return m.withResumeNote(history.UnknownOutcome(use.ID), use.ID)
	}
	since, err := m.since()
	if err != nil {
		return transcript.Item{}, err
	}
	if m.f.outside[use.ID] || since[use.ID] {
		return m.withResumeNote(history.UnknownInFork(use.ID), use.ID)
	}
	m.r.notice("tool use %s (%s) had not started when the session stopped: it was not run", use.Name, use.ID)
	return history.NotStarted(use.ID), nil
}

// cutAnswer is the approval.resolved payload for an approval request whose tool use will not run:
// a part of package approval's Answer.
type cutAnswer struct {
	ID       string    `json:"id"`
	Decision string    `json:"decision"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
}

// closeApprovals denies approval requests that no call waits for. Those of a sub-agent stay open,
// because the sub-agent may be resumed.
func (m *repairBatch) closeApprovals() error {
	for _, q := range m.f.s.OpenApprovals {
		if q.text("asker") != "" || m.r.Waiting && m.f.waits(q) {
			continue
		}
		a := cutAnswer{ID: q.text("id"), Decision: "deny", By: "restore", At: m.r.Log.s.opt.Clock().UTC()}
		if m.f.obsolete[q.Seq] {
			a.By = "cut"
		}
		if err := m.add(record.KindApprovalResolved, a); err != nil {
			return err
		}
	}
	return nil
}

func (m *repairBatch) repair() error {
	r, f := m.r, m.f
	items, notes, err := history.Repair(f.s.Items, r.Log.s.NewID)
	if err != nil {
		return err
	}
	r.Transcript = &transcript.Transcript{}
	if err := r.Transcript.Append(items...); err != nil {
		return err
	}
	w := Rewrite{Reason: "repair", By: "restore", Messages: len(items)}
	for _, n := range notes {
		w.Notes = append(w.Notes, n.String())
		r.notice("%s", n)
	}
	for _, e := range items {
		w.Items = append(w.Items, e.JSON)
	}
	return m.add(record.KindRewrite, w)
}
