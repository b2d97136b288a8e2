package file

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/holdfast-dev/holdfast/session"
)

// The sizes of reads. Records share the buffer they were read into, so a buffer
// is never reused.
const (
	firstChunk = 64 << 10
	chunk      = 256 << 10
)

// scanner reads lines forwards, from offset off to offset limit. It returns a damaged line as a bad
// one that ends at the next newline.
type scanner struct {
	f          io.ReaderAt
	off, limit int64
	buf        []byte // the bytes at off
	grown      bool
}

// fill reads until buf has at least n bytes, or all bytes up to limit.
func (s *scanner) fill(n int64) error {
	n = min(n, s.limit-s.off)
	if int64(len(s.buf)) >= n {
		return nil
	}
	size := int64(firstChunk)
	if s.grown {
		size = chunk
	}
	s.grown = true
	b := make([]byte, min(max(size, n), s.limit-s.off))
	had := copy(b, s.buf)
	got, err := s.f.ReadAt(b[had:], s.off+int64(had))
	s.buf = b[:had+got]
	if int64(len(s.buf)) >= n {
		return nil
	}
	if errors.Is(err, io.EOF) { // the file became shorter: ignore the bytes that were cut
		s.limit = s.off + int64(len(s.buf))
		return nil
	}
	return err
}

// advance moves on by n bytes, and returns them if they are in buf.
func (s *scanner) advance(n int64) []byte {
	s.off += n
	if n > int64(len(s.buf)) {
		s.buf = nil
		return nil
	}
	b := s.buf[:n:n]
	s.buf = s.buf[n:]
	return b
}

// next reads a line. At the limit it returns io.EOF.
func (s *scanner) next() (line, error) {
	if s.off >= s.limit {
		return line{}, io.EOF
	}
	l := line{off: s.off}
	if err := s.fill(headLen); err != nil {
		return l, err
	}
	n, ok := bodyLen(s.buf)
	if n += headLen + 1; ok && n <= s.limit-s.off && (n <= int64(len(s.buf)) || s.endsLine(s.off+n-1)) {
		if err := s.fill(n); err != nil {
			return l, err
		}
		if n <= int64(len(s.buf)) {
			if l.rec, l.left, ok = parseLine(s.buf[:n:n]); ok {
				s.advance(n)
				l.end = s.off
				return l, nil
			}
		}
	}
	l.bad = true
	err := s.resync()
	l.end = s.off
	return l, err
}

// endsLine prevents reading a gigabyte because of a damaged length.
func (s *scanner) endsLine(at int64) bool {
	var b [1]byte
	_, err := s.f.ReadAt(b[:], at)
	return err == nil && b[0] == '\n'
}

// resync skips all bytes up to and including the next newline.
func (s *scanner) resync() error {
	for s.off < s.limit {
		if err := s.fill(1); err != nil {
			return err
		}
		if i := bytes.IndexByte(s.buf, '\n'); i >= 0 {
			s.advance(int64(i) + 1)
			return nil
		}
		s.advance(int64(len(s.buf)))
	}
	return nil
}

// backscan reads lines backwards from offset off.
type backscan struct {
	f   io.ReaderAt
	off int64
	buf []byte // the bytes before off
}

// prev reads the line that ends at off. At the start it returns io.EOF.
func (s *backscan) prev() (line, error) {
	if s.off <= 0 {
		return line{}, io.EOF
	}
	nl := -1
	for {
		if n := len(s.buf); n > 0 {
			nl = bytes.LastIndexByte(s.buf[:n-1], '\n')
		}
		if nl >= 0 || int64(len(s.buf)) == s.off {
			break
		}
		size := min(max(firstChunk, 2*int64(len(s.buf))), s.off)
		b := make([]byte, size)
		keep := size - int64(len(s.buf))
		copy(b[keep:], s.buf)
		if _, err := s.f.ReadAt(b[:keep], s.off-size); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return line{}, err
		}
		s.buf = b
	}
	raw := s.buf[nl+1:]
	l := line{end: s.off, off: s.off - int64(len(raw))}
	var ok bool
	l.rec, l.left, ok = parseLine(slices.Clip(raw))
	l.bad = !ok
	s.off, s.buf = l.off, s.buf[:nl+1]
	return l, nil
}

// lastWhole finds the last line before limit that ends a batch; its end is the end of the log, or
// 0 if there is none. In a trimmed log every line ends a batch.
func lastWhole(f io.ReaderAt, limit int64, trimmed bool) (line, error) {
	s := backscan{f: f, off: limit}
	for {
		l, err := s.prev()
		if errors.Is(err, io.EOF) {
			return line{}, nil
		}
		if err != nil {
			return line{}, err
		}
		if !l.bad && (l.left == 0 || trimmed) {
			return l, nil
		}
	}
}

// seek finds by bisection the last line with a seq of at most seq; its end is 0 if there is none.
// It skips damaged lines.
func seek(f io.ReaderAt, limit, seq int64) (line, error) {
	var found line
	lo, hi := int64(0), limit // the line in found ends at lo; no line that starts at hi or later matches
	for lo < hi {
		mid := lo + (hi-lo)/2
		s := scanner{f: f, off: mid, limit: limit}
		if mid > lo {
			s.off-- // include a line that starts at mid
			if err := s.resync(); err != nil {
				return line{}, err
			}
		}
		l := line{bad: true}
		for l.bad && s.off < hi {
			var err error
			if l, err = s.next(); errors.Is(err, io.EOF) {
				l = line{bad: true}
				break
			} else if err != nil {
				return line{}, err
			}
		}
		switch {
		case l.bad, l.off >= hi, l.rec.Seq > seq:
			if hi = mid; mid == lo {
				return found, nil
			}
		default:
			found, lo = l, l.end
		}
	}
	return found, nil
}

// corrupt is the error for an unreadable record.
func corrupt(op, id string, seq int64, detail string) error {
	return &session.Error{
		Op: op, Session: id, Seq: seq, Err: session.ErrCorrupt, Detail: detail,
		Hint: "holdfast sessions verify " + id,
	}
}
