package file

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/session"
)

// Delete implements [session.Deleter]. One rename removes the session; its files are deleted
// afterwards, and an error then means that some are still on the disk.
func (s *Store) Delete(ctx context.Context, id string) error {
	h, err := s.use("delete", id)
	if err != nil {
		return err
	}
	defer s.release(h)
	release, err := s.lockNames(ctx)
	if err != nil {
		return explain("delete", id, err)
	}
	defer release()
	if fi, err := s.root.Lstat(id); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return explain("delete", id, s.disk.remove(s.root, id)) // removes the link, not its target
	}
	if err := h.enter(ctx, false); err != nil {
		return explain("delete", id, err)
	}
	defer h.leave()
	defer s.watchers.Notify(id)
	return explain("delete", id, s.delete(h))
}

// delete removes a session from the list and deletes what forks do not need. The locks of the
// names and of the session are held.
func (s *Store) delete(h *handle) error {
	m, err := s.summaryOf(h.id, h.id)
	if err != nil || !m.exists() {
		if errors.Is(err, fs.ErrNotExist) || err == nil {
			err = &session.Error{Op: "delete", Session: h.id, Err: session.ErrNotFound}
		}
		return err
	}
	if err := h.readLease(); err != nil {
		return err
	}
	if err := s.raiseFloor(h.leaseContent.Epoch); err != nil {
		return err
	}
	if _, err := s.readForkTree(); err != nil { // this may fail, so it comes before any change
		return err
	}
	if err := s.disk.rename(s.root, h.id, deletedPrefix+h.id); err != nil {
		return err
	}
	s.forget(h.id)
	s.folded.names = nil
	if err := s.disk.syncDir(s.root); err != nil {
		return err
	}
	diskfile.Unlock(h.lock)
	h.closeFiles()
	return s.sweep(h.id, m.Meta.Parent)
}

// remove takes a directory out of the store with one rename, then removes it.
func (s *Store) remove(dir string) error {
	gone := gonePrefix + rand.Text()
	if err := s.disk.rename(s.root, dir, gone); err != nil {
		return err
	}
	s.forget(dir)
	if err := s.disk.syncDir(s.root); err != nil {
		return err
	}
	return s.disk.removeAll(s.root, gone)
}

// trim truncates a deleted log after the last record that its forks need, and removes the other
// files.
func (s *Store) trim(dir string, needed int64) error {
	d, err := openDir(s.root, dir)
	if err != nil {
		return err
	}
	defer d.Close()
	f, err := s.disk.open(d, logName, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	st, _, err := statFile(f)
	if err != nil {
		return err
	}
	l, err := seek(f, st.Size, needed)
	if err != nil {
		return err
	}
	if l.end == 0 { // the forks start before this session's first record: they need only its parent
		s := scanner{f: f, limit: st.Size}
		if l, err = s.next(); err != nil || l.bad {
			return err
		}
	}
	if l.end < st.Size {
		if err := s.disk.truncate(f, l.end); err != nil {
			return err
		}
		if err := s.disk.sync(f); err != nil {
			return err
		}
	}
	entries, err := fs.ReadDir(d.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == logName {
			continue
		}
		if err := s.disk.removeAll(d, e.Name()); err != nil {
			return err
		}
	}
	s.forget(dir)
	return s.disk.syncDir(d)
}
