package agent

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// entry is a record to write, together with the effects that follow once it is durable. An entry
// without a draft is only an event.
type entry struct {
	draft session.Draft
	item  transcript.Encoded // set when the draft is an item of the transcript
	event event.Event        // an event to emit once the record is durable, in addition to ItemAppended; may be nil
	after func()             // a function to call once the record is durable; may be nil
}

func itemEntry(e transcript.Encoded, mark *record.RequestMark) entry {
	return entry{draft: session.ItemDraft(e, false, mark), item: e}
}

// write makes entries durable in one batch. Then it passes their items to the observers, applies
// the entries, and emits their events. Nothing takes effect or is shown before the store has
// confirmed it.
func (l *loop) write(ctx context.Context, entries ...entry) error {
	recs, err := l.store(ctx, nil, entries)
	if err != nil {
		return err
	}
	return l.accept(entries, recs)
}

// store makes entries durable in one batch. If at is not nil, it must be the head of the log;
// otherwise the result is ErrConflict.
func (l *loop) store(ctx context.Context, at *int64, entries []entry) ([]session.Record, error) {
	if l.log == nil {
		return nil, nil
	}
	drafts := l.a.drafts(entries)
	if len(drafts) == 0 {
		return nil, nil
	}
	ctx, kept := detachedContext(ctx)
	var recs []session.Record
	var err error
	switch {
	case l.runLog != l.log:
		recs, err = l.appendToRunLog(ctx, at, drafts)
	case at != nil:
		recs, err = l.log.AppendAt(ctx, *at, drafts...)
	default:
		recs, err = l.log.Append(ctx, drafts...)
	}
	return recs, kept(err)
}

// appendToRunLog does the work of store for an agent whose log is not the run's log. An answer is recorded before
// its effects, and an approval request after its causes. at is the head of the run's log.
func (l *loop) appendToRunLog(ctx context.Context, at *int64, drafts []session.Draft) ([]session.Record, error) {
	var run, own []session.Draft
	for _, d := range drafts {
		if ofRun(d.Kind) {
			run = append(run, d)
		} else {
			own = append(own, d)
		}
	}
	var recs, more []session.Record
	var err error
	if at == nil {
		recs, err = l.log.Append(ctx, own...)
	}
	switch {
	case err != nil || len(run) == 0:
	case at != nil:
		more, err = l.runLog.AppendAt(ctx, *at, run...)
	default:
		more, err = l.runLog.Append(ctx, run...)
	}
	if at != nil && err == nil {
		if recs, err = l.log.Append(ctx, own...); err != nil { // the error is not a conflict, because the answer is already recorded
			err = fmt.Errorf("agent: append to session %s: %v", l.log.ID(), err) //nolint:errorlint // see above
		}
	}
	if err != nil {
		return nil, err
	}
	merged := make([]session.Record, 0, len(drafts))
	for _, d := range drafts {
		if ofRun(d.Kind) {
			merged, more = append(merged, more[0]), more[1:]
		} else {
			merged, recs = append(merged, recs[0]), recs[1:]
		}
	}
	return merged, nil
}

// ofRun reports whether a record belongs in the log of the run, not in the log of the sub-agent
// that writes it.
func ofRun(k session.Kind) bool {
	return k == record.KindApprovalAsked || k == record.KindApprovalResolved || k == record.KindPolicyChanged
}

// drafts returns the records of entries, with secrets masked.
func (a *Agent) drafts(entries []entry) []session.Draft {
	list := make([]session.Draft, 0, len(entries))
	for _, e := range entries {
		if e.draft.Kind != "" {
			list = append(list, a.masked(e.draft))
		}
	}
	return list
}

// accept applies durable entries and emits their events.
func (l *loop) accept(entries []entry, recs []session.Record) error {
	for _, e := range entries {
		if e.item.IsZero() {
			continue
		}
		for _, o := range l.a.opt.TranscriptObservers {
			if err := o.ItemAppended(l.opened.ID, e.item); err != nil {
				return fmt.Errorf("agent: transcript observer: %w", err)
			}
		}
		if err := l.appendItem(e.item); err != nil {
			return err
		}
	}
	for _, e := range entries {
		var seq int64
		if e.draft.Kind != "" && len(recs) > 0 {
			seq, recs = recs[0].Seq, recs[1:]
		}
		if !e.item.IsZero() {
			l.publish(event.ItemAppended{Seq: seq, Item: e.item})
		}
		if e.after != nil {
			e.after()
		}
		if e.event != nil {
			l.publish(e.event)
		}
	}
	return nil
}

func (l *loop) appendItem(e transcript.Encoded) error {
	l.a.mu.Lock()
	defer l.a.mu.Unlock()
	return l.t.Append(e)
}

// item gives a new item its id and time, and encodes it with secrets masked.
func (l *loop) item(it transcript.Item) (transcript.Encoded, error) {
	return l.a.encode(l.stamp(it))
}

func (l *loop) stamp(it transcript.Item) transcript.Item {
	it.ID, it.Time = l.a.opt.NewID(), l.a.opt.Clock()
	return it
}
