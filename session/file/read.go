package file

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"

	"github.com/holdfast-dev/holdfast/session"
)

// Read implements [session.Store]. It takes no lock and stops at the last complete batch. Payloads
// share large buffers: copy a payload to keep it for a long time.
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		rd, err := s.reader(ctx, id, r)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = &session.Error{Op: "read", Session: id, Err: session.ErrNotFound}
			}
			yield(session.Record{}, explain("read", id, err))
			return
		}
		defer rd.f.Close()
		rd.yield = yield
		if r.Reverse {
			err = rd.backwards(ctx)
		} else {
			err = rd.forwards(ctx)
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(session.Record{}, explain("read", id, err))
		}
	}
}

var errStop = errors.New("stop")

// reader is one Read in progress.
type reader struct {
	id    string
	f     *os.File
	r     session.Range
	until int64 // r.Until, or the head
	end   int64 // end of the last complete batch
	yield func(session.Record, error) bool
	count int
	lines int
}

func (s *Store) reader(ctx context.Context, id string, r session.Range) (*reader, error) {
	if err := session.CheckID(id); err != nil {
		return nil, err
	}
	if err := s.ready(ctx, "read", id); err != nil {
		return nil, err
	}
	dir := id
	f, err := s.openLog(dir)
	if errors.Is(err, fs.ErrNotExist) {
		dir = deletedPrefix + id
		f, err = s.openLog(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.missing(id, id)
	}
	if err != nil {
		return nil, err
	}
	st, _, err := statFile(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	head, err := lastWhole(f, s.visibleSize(id, dir, st.Size), dir != id)
	if err == nil && head.end == 0 {
		err = s.missing(id, dir)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	rd := &reader{id: id, f: f, r: r, until: head.rec.Seq, end: head.end}
	if r.Until != 0 {
		rd.until = min(r.Until, rd.until)
	}
	return rd, nil
}

func (s *Store) openLog(dir string) (*os.File, error) {
	d, err := openDir(s.root, dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return s.disk.open(d, logName, os.O_RDONLY)
}

// forwards yields the records after seq r.After, up to seq until.
func (rd *reader) forwards(ctx context.Context) error {
	if rd.r.After >= rd.until { // the common case: a poll for new records that finds none
		return nil
	}
	s := scanner{f: rd.f, limit: rd.end}
	last := int64(math.MinInt64) // the seq of the previous line
	var prev session.Digest
	if rd.r.After > 0 {
		l, err := seek(rd.f, rd.end, rd.r.After)
		if err != nil {
			return err
		}
		if l.end > 0 {
			s.off, last, prev = l.end, l.rec.Seq, l.rec.Digest
		}
	}
	for damaged := int64(0); last < rd.until; {
		if err := rd.check(ctx); err != nil {
			return err
		}
		l, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if l.bad {
			damaged++
			continue
		}
		known := last != math.MinInt64
		if !known {
			last = l.rec.Seq - 1 - damaged
		}
		for seq := last + 1; seq < l.rec.Seq; seq++ {
			if err := rd.fault(seq, "the record is damaged or missing"); err != nil {
				return err
			}
		}
		switch {
		case l.rec.Seq <= last:
			err = rd.fault(l.rec.Seq, "the record is there a second time")
		case known && l.rec.Seq == last+1 && l.rec.Prev != prev:
			err = rd.fault(l.rec.Seq, "the record does not follow the one before it")
		default:
			err = rd.give(l.rec)
		}
		if err != nil {
			return err
		}
		if damaged = 0; l.rec.Seq > last {
			last, prev = l.rec.Seq, l.rec.Digest
		}
	}
	return nil
}

// backwards yields the records in descending order, from seq until to seq r.After+1.
func (rd *reader) backwards(ctx context.Context) error {
	l, err := seek(rd.f, rd.end, rd.until)
	if err != nil {
		return err
	}
	next := rd.until + 1 // the seq of the following line
	if l.end == 0 {      // the requested record is damaged: count down from the first intact one
		s := scanner{f: rd.f, limit: rd.end}
		for l = (line{bad: true}); l.bad; {
			if l, err = s.next(); err != nil {
				return err
			}
		}
		l.end, next = l.off, l.rec.Seq
	}
	s := backscan{f: rd.f, off: l.end}
	for damaged := int64(0); next > rd.r.After+1; {
		if err := rd.check(ctx); err != nil {
			return err
		}
		l, err := s.prev()
		if errors.Is(err, io.EOF) {
			for ; damaged > 0; damaged-- {
				next--
				if err := rd.fault(next, "the record is damaged"); err != nil {
					return err
				}
			}
			return nil
		}
		if err != nil {
			return err
		}
		if l.bad {
			damaged++
			continue
		}
		for seq := next - 1; seq > l.rec.Seq; seq-- {
			if err := rd.fault(seq, "the record is damaged or missing"); err != nil {
				return err
			}
		}
		if l.rec.Seq >= next {
			err = rd.fault(l.rec.Seq, "the record is there a second time")
		} else {
			err = rd.give(l.rec)
		}
		if err != nil {
			return err
		}
		damaged, next = 0, min(next, l.rec.Seq)
	}
	return nil
}

// check checks the context only every few lines, because that takes a lock.
func (rd *reader) check(ctx context.Context) error {
	if rd.lines++; rd.lines%32 == 1 {
		return ctx.Err()
	}
	return nil
}

// give yields a record if it is in the range.
func (rd *reader) give(r session.Record) error {
	if r.Seq <= rd.r.After || r.Seq > rd.until {
		return nil
	}
	rd.count++
	if !rd.yield(r, nil) || rd.count == rd.r.Limit {
		return errStop
	}
	return nil
}

// fault yields an error in place of a record.
func (rd *reader) fault(seq int64, detail string) error {
	if seq <= rd.r.After || seq > rd.until {
		return nil
	}
	if !rd.yield(session.Record{Seq: seq}, corrupt("read", rd.id, seq, detail)) {
		return errStop
	}
	return nil
}
