package feed

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// These limit one read of a log: the number of records, and approximately the number of bytes.
const (
	chunk      = 256
	chunkBytes = 512 << 10
)

// patience is how many reads in a row may fail before the subscribers are notified.
const patience = 20

// load loads the known records into the ring. The caller holds f.mu.
func (f *feed) load() {
	if f.loading || f.head == unknown || f.known <= f.head || f.deleted != nil || f.hub.ctx.Err() != nil {
		return
	}
	f.hub.mu.RLock() // either Close waits for the read, or the read does not start
	defer f.hub.mu.RUnlock()
	if f.hub.closed {
		return
	}
	f.loading = true
	f.hub.work.Go(f.loadAll)
}

func (f *feed) loadAll() {
	for f.loadSome() {
	}
}

// loadSome reads one chunk of records. It reports whether there are more records to read.
func (f *feed) loadSome() bool {
	f.mu.Lock()
	after, known := f.head, f.known
	f.mu.Unlock()
	records, err := f.read(f.hub.read, after, known)
	if errors.Is(err, session.ErrNotFound) {
		f.end(err)
		return false
	}
	f.mu.Lock()
	if replaced := f.addAll(records); replaced != nil {
		f.mu.Unlock()
		f.end(replaced)
		return false
	}
	defer f.mu.Unlock()
	if len(records) == 0 && err != nil {
		f.loading = false
		f.failed(err)
		return false
	}
	f.failures = 0
	f.wakeReaders()
	f.loading = f.known > f.head && f.deleted == nil && f.hub.ctx.Err() == nil
	return f.loading
}

// addAll adds records to the ring. The error says that the records belong to another session with
// the same id. The caller holds f.mu.
func (f *feed) addAll(records []readRecord) error {
	for _, r := range records {
		if r.seq <= f.head {
			continue
		}
		if r.seq == f.head+1 && r.err == nil && !f.digest.IsZero() && f.digest != r.prev {
			return f.replaced()
		}
		f.add(r)
	}
	return nil
}

func (f *feed) replaced() error {
	return &session.Error{
		Op: "read", Session: f.id, Err: session.ErrNotFound,
		Detail: "the session was deleted, and a new one has the same id", Hint: "holdfast sessions show " + f.id,
	}
}

// failed counts an error of the store. The caller holds f.mu.
func (f *feed) failed(err error) {
	if f.hub.ctx.Err() != nil {
		return
	}
	f.failures++
	f.failure = err
	if f.failures%patience == 0 {
		f.push(entry{err: err, seq: f.head, state: transient})
		f.wakeReaders()
	}
}

// check looks for records that other programs appended. It returns the error of the store.
func (f *feed) check(ctx context.Context) error {
	f.mu.Lock()
	head, digest := f.head, f.digest
	f.load() // records that could not be read before
	f.mu.Unlock()
	if head == unknown {
		return nil
	}
	m, err := f.sessions.Get(ctx, f.id)
	switch {
	case errors.Is(err, session.ErrNotFound) && head == 0:
		return nil // the session does not exist yet
	case errors.Is(err, session.ErrNotFound):
		f.end(err)
		return nil
	case err == nil && (m.Head < head || m.Head == head && !digest.IsZero() && m.HeadDigest != digest):
		f.end(f.replaced())
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if !isUnavailable(err) { // the hub handles an unavailable store
			f.failed(err)
		}
		return err
	}
	f.known = max(f.known, m.Head)
	if f.known <= f.head {
		f.failures = 0
	}
	f.load()
	f.watch()
	return nil
}

// read reads the records after one seq and up to another; these records must exist. It makes events
// of them, at least one unless the store fails. If a record cannot be read, it is returned together
// with its error.
func (f *feed) read(ctx context.Context, after, until int64) ([]readRecord, error) {
	records, size := []readRecord(nil), 0
	var raw []session.Record // the relayed records are read after this read has ended, because the read may hold one of a few connections
	var failed error
	for r, err := range f.sessions.Effective(ctx, f.id, session.Range{After: after, Until: until, Limit: chunk}) {
		if err != nil && damaged(err) == nil {
			failed = err
			break
		}
		if err != nil {
			r = session.Record{Seq: damaged(err).Seq}
		}
		if err != nil && (r.Seq <= after || r.Seq > until) {
			r.Seq = f.skipUnreadable(ctx, after, until)
		}
		after = max(after, r.Seq)
		raw = append(raw, r)
		records = append(records, readRecord{entry: entry{err: err, seq: r.Seq}})
		if size += len(r.Payload); size > chunkBytes || after >= until {
			break
		}
	}
	if len(records) == 0 && failed == nil {
		err := &session.Error{
			Op: "read", Session: f.id, Seq: after + 1, Err: session.ErrCorrupt, Detail: "the record is missing",
			Hint: "holdfast sessions verify " + f.id,
		}
		return []readRecord{{entry: entry{err: err, seq: until}}}, nil
	}
	for i := range records {
		if records[i].err != nil {
			continue
		}
		r, err := unwrap(ctx, f.sessions, f.id, raw[i])
		if err != nil {
			return records[:i], err
		}
		records[i] = r
	}
	return records, failed
}

// damaged returns the error that names the unreadable record, or nil for an error of another kind.
func damaged(err error) *session.Error {
	if !errors.Is(err, session.ErrCorrupt) && !errors.Is(err, session.ErrNewer) {
		return nil
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		return e
	}
	return &session.Error{Err: err}
}

// skipUnreadable returns the seq after which reading continues if the records between two seqs
// cannot be read. In a fork whose records from the parent cannot be read, reading continues with
// the fork's own records.
func (f *feed) skipUnreadable(ctx context.Context, after, until int64) int64 {
	m, err := f.sessions.Get(ctx, f.id)
	if err == nil && after < m.ParentSeq && m.ParentSeq < until {
		return m.ParentSeq
	}
	return until
}

// plainRecord returns a record without a relay.
func plainRecord(id string, r session.Record) readRecord {
	e := &Event{Kind: Durable, Session: id, Seq: r.Seq, Time: r.Time, Records: []Record{{Session: id, Record: r}}}
	return readRecord{
		entry: entry{event: e, seq: r.Seq, size: e.size()}, redacts: r.Kind == record.KindRedacted,
		prev: r.Prev, digest: r.Digest,
	}
}

// relayedRange is the part of a run.event that refers to records of another session.
type relayedRange struct {
	Event   string `json:"event"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	From    int64  `json:"from"`
	To      int64  `json:"to"`
}

// relayOf returns the reference in a record, or nil.
func relayOf(r *session.Record) *relayedRange {
	if r.Kind != record.KindRunEvent || r.Payload == nil {
		return nil
	}
	var l relayedRange
	if json.Unmarshal(r.Payload, &l) != nil || l.Event != "relayed" {
		return nil
	}
	return &l
}

// Unwrap makes an event from a record of the session with this id. The event includes the records
// that the record relays. Deleted records are omitted. The error is an error of the store.
func Unwrap(ctx context.Context, s *session.Sessions, id string, r session.Record) (*Event, error) {
	f, err := unwrap(ctx, s, id, r)
	return f.event, err
}

func unwrap(ctx context.Context, s *session.Sessions, id string, r session.Record) (readRecord, error) {
	out := plainRecord(id, r)
	l := relayOf(&r)
	if l == nil {
		return out, nil
	}
	out.event.Records, out.relay = nil, l.Session
	if l.From >= 1 && l.To >= l.From && l.To < math.MaxInt64 && session.CheckID(l.Session) == nil {
		for r, err := range s.Effective(ctx, l.Session, session.Range{After: l.From - 1, Until: l.To}) {
			switch {
			case err == nil:
				out.event.Records = append(out.event.Records, Record{Agent: l.Agent, Session: l.Session, Record: r})
			case errors.Is(err, session.ErrNotFound), damaged(err) != nil:
			default:
				return readRecord{}, err
			}
		}
	}
	out.size = out.event.size()
	return out, nil
}
