package sessiontest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/session"
)

// journal is an example of a store written from scratch, see docs/your-store.md: all sessions
// in one file, one line per batch, and all of it in memory too. It has no leases and cannot
// delete, so it is for one program with one writer per session.
type journal struct {
	mu     sync.RWMutex
	file   *os.File
	size   int64 // of what is whole
	logs   map[string]*journalLog
	closed bool
}

type journalLog struct {
	meta    session.Meta
	records []session.Record // only ever grows, so that a reader goes on with what it has
}

// line is a batch in the file. Payloads are base64: as JSON inside JSON they would come
// back with other spaces and escapes than they were given with.
type line struct {
	Session  string
	Records  []session.Record // without payloads
	Payloads [][]byte
}

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{file: f, logs: map[string]*journalLog{}}
	if err := j.replay(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// replay reads the file. What a crash has left behind the last whole line was never
// acknowledged; the next append writes over it.
func (j *journal) replay() error {
	for r := bufio.NewReader(j.file); ; {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return j.file.Truncate(j.size)
		}
		var l line
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		if err != nil {
			return &session.Error{Op: "open store", Err: session.ErrCorrupt, Detail: err.Error()}
		}
		for i := range l.Records {
			l.Records[i].Payload = l.Payloads[i]
		}
		delta, err := session.Fold(l.Records)
		if err != nil {
			return err
		}
		j.keep(l.Session, l.Records, delta)
		j.size += int64(len(text))
	}
}

func (j *journal) keep(id string, records []session.Record, d session.Delta) {
	l := j.logs[id]
	if l == nil {
		l = &journalLog{}
		j.logs[id] = l
	}
	l.records, l.meta = append(l.records, records...), l.meta.Apply(d)
}

func (j *journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	return j.file.Close()
}

func (j *journal) ready(ctx context.Context) error {
	if j.closed {
		return session.ErrClosed
	}
	return ctx.Err()
}

// Append implements [session.Store].
func (j *journal) Append(ctx context.Context, id string, b session.Batch) error {
	fail := func(err error, seq int64) error {
		return &session.Error{Op: "append", Session: id, Seq: seq, Err: err}
	}
	if len(b.Records) == 0 {
		return fail(session.ErrInvalid, 0)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.ready(ctx); err != nil {
		return err
	}
	l, opened := j.logs[id], b.Delta.Opened
	switch {
	case l != nil && l.has(b.Records): // a retry
		return nil
	case l != nil && opened != nil:
		return fail(session.ErrExists, 0)
	case l == nil && opened == nil:
		return fail(session.ErrNotFound, 0)
	case l != nil && l.meta.Head != b.Expect:
		return fail(session.ErrConflict, l.meta.Head)
	case opened != nil && opened.Base != nil && j.logs[opened.Base.Parent] == nil:
		return fail(session.ErrNotFound, 0)
	}
	records, out := slices.Clone(b.Records), line{Session: id, Records: slices.Clone(b.Records)}
	for i := range records {
		records[i].Payload, out.Records[i].Payload = slices.Clone(records[i].Payload), nil
		out.Payloads = append(out.Payloads, records[i].Payload)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if _, err := j.file.WriteAt(text, j.size); err != nil {
		return errors.Join(err, j.file.Truncate(j.size))
	}
	if err := j.file.Sync(); err != nil { // a real store is poisoned from here on
		return err
	}
	delta, err := session.Fold(records) // not the caller's: it points to the caller's memory
	if err != nil {
		return err
	}
	j.size += int64(len(text))
	j.keep(id, records, delta)
	return nil
}

// has reports whether records are there, digest for digest.
func (l *journalLog) has(records []session.Record) bool {
	at := records[0].Seq - l.meta.ParentSeq - 1
	if at < 0 || at+int64(len(records)) > int64(len(l.records)) {
		return false
	}
	return slices.EqualFunc(records, l.records[at:at+int64(len(records))], func(a, b session.Record) bool { return a.Digest == b.Digest })
}

// Read implements [session.Store].
func (j *journal) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		j.mu.RLock()
		l := j.logs[id]
		if l == nil {
			j.mu.RUnlock()
			yield(session.Record{}, &session.Error{Op: "read", Session: id, Err: session.ErrNotFound})
			return
		}
		records := l.records
		j.mu.RUnlock()
		n := 0
		for i := range records {
			if r.Reverse {
				i = len(records) - 1 - i
			}
			rec := records[i]
			if rec.Seq <= r.After || r.Until != 0 && rec.Seq > r.Until {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(session.Record{}, err)
				return
			}
			rec.Payload = slices.Clone(rec.Payload)
			if n++; !yield(rec, nil) || n == r.Limit {
				return
			}
		}
	}
}

// List implements [session.Store].
func (j *journal) List(ctx context.Context, q session.Query) (session.Page, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if err := j.ready(ctx); err != nil {
		return session.Page{}, err
	}
	var all []session.Meta
	for _, l := range j.logs {
		all = append(all, l.meta)
	}
	return q.Select(all)
}
