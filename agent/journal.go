package agent

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// entry is one thing to make durable, and what to tell once it is.
type entry struct {
	draft session.Draft
	item  transcript.Encoded // set when the draft is an item of the transcript
	event Event              // nil: nothing to tell besides ItemAppended
	then  func()             // called once it is durable, or nil
} // without a draft there is only something to tell

func itemEntry(e transcript.Encoded, mark *session.RequestMark) entry {
	return entry{draft: session.ItemDraft(e, false, mark), item: e}
}

// write makes entries durable in one batch, then shows their items to the
// observers, then lets them count, then tells. That order is law 1: nothing is
// acted on or shown before the store has acknowledged it.
func (l *loop) write(ctx context.Context, entries ...entry) error {
	recs, err := l.store(ctx, nil, entries)
	if err != nil {
		return err
	}
	return l.accept(entries, recs)
}

// store makes entries durable in one batch: when at is given, only if that is the
// log's head (ErrConflict otherwise).
func (l *loop) store(ctx context.Context, at *int64, entries []entry) ([]session.Record, error) {
	if l.log == nil {
		return nil, nil
	}
	drafts := l.a.drafts(entries)
	if len(drafts) == 0 {
		return nil, nil
	}
	ctx = context.WithoutCancel(ctx) // an interrupt must not tear an append; appends are short
	if at != nil {
		return l.log.AppendAt(ctx, *at, drafts...)
	}
	return l.log.Append(ctx, drafts...)
}

// drafts are what of entries is to be on disk, secrets masked.
func (a *Agent) drafts(entries []entry) []session.Draft {
	list := make([]session.Draft, 0, len(entries))
	for _, e := range entries {
		if e.draft.Kind != "" {
			list = append(list, a.masked(e.draft))
		}
	}
	return list
}

// accept lets entries that are durable count, and tells of them.
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
		if err := l.remember(e.item); err != nil {
			return err
		}
	}
	for _, e := range entries {
		var seq int64
		if e.draft.Kind != "" && len(recs) > 0 {
			seq, recs = recs[0].Seq, recs[1:]
		}
		if !e.item.IsZero() {
			l.tell(ItemAppended{Seq: seq, Item: e.item})
		}
		if e.then != nil {
			e.then()
		}
		if e.event != nil {
			l.tell(e.event)
		}
	}
	return nil
}

func (l *loop) remember(e transcript.Encoded) error {
	l.a.mu.Lock()
	defer l.a.mu.Unlock()
	return l.t.Append(e)
}

// item gives a new item its id and time and encodes it, secrets masked.
func (l *loop) item(it transcript.Item) (transcript.Encoded, error) {
	return l.a.encode(l.stamp(it))
}

func (l *loop) stamp(it transcript.Item) transcript.Item {
	it.ID, it.Time = l.a.opt.NewID(), l.a.opt.Clock()
	return it
}
