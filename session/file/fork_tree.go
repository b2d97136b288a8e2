package file

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// forkTree contains the parents and forks of all sessions.
type forkTree struct {
	parent  map[string]forkBase // by id
	forks   map[string]int      // number of forks by id
	deleted []string            // ids of deleted sessions that are kept for their forks
	gone    []string            // directories to be removed
	unknown bool                // a session's parent cannot be read
}

// forkBase is where a fork leaves its parent.
type forkBase struct {
	id  string
	seq int64
}

// readForkTree reads every session.
func (s *Store) readForkTree() (*forkTree, error) {
	f := &forkTree{parent: map[string]forkBase{}, forks: map[string]int{}}
	names, gone, err := s.readNames()
	if err != nil {
		return nil, err
	}
	f.gone = gone
	for _, name := range names {
		id, deleted := strings.CutPrefix(name, deletedPrefix)
		m, err := s.summaryOf(id, name)
		_, foreign := errors.AsType[*foreignError](err)
		switch {
		case foreign:
			continue
		case errors.Is(err, fs.ErrNotExist), err == nil && !m.exists():
		case err != nil:
			return nil, err
		case !m.Opened:
			f.unknown = true
		case m.Meta.Parent != "":
			f.parent[id] = forkBase{m.Meta.Parent, m.Meta.ParentSeq}
			f.forks[m.Meta.Parent]++
		}
		if deleted {
			f.deleted = append(f.deleted, id)
		}
	}
	return f, nil
}

// needed returns the seq of the last record that forks share with session id, or -1 if the session
// has no forks.
func (f *forkTree) needed(id string) int64 {
	seq := int64(-1)
	for _, b := range f.parent {
		if b.id == id {
			seq = max(seq, b.seq)
		}
	}
	return seq
}

// sweep removes unneeded data of deleted sessions: all files of a session without forks; for the
// given ids, the records after the last one that a fork shares; and the files that an earlier
// Delete could not remove. The caller holds the names' lock.
func (s *Store) sweep(trim ...string) error {
	f, err := s.readForkTree()
	if err != nil {
		return err
	}
	for _, name := range f.gone {
		if err := s.disk.removeAll(s.root, name); err != nil {
			return err
		}
	}
	if f.unknown { // a fork that cannot be read may need any of the records
		return nil
	}
	for waiting := slices.Clone(f.deleted); len(waiting) > 0; {
		id := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		at := slices.Index(f.deleted, id)
		if at < 0 || f.forks[id] > 0 {
			continue
		}
		if err := s.remove(deletedPrefix + id); err != nil {
			return err
		}
		f.deleted = slices.Delete(f.deleted, at, at+1)
		if up, ok := f.parent[id]; ok {
			delete(f.parent, id)
			f.forks[up.id]--
			waiting, trim = append(waiting, up.id), append(trim, up.id)
		}
	}
	for _, id := range trim {
		if needed := f.needed(id); needed >= 0 && slices.Contains(f.deleted, id) {
			if err := s.trim(deletedPrefix+id, needed); err != nil {
				return err
			}
		}
	}
	return nil
}
