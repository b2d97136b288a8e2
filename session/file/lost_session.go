package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// exists reports whether a summary belongs to a session, intact or damaged.
func (m logSummary) exists() bool { return m.End > 0 || m.lost }

// lostDetail describes a session without a readable record.
const lostDetail = "none of its records can be read"

// lostSummary returns the summary of a directory without a readable record: a lost session, or the
// error missing if there never was one.
func (s *Store) lostSummary(id, dir string, missing error) (logSummary, error) {
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
	m := logSummary{lost: true, Meta: readSummary(s, d, metaName).Meta} // from its cache
	m.Meta.ID, m.Meta.Deleted, m.Meta.Head, m.Meta.HeadDigest = id, dir != id, 0, session.Digest{}
	m.Meta.UpdatedAt = at
	if m.Meta.CreatedAt.IsZero() {
		m.Meta.CreatedAt = at
	}
	return m, nil
}

// lost reports whether a directory without a record was a session, and when it was last written. A
// log has a summary as soon as an append was acknowledged. Without a summary, the torn tail of a
// first append is not a session, but a complete unreadable line is.
func (s *Store) lost(d *os.Root) (bool, time.Time, error) {
	if fi, err := d.Lstat(metaName); err == nil {
		begun, err := s.hasRecord(d)
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

// hasRecord reports whether the log has a record now: another program may have created the session
// after the log was read and before its summary was found.
func (s *Store) hasRecord(d *os.Root) (bool, error) {
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

// firstIsDamaged reports whether the first line of a log is complete but unreadable. A power cut
// may leave zeros instead of a line; they are not complete.
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

// missing returns why a log without a record cannot be read: it is damaged or does not exist.
func (s *Store) missing(id, dir string) error {
	m, err := s.lostSummary(id, dir, nil)
	if err == nil && m.lost {
		return corrupt("read", id, 0, lostDetail)
	}
	if err == nil {
		err = fs.ErrNotExist
	}
	return err
}
