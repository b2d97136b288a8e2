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

// RestoreOptions selects the session to resume. They apply in the order of the Open Agent SDK:
// ContinueRecent picks the id, Fork forks it, ItemID truncates it.
type RestoreOptions struct {
	SessionID      string // "" without ContinueRecent means a new session
	ContinueRecent bool   // the last updated session of Project, if SessionID is ""
	Project        string // project for ContinueRecent; "" means any project
	Fork           bool   // resume in a fork; the source stays unchanged
	ForkID         string // the fork's id; default a new UUID
	ForkGrants     bool   // see [ForkOptions].Grants
	ItemID         string // keep the transcript up to this item id
	MustExist      bool   // return ErrNotFound for an unknown SessionID instead of creating a session
	Takeover       bool   // take the lease from a live holder, also of the sessions its calls started
	Opened         Opened // describes the session when one is created

	// OpenApprovals and Answered are the approval requests about this session's tool uses that are
	// in the log of the run it works for, with Seq 0. They are treated like its own, but closed in
	// that log.
	OpenApprovals []Record
	Answered      []AnsweredApproval
}

// Restored is a session ready to be resumed.
type Restored struct {
	Log     *Log
	State   *State   // state after the repair
	Created bool     // the session is new
	Forked  string   // the source's id when it was forked
	Notices []string // repairs and differences, for the user
	// Rewritten is true if a truncation or a repair changed the transcript. Before is the number of
	// items that it had until then.
	Rewritten bool
	Before    int

	// Interrupted is true if the last run ended during a turn.
	Interrupted bool

	// Waiting is true if an approval request for a tool use at the end of the transcript is open,
	// or was answered but has had no effect yet. The request is in State.OpenApprovals or
	// State.Answered, and State.OpenTurn is the turn that continues.
	Waiting bool

	// Transcript is State.Items with the pairing rule checked: no tool use is open unless Waiting.
	Transcript *transcript.Transcript
}

// Restore opens a session for an agent. It picks, forks and truncates the session as requested,
// replays the log, durably answers tool calls without a result with "outcome unknown", and reports
// a turn that was not closed. While an approval request about a call waits, its tool round and
// turn stay open. An unknown ItemID is ErrInvalid with the nearest ids in its Hint. The caller
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
	if err := r.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, r.abandon(ctx))
	}
	return r, nil
}

// abandon closes a session that could not be restored, and deletes the fork that was made for it.
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

// takeOverChildren takes over the sessions started by calls of this one from a program that is
// still running: what works for a run ends with it.
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
		r.notice("%s, which works for this session, was still open in %s and was taken over too", b.ID, held.Holder)
	}
	return nil
}

// pick returns the id of the session and whether it exists.
func (s *Sessions) pick(ctx context.Context, o RestoreOptions) (id string, exists bool, err error) {
	id = o.SessionID
	if id == "" && o.ContinueRecent {
		id, err := s.Newest(ctx, o.Project)
		if id != "" || err != nil {
			return id, true, err
		}
		if o.MustExist || o.ItemID != "" {
			return "", false, &Error{Op: "continue", Err: ErrNotFound, Detail: "there is no session to resume", Hint: "holdfast sessions list"}
		}
	}
	if id == "" {
		if o.ItemID != "" {
			return "", false, &Error{Op: "cut", Err: ErrInvalid, Detail: "a new session has no item " + o.ItemID, Hint: "set SessionID"}
		}
		return o.Opened.SessionID, false, nil
	}
	switch _, err = s.Get(ctx, id); {
	case err == nil:
		return id, true, nil
	case errors.Is(err, ErrNotFound) && !o.MustExist && o.ItemID == "" && !o.Fork:
		return id, false, nil
	case errors.Is(err, ErrNotFound):
		return "", false, s.notFound(ctx, id, "")
	}
	return "", false, err
}

// Newest returns the id of the project's last updated session that does not work for another's
// run, or "" if there is none. An empty project matches any. A session that failed before its first
// answer, for example because of a wrong key, is returned only if there is no other.
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

// failedAtFirst reports whether a session has no answer and its last turn failed.
func (s *Sessions) failedAtFirst(ctx context.Context, m Meta) (bool, error) {
	if m.Head > 50 || m.Parent != "" { // after so many records it is the session to continue
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
			last = false // the last turn is running or was interrupted
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

// prepare truncates, replays and repairs the session that was opened.
func (r *Restored) prepare(ctx context.Context, o RestoreOptions) error {
	l := r.Log
	if rec := l.Recovery(); rec != nil && rec.CutBytes > 0 {
		r.notice("cut a torn tail of %d bytes after record %d and saved it as %s", rec.CutBytes, rec.Head, rec.TailFile)
	}
	f, err := l.s.replay(ctx, l.Meta())
	if err != nil {
		return err
	}
	if err := r.finishErasing(ctx, f); err != nil {
		return err
	}
	if f.s.Head != l.Head() { // another writer appended while the log was read
		if _, err := l.Refresh(ctx); err != nil {
			return err
		}
		if err := r.catchUp(ctx, f); err != nil {
			return err
		}
	}
	f.askedElsewhere(o.OpenApprovals, o.Answered)
	r.Interrupted = f.s.OpenTurn != ""
	before := f.s.Items[:len(f.s.Items):len(f.s.Items)] // repairs use another slice, or append
	if len(f.s.Running) > 0 {                           // the outcome of a running tool is unknown until it has ended
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
	l.markReturned(f.s.Head)
	if text := f.notInherited.Notice(r.Forked); r.Forked != "" && !o.ForkGrants && text != "" {
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

// applyAt appends drafts at the folded head and folds them. It returns ErrConflict if another
// writer appended meanwhile: an answer to an approval request, a change of mode.
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

// catchUp folds the shared records that the log has applied since the last fold.
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

// finishErasing completes a redaction that the last run did not finish.
func (r *Restored) finishErasing(ctx context.Context, f *replayer) error {
	seqs := f.unfinished(r.Log.Meta().ParentSeq)
	if len(seqs) == 0 {
		return nil
	}
	r.notice("%d records of an interrupted redaction were erased now", len(seqs))
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
	r.notice("the transcript was cut after item %s: %d items were removed from it and stay in the log", at, before-keep)
	if _, err := r.Log.Append(ctx, d); err != nil {
		return err
	}
	return r.catchUp(ctx, f)
}

// compare reports differences to how the session was last run.
func (r *Restored) compare(now Opened) {
	m := r.Log.Meta()
	for _, d := range []struct{ what, was, is string }{
		{"folder", m.CWD, now.CWD}, {"model", m.Model, now.Model},
	} {
		if d.was != "" && d.is != "" && d.was != d.is && !isDated(d.was, d.is) {
			r.notice("the session's %s changed from %s to %s", d.what, d.was, d.is)
		}
	}
}

// isDated reports whether full is the name of a model followed by a date, as providers return it.
func isDated(full, name string) bool {
	rest, ok := strings.CutPrefix(full, name+"-")
	return ok && strings.Trim(rest, "0123456789-") == ""
}
