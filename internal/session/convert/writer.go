package convert

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// The limits of one append.
const (
	batchRecords = 1024
	batchBytes   = 8 << 20
)

// writer appends records with the times of their content. The first append creates a new
// session; for further appends the writer acquires the lease.
type writer struct {
	ctx  context.Context
	to   *session.Sessions
	id   string
	dry  bool
	log  *session.Log // the open log, which holds the lease; nil until a batch for an existing session is written
	head int64        // the last record in the store
	prev session.Digest
	last time.Time

	recs  []session.Record
	bytes int
}

// add makes a record from a draft. A zero time means the time of the previous record.
func (w *writer) add(d session.Draft, at time.Time) {
	if at.Before(w.last) {
		at = w.last
	}
	w.last = at
	r := session.Record{Seq: w.head + int64(len(w.recs)) + 1, Time: at, Kind: d.Kind, Payload: d.Payload}
	r.ID = recordID(w.id, r.Seq, at)
	r.Seal(w.prev)
	w.prev = r.Digest
	w.recs = append(w.recs, r)
	w.bytes += len(r.Payload)
}

// extendTo sets a later time for the last record, and so for the session.
func (w *writer) extendTo(at time.Time) {
	if len(w.recs) == 0 || !at.After(w.last) {
		return
	}
	last := &w.recs[len(w.recs)-1]
	prev := last.Prev
	last.Time, w.last = at, at
	last.ID = recordID(w.id, last.Seq, at)
	last.Seal(prev)
	w.prev = last.Digest
}

// recordID returns the same id for the same record each time.
func recordID(session string, seq int64, at time.Time) string {
	h := sha256.New()
	h.Write([]byte("holdfast import\n" + session + "\n"))
	_ = binary.Write(h, binary.BigEndian, seq)
	id, err := ulid.New(uint64(max(at.UnixMilli(), 0)), bytes.NewReader(h.Sum(nil)))
	if err != nil { // the year has too many digits for a ULID
		id = ulid.Make()
	}
	return id.String()
}

func (w *writer) full() bool { return len(w.recs) >= batchRecords || w.bytes >= batchBytes }

// flush appends the collected records in one batch.
func (w *writer) flush() error {
	if len(w.recs) == 0 {
		return nil
	}
	delta, err := session.Fold(w.recs)
	if err != nil {
		return err
	}
	n := int64(len(w.recs))
	if !w.dry {
		if err := w.lease(); err != nil {
			return err
		}
		b := session.Batch{Expect: w.recs[0].Seq - 1, Records: w.recs, Delta: delta}
		if w.log != nil {
			b.Epoch = w.log.Lease().Epoch
		}
		if err := w.to.Store().Append(w.ctx, w.id, b); err != nil {
			return err
		}
	}
	w.head += n
	w.recs, w.bytes = nil, 0
	return nil
}

// lease opens the log of an existing session.
func (w *writer) lease() error {
	if w.log != nil || w.recs[0].Kind == record.KindOpened {
		return nil
	}
	log, err := w.to.Open(w.ctx, w.id, nil)
	if err != nil {
		return err
	}
	w.log = log
	if log.Head() != w.head {
		return &session.Error{Op: "import", Session: w.id, Seq: log.Head(), Err: session.ErrConflict}
	}
	return nil
}

func (w *writer) close() error {
	if w == nil || w.log == nil {
		return nil
	}
	return w.log.Close()
}
