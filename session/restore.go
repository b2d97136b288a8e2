package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// RestoreOptions says which session an agent goes on with, in the seed's order:
// ContinueRecent picks the id, Fork branches off, At truncates.
type RestoreOptions struct {
	SessionID      string // "" with ContinueRecent false means a new session
	ContinueRecent bool   // the session of Project updated last, when SessionID is ""
	Project        string // for ContinueRecent; "" means any
	Fork           bool   // go on in a fork; the source stays as it is
	ForkID         string // its id; default a new UUID
	ForkGrants     bool   // it begins with what was granted in the source, see [ForkOptions].Grants
	ItemID         string // keep the transcript up to this item id
	MustExist      bool   // an unknown SessionID is ErrNotFound instead of a new session
	Takeover       bool   // take the lease from a live holder, and those of sessions that its calls have begun
	Opened         Opened // describes the session when one is created

	// OpenApprovals and Answered are the questions about tool uses of this session that the log of
	// the run has which it works for, with Seq 0. They are like its own; whoever has them closes them there.
	OpenApprovals []Record
	Answered      []AnsweredApproval
}

// Restored is a session ready to go on.
type Restored struct {
	Log     *Log
	State   *State   // after repair
	Created bool     // the session is new
	Forked  string   // the source's id when it was forked
	Notices []string // what was mended or differs, for a person to read
	// Rewritten: a truncation or a repair has changed the transcript, which had Before items
	// until then.
	Rewritten bool
	Before    int

	// Interrupted: a turn was under way when whoever had the session ended.
	Interrupted bool

	// Waiting: a question about a tool use at the end of the transcript is open, or
	// was answered and not acted on. State.OpenApprovals and State.Answered have it,
	// State.OpenTurn is the turn that goes on.
	Waiting bool

	// Transcript is State.Items with the pairing rule checked: no tool use is open
	// unless Waiting.
	Transcript *transcript.Transcript
}

// Restore opens a session for an agent: it picks, forks and truncates as
// asked, replays the log, answers tool calls without a result with "outcome
// unknown" (durably, before it returns), and reports a turn that never closed.
// Where a question about a call waits, its round and turn stay open instead.
// An unknown At is ErrInvalid with the nearest ids in its Hint. The caller
// closes Restored.Log.
func (s *Sessions) Restore(ctx context.Context, o RestoreOptions) (*Restored, error) {
	id, exists, err := s.pick(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &Restored{}
	if !exists {
		return s.restoreNew(ctx, id, o)
	}
	if o.Fork {
		r.Forked = id
		if id, err = s.Fork(ctx, id, &ForkOptions{ID: o.ForkID, Grants: o.ForkGrants, ItemID: o.ItemID, Owner: o.Opened.Owner, Caller: o.Opened.Caller, Use: o.Opened.Use}); err != nil {
			return nil, err
		}
	}
	if r.Log, err = s.Open(ctx, id, &OpenOptions{Takeover: o.Takeover}); err != nil {
		return nil, err
	}
	if err := r.takeOverChildren(ctx); err != nil {
		return nil, errors.Join(err, r.abandon(ctx))
	}
	if err := r.goOn(ctx, o); err != nil {
		return nil, errors.Join(err, r.abandon(ctx))
	}
	return r, nil
}

// abandon closes what could not be restored, and takes back the fork that was
// made for it.
func (r *Restored) abandon(ctx context.Context) error {
	err := r.Log.Close()
	if r.Forked == "" {
		return err
	}
	gone := r.Log.s.Delete(context.WithoutCancel(ctx), r.Log.ID())
	if errors.Is(gone, ErrUnsupported) {
		gone = nil
	}
	return errors.Join(err, gone)
}

// takeOverChildren takes the sessions that calls of this one have begun from a program that was
// left behind with them: what works for a run ends with it.
func (r *Restored) takeOverChildren(ctx context.Context) error {
	if !r.Log.displaced {
		return nil
	}
	s := r.Log.s
	begun, err := s.Children(ctx, r.Log.ID())
	if err != nil {
		return err
	}
	for _, b := range begun {
		held, err := s.heldLease(ctx, b.ID)
		if err != nil {
			return err
		}
		if held == nil {
			continue
		}
		l, err := s.Open(ctx, b.ID, &OpenOptions{Takeover: true})
		if err != nil {
			return err
		}
		st, err := l.Snapshot(ctx)
		if err == nil && len(st.Running) > 0 {
			err = l.awaitFormer(ctx)
		}
		if err != nil {
			return errors.Join(err, l.Close())
		}
		if err := l.Close(); err != nil {
			return err
		}
		r.notice("%s, which works for this session, was still open in %s: it was taken over, too", b.ID, held.Holder)
	}
	return nil
}

// pick decides which session it is, and whether there is one.
func (s *Sessions) pick(ctx context.Context, o RestoreOptions) (id string, exists bool, err error) {
	id = o.SessionID
	if id == "" && o.ContinueRecent {
		id, err := s.Newest(ctx, o.Project)
		if id != "" || err != nil {
			return id, true, err
		}
		if o.MustExist || o.ItemID != "" {
			return "", false, &Error{Op: "continue", Err: ErrNotFound, Detail: "there is no session to go on with", Hint: "holdfast sessions list"}
		}
	}
	if id == "" {
		if o.ItemID != "" {
			return "", false, &Error{Op: "cut", Err: ErrInvalid, Detail: "a new session has no item " + o.ItemID, Hint: "say which session"}
		}
		return o.Opened.SessionID, false, nil
	}
	switch _, err = s.Get(ctx, id); {
	case err == nil:
		return id, true, nil
	case errors.Is(err, ErrNotFound) && !o.MustExist && o.ItemID == "" && !o.Fork:
		return id, false, nil
	case errors.Is(err, ErrNotFound):
		return "", false, s.nowhere(ctx, id, "")
	}
	return "", false, err
}

// Newest is the id of the session of a project that was updated last and works for no
// other's run: "" when there is none. The project "" is any. One that failed before its first
// answer, with a wrong key for example, counts only where there is no other.
func (s *Sessions) Newest(ctx context.Context, project string) (string, error) {
	p, err := s.store.List(ctx, Query{Project: project, Unowned: true, Limit: 50})
	if err != nil || len(p.Sessions) == 0 {
		return "", err
	}
	for _, m := range p.Sessions {
		if failed, err := s.failedAtFirst(ctx, m); err != nil || !failed {
			return m.ID, err
		}
	}
	return p.Sessions[0].ID, nil
}

// failedAtFirst reports whether a session has no answer, and its last turn has failed.
func (s *Sessions) failedAtFirst(ctx context.Context, m Meta) (bool, error) {
	if m.Head > 50 || m.Parent != "" { // whoever tried so often means it
		return false, nil
	}
	failed, last := false, true
	for r, err := range s.Records(ctx, m.ID, Range{Until: m.Head, Reverse: true}) {
		if err != nil {
			return false, err
		}
		switch r.Kind {
		case record.KindTurnClosed:
			failed, last = failed || last && payloadText(r.Payload, "reason") == "failed", false
		case record.KindTurnOpened:
			last = false // the last one is under way, or was cut off
		case KindItem:
			if it, err := record.ReadItem(r.Payload); err == nil && it.Item.Role() == transcript.RoleAssistant {
				return false, nil
			}
		}
	}
	return failed, nil
}

func (s *Sessions) restoreNew(ctx context.Context, id string, o RestoreOptions) (*Restored, error) {
	opened := o.Opened
	opened.SessionID = id
	l, err := s.Create(ctx, opened)
	if err != nil {
		return nil, err
	}
	return &Restored{Log: l, Created: true, Transcript: &transcript.Transcript{}, State: &State{SessionID: l.ID(), Head: l.Head()}}, nil
}

// goOn truncates, replays and mends the session that was opened.
func (r *Restored) goOn(ctx context.Context, o RestoreOptions) error {
	l := r.Log
	if rec := l.Recovery(); rec != nil && rec.CutBytes > 0 {
		r.notice("a torn tail of %d bytes was cut after record %d and kept at %s", rec.CutBytes, rec.Head, rec.TailFile)
	}
	f, err := l.s.replay(ctx, l.Meta())
	if err != nil {
		return err
	}
	if err := r.finishErasing(ctx, f); err != nil {
		return err
	}
	if f.s.Head != l.Head() { // what came while it was read
		if _, err := l.Refresh(ctx); err != nil {
			return err
		}
		if err := r.catchUp(ctx, f); err != nil {
			return err
		}
	}
	f.askedElsewhere(o.OpenApprovals, o.Answered)
	r.Interrupted = f.s.OpenTurn != ""
	before := f.s.Items[:len(f.s.Items):len(f.s.Items)] // what is mended is another slice, or follows
	if len(f.s.Running) > 0 {                           // what became of it is not said before it has ended
		if err := l.awaitFormer(ctx); err != nil {
			return err
		}
	}
	if o.ItemID != "" && !o.Fork {
		if err := r.truncate(ctx, f, o.ItemID); err != nil {
			return err
		}
	}
	if err := r.repair(ctx, f); err != nil {
		return err
	}
	l.known(f.s.Head)
	if text := f.left.Notice(r.Forked); r.Forked != "" && !o.ForkGrants && text != "" {
		r.Notices = append(r.Notices, text)
	}
	r.compare(o.Opened)
	r.State = f.state()
	r.Before = len(before)
	r.Rewritten = !slices.EqualFunc(before, r.State.Items, func(a, b transcript.Encoded) bool { return a.ID() == b.ID() })
	return nil
}

func (r *Restored) notice(format string, args ...any) {
	r.Notices = append(r.Notices, fmt.Sprintf(format, args...))
}

// applyAt appends drafts to what was folded and folds them. ErrConflict when
// somebody appended meanwhile: an answer to a question, a change of mode.
func (r *Restored) applyAt(ctx context.Context, f *replayer, drafts []Draft) error {
	if len(drafts) == 0 {
		return nil
	}
	recs, err := r.Log.AppendAt(ctx, f.s.Head, drafts...)
	if err != nil {
		return err
	}
	for i := range recs {
		if err := f.add(&recs[i]); err != nil {
			return err
		}
	}
	return nil
}

// catchUp folds what the log has taken in since.
func (r *Restored) catchUp(ctx context.Context, f *replayer) error {
	for other, err := range r.Log.Records(ctx, Range{After: f.s.Head, Until: r.Log.Head()}) {
		if err == nil {
			err = f.add(&other)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finishErasing erases what was to be erased when the last run ended.
func (r *Restored) finishErasing(ctx context.Context, f *replayer) error {
	seqs := f.unfinished(r.Log.Meta().ParentSeq)
	if len(seqs) == 0 {
		return nil
	}
	r.notice("%d records that were to be erased still had their content: it is erased now", len(seqs))
	return r.Log.erase(ctx, seqs)
}

func (r *Restored) truncate(ctx context.Context, f *replayer, at string) error {
	before := len(f.s.Items)
	ids := make([]string, before)
	keep := 0
	for i, e := range f.s.Items {
		if ids[i] = e.ID(); ids[i] == at {
			keep = i + 1
		}
	}
	switch keep {
	case 0:
		return unknownItem(r.Log.ID(), at, ids)
	case before:
		return nil
	}
	d, err := NewDraft(record.KindRewrite, Rewrite{Reason: "truncate", TruncateAfter: at, Messages: keep})
	if err != nil {
		return err
	}
	r.notice("the transcript was cut after item %s: %d items were set aside and stay in the log", at, before-keep)
	if _, err := r.Log.Append(ctx, d); err != nil {
		return err
	}
	return r.catchUp(ctx, f)
}

// compare reports what differs from how the session was run before.
func (r *Restored) compare(now Opened) {
	m := r.Log.Meta()
	for _, d := range []struct{ what, was, is string }{
		{"folder", m.CWD, now.CWD}, {"model", m.Model, now.Model},
	} {
		if d.was != "" && d.is != "" && d.was != d.is && !dated(d.was, d.is) {
			r.notice("the session's %s was %s and is %s now", d.what, d.was, d.is)
		}
	}
}

// dated reports whether was is what a provider answers with when it is asked for
// is: the same model with its date.
func dated(was, is string) bool {
	rest, ok := strings.CutPrefix(was, is+"-")
	return ok && strings.Trim(rest, "0123456789-") == ""
}
