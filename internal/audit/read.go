package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// OldestFirst lists all sessions, oldest first, including those in the trash and in worktrees.
func OldestFirst(ctx context.Context, s *session.Sessions) ([]session.Meta, error) {
	page, err := s.List(ctx, session.Query{Worktrees: true, WithTrash: true})
	slices.SortFunc(page.Sessions, func(a, b session.Meta) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return page.Sessions, err
}

func read(ctx context.Context, s *session.Sessions, id string, o *ReadOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r := newReader(id)
		give := func(list []Entry) bool {
			for i := range list {
				if err := r.seal(&list[i]); err != nil {
					return yield(Entry{}, err)
				}
				if o.picks(&list[i]) && !yield(list[i], nil) {
					return false
				}
			}
			return true
		}
		for rec, err := range s.Records(ctx, id, session.Range{}) {
			var made []Entry
			if err == nil {
				made, err = r.record(&rec)
			} else {
				r.lost = true
			}
			if !give(made) || err != nil && !yield(Entry{}, err) {
				return
			}
			if err != nil && !errors.Is(err, session.ErrCorrupt) {
				return
			}
		}
		if !give(r.flush()) {
			return
		}
		if err := ctx.Err(); err != nil {
			yield(Entry{}, context.Cause(ctx))
		}
	}
}

// reader makes entries from a session's records, in order. Its memory use depends on the number of
// running calls.
//
//	decision ─► tool.started ─► (pending: decisions and approvals while it runs) ─► tool.finished
type reader struct {
	id   string
	prev session.Record
	lost bool   // a record could not be read, so the next one cannot be checked against it
	last string // digest of the last entry

	user       string                   // of session.opened
	calls      map[string]requestedCall // the calls in the last assistant item that has calls
	approvals  map[string]approvalState // key: an id; value: an approval request that is open or was just answered
	decided    map[string]Entry         // key: the id of a tool use; value: the decision that allowed its call, which has not started yet
	running    map[string]*Entry        // key: the id of a tool use; value: the entry of its call, which is running
	background map[string]Entry         // key: the id of a tool use; value: the start of its background task
	pending    []*Entry                 // the entries from that of the first running call on
}

func newReader(id string) *reader {
	r := &reader{id: id}
	r.forget()
	return r
}

// forget removes the calls that are still running: in a fork, they continue in the parent session.
func (r *reader) forget() {
	r.calls, r.approvals = map[string]requestedCall{}, map[string]approvalState{}
	r.decided, r.running, r.background = map[string]Entry{}, map[string]*Entry{}, map[string]Entry{}
}

func (r *reader) seal(e *Entry) error {
	if err := e.seal(r.last); err != nil {
		return fmt.Errorf("record %d: %w", e.Seq, err)
	}
	r.last = e.Digest
	return nil
}

// record processes a record and returns the entries that it completes.
func (r *reader) record(rec *session.Record) ([]Entry, error) {
	if err := r.check(rec); err != nil {
		return nil, r.named(err)
	}
	if rec.Kind == record.KindTurnClosed { // if a call has not ended by now, its end is not recorded
		return r.flush(), nil
	}
	e, err := r.entry(rec)
	if err != nil {
		return nil, r.named(&session.Error{
			Op: "read evidence", Seq: rec.Seq, Err: session.ErrCorrupt, Detail: string(rec.Kind) + ": " + err.Error(),
		})
	}
	if rec.Kind == record.KindOpened {
		made := r.flush()
		r.forget()
		if e != nil {
			made = append(made, *e)
		}
		return made, nil
	}
	if e != nil {
		r.pending = append(r.pending, e)
	}
	if len(r.running) > 0 {
		return nil, nil
	}
	return r.release(), nil
}

// check compares a record with its digests and with the previous record.
func (r *reader) check(rec *session.Record) error {
	var err error
	if r.lost || r.prev.Seq == 0 && rec.Seq != 1 {
		err = rec.Check()
	} else {
		err = rec.CheckAfter(&r.prev)
	}
	r.lost = err != nil
	r.prev = session.Record{Seq: rec.Seq, Digest: rec.Digest}
	return err
}

// named adds the session's id to an error about a record.
func (r *reader) named(err error) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok {
		return err
	}
	full := *e
	full.Session, full.Hint = r.id, "holdfast audit verify --session "+r.id
	return &full
}

// flush releases all pending entries, including running calls, whose outcome is unknown.
func (r *reader) flush() []Entry {
	clear(r.running)
	clear(r.decided)
	return r.release()
}

// release returns the pending entries. If the end of a call is also recorded, its start has no
// separate entry.
func (r *reader) release() []Entry {
	var list []Entry
	for _, e := range r.pending {
		if e.Kind != "" {
			list = append(list, *e)
		}
	}
	r.pending = r.pending[:0]
	return list
}
