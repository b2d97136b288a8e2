package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// exists reports whether a mark is that of a session, whole or damaged.
func (m logSummary) exists() bool { return m.End > 0 || m.lost }

// lostDetail says what is wrong with a session of which nothing can be read.
const lostDetail = "none of its records can be read"

// lostOf is the mark of a directory in which no record can be read: that of a session which
// was there, or none. What fails is the error of a log that is missing.
func (s *Store) lostOf(id, dir string, missing error) (logSummary, error) {
	d, err := openDir(s.root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return logSummary{}, missing
	}
	if err != nil {
		return logSummary{}, err
	}
	defer d.Close()
	lost, at, err := s.lost(d)
	if err != nil || !lost {
		return logSummary{}, errors.Join(missing, err)
	}
	m := logSummary{lost: true, Meta: readMark(s, d, metaName).Meta} // what its cache still knows
	m.Meta.ID, m.Meta.Deleted, m.Meta.Head, m.Meta.HeadDigest = id, dir != id, 0, session.Digest{}
	m.Meta.UpdatedAt = at
	if m.Meta.CreatedAt.IsZero() {
		m.Meta.CreatedAt = at
	}
	return m, nil
}

// lost reports whether a directory whose log has no record was that of a session, and when
// it was written last. A log has a mark once something was acknowledged; without one,
// what a crash has left of a first append is no session, and a whole line that nobody can
// read is.
func (s *Store) lost(d *os.Root) (bool, time.Time, error) {
	if fi, err := d.Lstat(metaName); err == nil {
		begun, err := s.begun(d)
		return !begun, fi.ModTime().UTC(), err
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, time.Time{}, err
	}
	f, err := s.disk.open(d, logName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, time.Time{}, nil
	}
	if err != nil {
		return false, time.Time{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return false, time.Time{}, err
	}
	bad, err := firstIsDamaged(f, fi.Size())
	return bad, fi.ModTime().UTC(), err
}

// begun reports whether the log has a record now: another program may have made the session
// since the log was read and before its mark was found.
func (s *Store) begun(d *os.Root) (bool, error) {
	f, err := s.disk.open(d, logName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return false, err
	}
	head, err := lastWhole(f, fi.Size(), false)
	return head.end > 0, err
}

// firstIsDamaged reports whether the first line of a log is whole and cannot be read. Zeros
// are what a power cut leaves of a line.
func firstIsDamaged(f io.ReaderAt, size int64) (bool, error) {
	s := scanner{f: f, limit: size}
	l, err := s.next()
	if err != nil || !l.bad {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, err
	}
	var first, last [1]byte
	if _, err := f.ReadAt(first[:], 0); err != nil {
		return false, err
	}
	if _, err := f.ReadAt(last[:], l.end-1); err != nil {
		return false, err
	}
	return first[0] != 0 && last[0] == '\n', nil
}

// missing is why a log without a record cannot be read: it is damaged, or there is none.
func (s *Store) missing(id, dir string) error {
	m, err := s.lostOf(id, dir, nil)
	if err == nil && m.lost {
		return corrupt("read", id, 0, lostDetail)
	}
	if err == nil {
		err = fs.ErrNotExist
	}
	return err
}
