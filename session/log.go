package session

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Log is a session opened for writing; it holds the session's lease. It is safe for concurrent
// use; appends are ordered. Close releases the lease.
type Log struct {
	s        *Sessions
	id       string
	recovery *Recovery
	renewal

	turn   chan struct{} // allows one append at a time; waiting for it can be cancelled
	closed bool
	doubt  unknownAppend
	unread []Record // records found by an append and not yet returned by Refresh

	metaMu sync.RWMutex // guards meta, so that reading it does not wait for an append
	meta   Meta
}

func (s *Sessions) newLog(id string) *Log {
	return &Log{s: s, id: id, turn: make(chan struct{}, 1)}
}

// lock waits for exclusive use of the store, or for the end of ctx.
func (l *Log) lock(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Log) unlock() { <-l.turn }

// ID is the session's id.
func (l *Log) ID() string { return l.id }

// Meta is the session's meta after the last append of this log.
func (l *Log) Meta() Meta {
	l.metaMu.RLock()
	defer l.metaMu.RUnlock()
	return l.meta
}

// Head is the seq of the last record.
func (l *Log) Head() int64 {
	l.metaMu.RLock()
	defer l.metaMu.RUnlock()
	return l.meta.Head
}

// Recovery returns what the store repaired when the log was opened, or nil.
func (l *Log) Recovery() *Recovery { return l.recovery }

// Sessions returns the set of sessions that the log was opened from.
func (l *Log) Sessions() *Sessions { return l.s }

// Lease returns the lease that the log was opened with, or zero if the store has no leases.
func (l *Log) Lease() Lease {
	l.workMu.Lock()
	defer l.workMu.Unlock()
	return l.lease
}

// Append adds the drafts as one batch at the end of the log, and returns them as records once they
// are durable. It first reads the shared records that others appended. Errors: ErrConflict if
// another writer appended a record that is not shared, ErrFenced if the lease was taken over,
// ErrFull, ErrPoisoned, ErrClosed.
//
// If a failure leaves it unknown whether the batch was written (a cancelled context, a lost
// connection), Append looks it up; a batch that is found counts as appended. If the lookup fails
// too, or if the [AppendObserver] failed, appending the same drafts again is safe: the store
// recognizes them. If other drafts are appended instead, the earlier batch stays before them and
// Refresh returns it.
func (l *Log) Append(ctx context.Context, drafts ...Draft) ([]Record, error) {
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.unlock()
	if err := l.usable("append"); err != nil {
		return nil, err
	}
	return l.append(ctx, drafts)
}

// AppendAt is [Log.Append] on the condition that the log's head is seq; otherwise it appends
// nothing and returns ErrConflict.
func (l *Log) AppendAt(ctx context.Context, seq int64, drafts ...Draft) ([]Record, error) {
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.unlock()
	if err := l.usable("append"); err != nil {
		return nil, err
	}
	if recs, err := l.settle(ctx, drafts); recs != nil || err != nil {
		return recs, err
	}
	if head := l.Head(); head != seq {
		return nil, &Error{Op: "append", Session: l.id, Seq: head, Err: ErrConflict}
	}
	if err := checkDrafts(drafts); err != nil {
		return nil, err
	}
	recs := l.sealAgain(drafts)
	if err := l.write(ctx, recs); err != nil {
		return nil, err
	}
	return recs, nil
}

func (l *Log) usable(op string) error {
	if l.closed {
		return &Error{Op: op, Session: l.id, Err: ErrClosed}
	}
	if l.fenced.Load() {
		return &Error{Op: op, Session: l.id, Err: ErrFenced, Hint: "holdfast run --resume " + l.id}
	}
	return nil
}

func checkDrafts(drafts []Draft) error {
	for i := range drafts {
		if err := drafts[i].check(); err != nil {
			return err
		}
		if drafts[i].Kind == record.KindOpened {
			return &Error{Op: "append", Err: ErrInvalid, Detail: "a session.opened record is already in the log"}
		}
	}
	return nil
}

// append writes the drafts after it has applied the shared records of others. The log is locked.
func (l *Log) append(ctx context.Context, drafts []Draft) ([]Record, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	if recs, err := l.settle(ctx, drafts); recs != nil || err != nil {
		return recs, err
	}
	opening := l.Head() == 0 && drafts[0].Kind == record.KindOpened
	checked := drafts
	if opening {
		checked = drafts[1:]
	}
	if err := checkDrafts(checked); err != nil {
		return nil, err
	}
	recs := l.sealAgain(drafts)
	for {
		err := l.write(ctx, recs)
		if err == nil {
			return recs, nil
		}
		if opening || l.doubt.open != nil || !errors.Is(err, ErrConflict) {
			return nil, err
		}
		added, takes := l.takeIn(ctx)
		if takes != nil {
			return nil, takes
		}
		if len(added) == 0 {
			return nil, err
		}
		l.unread = append(l.unread, added...)
		l.reseal(recs)
	}
}

// seal converts drafts to records that follow the log's head.
func (l *Log) seal(drafts []Draft) []Record {
	recs := make([]Record, len(drafts))
	now := l.s.opt.Clock()
	for i, d := range drafts {
		id := d.ID
		if id == "" {
			id = l.s.opt.NewID()
		}
		recs[i] = Record{ID: id, Time: now, Kind: d.Kind, Payload: d.Payload}
	}
	l.reseal(recs)
	return recs
}

func (l *Log) reseal(recs []Record) {
	l.metaMu.RLock()
	seq, prev := l.meta.Head, l.meta.HeadDigest
	l.metaMu.RUnlock()
	for i := range recs {
		seq++
		recs[i].Seq = seq
		recs[i].Seal(prev)
		prev = recs[i].Digest
	}
}

// write appends sealed records to the store and folds them into the meta.
func (l *Log) write(ctx context.Context, recs []Record) error {
	delta, err := Fold(recs)
	if err != nil {
		return &Error{Op: "append", Session: l.id, Err: ErrInvalid, Detail: err.Error()}
	}
	b := Batch{Expect: recs[0].Seq - 1, Epoch: l.lease.Epoch, Records: recs, Delta: delta}
	if err := l.s.store.Append(ctx, l.id, b); err != nil {
		if errors.Is(err, ErrFenced) {
			l.fence()
		}
		if isDefinite(err) {
			return err
		}
		if err := l.resolve(ctx, recs, err); err != nil {
			return err
		}
	}
	l.s.growth.notify(l.id)
	if err := l.s.observeAppend(ctx, l.id, recs[len(recs)-1]); err != nil {
		l.doubt.open = recs
		return err
	}
	l.fold(delta)
	return nil
}

func (l *Log) fold(d Delta) {
	l.metaMu.Lock()
	l.meta = l.meta.Apply(d)
	head := l.meta.Head
	l.metaMu.Unlock()
	l.doubt.resolved(head)
}

// Refresh returns the records that others appended since the last Refresh, oldest first: shared
// records ([Kind.Shared]), including those an append found, and records of this log whose append
// failed but was written. Any other record means that another process writes: ErrFenced, or
// ErrConflict in a store without leases. If there is nothing new, it costs one short read.
func (l *Log) Refresh(ctx context.Context) ([]Record, error) {
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.unlock()
	if err := l.usable("take in"); err != nil {
		return nil, err
	}
	if _, err := l.settle(ctx, nil); err != nil {
		return nil, err
	}
	added, err := l.takeIn(ctx)
	if err != nil {
		return nil, err
	}
	added = append(l.unread, added...)
	l.unread = nil
	return added, nil
}

// markReturned marks the records up to a seq as already returned.
func (l *Log) markReturned(seq int64) {
	_ = l.lock(context.Background()) // cannot fail
	defer l.unlock()
	l.unread = slices.DeleteFunc(l.unread, func(r Record) bool { return r.Seq <= seq })
}

// takeIn applies the shared records that others appended. The log is locked.
func (l *Log) takeIn(ctx context.Context) ([]Record, error) {
	var added []Record
	want := l.Meta()
	prev := Record{Seq: want.Head, Digest: want.HeadDigest}
	for r, err := range l.s.store.Read(ctx, l.id, Range{After: want.Head}) {
		if err != nil {
			return nil, err
		}
		if !r.Kind.Shared() && !l.doubt.contains(r) {
			return nil, l.foreignRecord(r.Seq)
		}
		if err := r.CheckAfter(&prev); err != nil {
			return nil, err
		}
		prev = r
		added = append(added, r)
	}
	if len(added) == 0 {
		return nil, nil
	}
	delta, err := Fold(added)
	if err != nil {
		return nil, err
	}
	l.fold(delta)
	return added, nil
}

// foreignRecord is the error for a record that only the lease holder can have written.
func (l *Log) foreignRecord(seq int64) error {
	if l.leaser == nil {
		return &Error{Op: "take in", Session: l.id, Seq: seq, Err: ErrConflict}
	}
	l.fence()
	return &Error{Op: "take in", Session: l.id, Seq: seq, Err: ErrFenced, Hint: "holdfast run --resume " + l.id}
}

// Records yields the log's records, including the records of its parents.
func (l *Log) Records(ctx context.Context, r Range) iter.Seq2[Record, error] {
	return l.s.records(ctx, l.Meta(), r)
}

// Tail returns the last n records, oldest first.
func (l *Log) Tail(ctx context.Context, n int) ([]Record, error) {
	if n <= 0 {
		return nil, nil
	}
	var recs []Record
	for r, err := range l.Records(ctx, Range{Reverse: true, Limit: n}) {
		if err != nil {
			return nil, err
		}
		recs = append(recs, r)
	}
	slices.Reverse(recs)
	return recs, nil
}

// Snapshot replays the log as it is now.
func (l *Log) Snapshot(ctx context.Context) (*State, error) {
	f, err := l.s.replay(ctx, l.Meta())
	if err != nil {
		return nil, err
	}
	return f.state(), nil
}

// Close waits for an append in progress and for the renewal to stop, and releases the lease. A
// second call does nothing.
func (l *Log) Close() error {
	_ = l.lock(context.Background()) // cannot fail
	defer l.unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.cancel != nil {
		l.cancel()
		<-l.done
	}
	return l.release()
}

// recover lets the store repair the log, and reads the end of the log.
func (l *Log) recover(ctx context.Context) error {
	if r, ok := As[Recoverer](l.s.store); ok {
		rec, err := r.Recover(ctx, l.id)
		if err != nil {
			return err
		}
		l.recovery = rec
	}
	m, err := l.s.Get(ctx, l.id)
	if err != nil {
		return err
	}
	l.meta = m
	return l.observeHead(ctx)
}

// releaseTimeout is how long Close waits for a store that does not respond.
const releaseTimeout = 5 * time.Second

func (l *Log) release() error {
	if l.leaser == nil {
		return nil
	}
	l.lapse.Stop()
	if l.unsafe {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	return l.leaser.Release(ctx, l.id, l.Lease())
}
