package file

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// foldedNames caches the lower-case names in the store's directory while no other process changes
// it.
type foldedNames struct {
	at    fileStamp
	links uint64
	names map[string][]string
}

func foldCase(s string) string { return strings.ToLower(strings.ToUpper(s)) }

// checkFree returns ErrExists if a deleted session has the id, or if a session has an id that
// differs only in case, because the store may be copied to a file system that ignores case. The
// caller holds the names' lock.
func (s *Store) checkFree(id string) error {
	at, links, err := statFile(s.dir)
	if err != nil {
		return err
	}
	c := &s.folded
	if c.names == nil || c.at != at || c.links != links {
		names, _, err := s.readNames()
		if err != nil {
			return err
		}
		c.names = make(map[string][]string, len(names))
		for _, n := range names {
			c.add(n)
		}
		c.at, c.links = at, links
	}
	taken := func(dir string) bool { // an unreadable directory counts as taken
		m, err := s.summaryOf(strings.TrimPrefix(dir, deletedPrefix), dir)
		return !errors.Is(err, fs.ErrNotExist) && (err != nil || m.exists())
	}
	for _, name := range c.names[foldCase(id)] {
		if name == id {
			continue
		}
		if taken(name) {
			detail := "as " + name
			if strings.HasPrefix(name, deletedPrefix) {
				detail = "it was deleted, but forks still need its records"
			}
			return &session.Error{Op: "append", Session: id, Err: session.ErrExists, Detail: detail}
		}
	}
	return nil
}

func (c *foldedNames) add(name string) {
	key := foldCase(strings.TrimPrefix(name, deletedPrefix))
	c.names[key] = append(c.names[key], name)
}

// makeDir makes a session's directory and adds its name to the cache. The caller holds the names'
// lock.
func (s *Store) makeDir(id string) error {
	c := &s.folded
	before, links, err := statFile(s.dir)
	if err != nil {
		return err
	}
	if err := s.disk.mkdir(s.root, id); err != nil {
		return err
	}
	at, now, err := statFile(s.dir)
	if err != nil || c.names == nil || c.at != before || c.links != links || now != links+1 {
		c.names = nil // another process changed the directory
		return nil    //nolint:nilerr // the names are read again
	}
	c.add(id)
	c.at, c.links = at, now
	return nil
}

// readNames lists the directories of sessions, including deleted ones, and those to be removed.
// Other files are not sessions.
func (s *Store) readNames() (names, gone []string, err error) {
	d, err := s.root.Open(".")
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if errors.Is(err, fs.ErrNotExist) { // the store's directory is missing, not a session
		if gone := s.gone(); gone != nil {
			return nil, nil, s.goneError("list", gone)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	names = make([]string, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		switch {
		case !e.IsDir():
		case strings.HasPrefix(name, gonePrefix):
			gone = append(gone, name)
		case session.CheckID(strings.TrimPrefix(name, deletedPrefix)) == nil:
			names = append(names, name)
		}
	}
	return names, gone, nil
}

// summaryOf returns the current summary of a log in a directory of the store. It takes no lock and
// changes only caches. The End of the summary is 0 if there is no session. It returns
// fs.ErrNotExist if there is no log.
func (s *Store) summaryOf(id, dir string) (logSummary, error) {
	st, err := statAt(s.dir, dir+"/"+logName)
	if errors.Is(err, fs.ErrNotExist) {
		return s.lostSummary(id, dir, err)
	}
	if err != nil {
		return logSummary{}, err
	}
	s.summariesMu.Lock()
	m, ok := s.summaries[dir]
	s.summariesMu.Unlock()
	if ok && m.Stamp == st {
		return m, nil
	}
	d, err := openDir(s.root, dir)
	if err != nil {
		return logSummary{}, err
	}
	defer d.Close()
	if !ok || m.Stamp.Ino != st.Ino {
		if m = readSummary(s, d, metaName); m.Format != summaryFormat {
			m.Stamp = fileStamp{}
		}
	}
	if m.Stamp != st {
		if m, err = s.foldSummary(id, dir, d, m); err != nil {
			return logSummary{}, err
		}
	}
	if m.End == 0 {
		return s.lostSummary(id, dir, nil)
	}
	m.Meta.ID = id
	m.Meta.Deleted = dir != id
	s.summariesMu.Lock()
	defer s.summariesMu.Unlock()
	s.summaries[dir] = m
	return m, nil
}

// foldSummary reads a log from the end of m.
func (s *Store) foldSummary(id, dir string, d *os.Root, m logSummary) (logSummary, error) {
	f, err := s.disk.open(d, logName, os.O_RDONLY)
	if err != nil {
		return logSummary{}, err
	}
	defer f.Close()
	st, _, err := statFile(f)
	if err != nil {
		return logSummary{}, err
	}
	limit := s.visibleSize(id, dir, st.Size)
	if !m.fits(f, limit) {
		m = logSummary{}
	}
	from := m.End
	out, err := fold(id, f, m, limit, dir != id)
	if err != nil {
		return logSummary{}, err
	}
	m = out.logSummary
	m.Stamp, m.Verified = st, false
	if m.End != st.Size {
		m.Stamp = fileStamp{Ino: st.Ino} // a write is in progress or crashed: check again next time
	} else if m.End-from > saveEvery {
		_ = s.disk.replace(d, metaName, m.encode(), false)
	}
	return m, nil
}

// visibleSize returns the number of bytes of a session's log that readers may see: all of them,
// unless this process is in the middle of an append.
func (s *Store) visibleSize(id, dir string, size int64) int64 {
	if dir != id {
		return size
	}
	if h := s.peek(id); h != nil && (h.writing.Load() || h.poisoned.Load()) {
		return min(size, h.acked.Load())
	}
	return size
}
