package feed

import (
	"context"
	"sync"

	"github.com/holdfast-dev/holdfast/session"
)

// unknown is the head of a feed that has not started.
const unknown = -1

// feed contains the newest events of one session in a ring. All its subscribers read the ring, each
// at its own position.
type feed struct {
	hub      *Hub
	id       string
	sessions *session.Sessions
	readers  int             // guarded by hub.mu
	ctx      context.Context // canceled when the hub forgets the feed
	stop     context.CancelFunc

	mu      sync.Mutex
	ring    []entry // ordered by seq; a record comes before the deltas with the same seq
	first   int64   // the position of ring[0]
	bytes   int     // the total size of the entries in the ring
	wake    chan struct{}
	deleted error // the session was deleted

	head   int64          // the seq of the last record that was added to the ring, or of the record before the ring
	digest session.Digest // the digest of the record at head; zero if unknown
	known  int64          // the last record that is known to exist

	published int64 // the number of the last delta that was published
	dropped   int64 // the number of the last delta that was dropped from the ring

	pending      []entry // deltas that follow a record that is not in the ring yet
	pendingBytes int
	loading      bool
	watched      bool            // the store sends notifications about appends
	failures     int             // consecutive failed reads
	failure      error           // the last error
	relayed      map[string]bool // sessions whose records are in the ring
}

// entry is an entry of a ring.
type entry struct {
	event  *Event
	err    error // set instead of event if the record cannot be read; with state transient, no record can be read
	seq    int64
	number int64 // of a delta, or of the last lost delta, in the order of publication
	size   int
	state  entryState
}

type entryState int

const (
	stored    entryState = iota
	delta                // the delta follows the record with the same seq
	lost                 // deltas after the record with the same seq were dropped
	transient            // reads fail
)

// before returns the seq of the last record before an entry.
func (n *entry) before() int64 {
	if n.state == stored {
		return n.seq - 1
	}
	return n.seq
}

// readRecord is a record read from the log.
type readRecord struct {
	entry
	relay        string // the session whose log contained the event, or ""
	redacts      bool
	prev, digest session.Digest // zero if the record cannot be read
}

// begin returns a new subscriber.
func (f *feed) begin(m session.Meta, after int64) *Subscription {
	f.hub.liveMu.Lock()
	defer f.hub.liveMu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.head == unknown {
		f.head, f.digest = m.Head, m.HeadDigest
	}
	f.known = max(f.known, m.Head)
	f.load()
	f.watch()
	s := &Subscription{feed: f, done: make(chan struct{}), seq: after}
	f.join(s)
	if after == FromEnd {
		s.seq = s.target
	}
	return s
}

// join makes a subscriber catch up. It then gets the texts so far, and the deltas after them. The
// caller holds hub.liveMu and f.mu.
func (f *feed) join(s *Subscription) {
	s.catching, s.target, s.delta, s.texts = true, f.known, f.published, nil
	if l := f.hub.live[f.id]; l != nil {
		s.texts = l.texts()
	}
}

// appended handles a notification of the new head. If the notification contains the next record,
// the log need not be read.
func (f *feed) appended(r session.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.head != unknown && !f.loading && r.Seq == f.head+1 && f.digest == r.Prev && f.known == f.head
	f.known = max(f.known, r.Seq)
	if !next || r.Payload == nil || relayOf(&r) != nil {
		f.load()
		return
	}
	f.add(plainRecord(f.id, r))
	f.wakeReaders()
}

// publish adds a delta after the records.
func (f *feed) publish(e *Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.head == unknown || f.deleted != nil {
		return
	}
	f.published++
	n := entry{event: e, seq: f.known, number: f.published, size: e.size(), state: delta}
	if f.known <= f.head {
		f.push(n)
		f.wakeReaders()
		return
	}
	if k := len(f.pending); k > 0 && (k >= f.hub.opt.BufferSize || f.pendingBytes+n.size > f.hub.opt.Bytes) {
		f.pending, f.pendingBytes = append(f.pending[:0], entry{seq: f.pending[0].seq, number: f.published - 1, state: lost}), 0
	}
	f.pending = append(f.pending, n)
	f.pendingBytes += n.size
}

// add adds a record to the ring, after the deltas that precede the record. The caller holds f.mu.
func (f *feed) add(r readRecord) {
	f.addPendingDeltas(r.seq - 1)
	if r.redacts { // clients that read later must not find the erased content in the ring
		f.drop(len(f.ring))
	}
	if r.relay != "" {
		if f.relayed == nil {
			f.relayed = map[string]bool{}
		}
		f.relayed[r.relay] = true
	}
	f.push(r.entry)
	f.head, f.digest = r.seq, r.digest
	f.known = max(f.known, f.head)
	f.addPendingDeltas(f.head)
}

// addPendingDeltas adds to the ring the deltas that follow a record, up to seq.
func (f *feed) addPendingDeltas(seq int64) {
	n := 0
	for n < len(f.pending) && f.pending[n].seq <= seq {
		f.pendingBytes -= f.pending[n].size
		f.push(f.pending[n])
		n++
	}
	f.pending = append(f.pending[:0], f.pending[n:]...)
	clear(f.pending[len(f.pending):cap(f.pending)])
	if len(f.pending) == 0 {
		f.pending = nil
	}
}

// push adds an entry to the ring. If the ring then exceeds its limits, push drops the oldest
// entries.
func (f *feed) push(n entry) {
	if n.state != stored {
		n.seq = max(n.seq, f.head) // do this even if the head could not be read
	}
	if n.state == delta {
		n.event.Seq = n.seq
	}
	f.ring = append(f.ring, n)
	f.bytes += n.size
	for len(f.ring) > f.hub.opt.BufferSize || f.bytes > f.hub.opt.Bytes && len(f.ring) > 1 {
		f.drop(1)
	}
}

// drop drops the oldest n entries.
func (f *feed) drop(n int) {
	for i := range f.ring[:n] {
		f.bytes -= f.ring[i].size
		f.dropped = max(f.dropped, f.ring[i].number)
	}
	clear(f.ring[:n])
	f.ring = f.ring[n:]
	f.first += int64(n)
}

// wakeReaders wakes waiting subscribers. The caller holds f.mu.
func (f *feed) wakeReaders() {
	if f.wake != nil {
		close(f.wake)
		f.wake = nil
	}
}

// clearErased clears the ring if payloads of a session were erased and the ring contains records of that
// session.
func (f *feed) clearErased(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.relayed[id] {
		f.drop(len(f.ring))
		f.relayed = nil
	}
}

// end ends the feed of a deleted session.
func (f *feed) end(err error) {
	f.mu.Lock()
	if f.deleted == nil {
		f.deleted = err
	}
	f.drop(len(f.ring))
	f.pending = nil
	f.wakeReaders()
	f.mu.Unlock()
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	f.hub.forget(f)
}
