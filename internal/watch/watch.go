// Package watch tells when files that somebody has named have changed, whoever changed
// them.
//
//	names ─► the folders that hold them ─► fsnotify ─► left alone for a moment ─► another file than before? ─► Fire
//
//	w, err := watch.New(&watch.Options{Fire: func(c watch.Change) { … }})
//	err = w.Watch("mine", []string{"/w/.env"})
//	defer w.Close()
//
// A name need not be there yet: the nearest folder that is there is watched until it
// is. Of a folder that is named, what lies directly in it counts as well. Links are
// looked at themselves and not followed. There is one goroutine, and none before [New].
package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// What has become of a file, in the words of FileChanged hooks.
const (
	Add    = "add"
	Edit   = "change"
	Unlink = "unlink"
)

// Change is what has become of one file.
type Change struct {
	Path string // absolute
	Kind string // Add, Edit or Unlink
	// Lists are those that name the file, or the folder that it is in, sorted.
	Lists []string
}

// Options are what [New] needs.
type Options struct {
	// Fire is told of changes, one at a time and from the watcher's goroutine: what
	// happens meanwhile waits, and several changes of one file are one then. It may call
	// the watcher's methods, but not Close.
	Fire func(Change)
	// OnError is told what cannot be watched any more; nil: nobody is.
	OnError func(error)
	// Settle is how long a file must have been left alone before its change is told;
	// default 100 ms. One that is never left alone is told of after ten times as long.
	Settle time.Duration
	// Limit bounds the names, and what is in folders that are named; default 1000.
	Limit int
}

// ErrTooMany says that there are more files than [Options].Limit.
var ErrTooMany = errors.New("too many files to watch")

// ErrClosed says that the watcher was closed.
var ErrClosed = errors.New("the watcher is closed")

// Watcher watches files until it is closed. It is safe for concurrent use.
type Watcher struct {
	o      Options
	system *fsnotify.Watcher
	add    func(dir string) error // of system; tests stand before it
	done   chan struct{}          // closed when the goroutine has ended

	mu     sync.Mutex
	closed bool
	lists  map[string][]string
	named  map[string]bool
	seen   map[string]os.FileInfo // of names, and of what is in folders that are named; nil: not there
	dirs   map[string]bool        // that the system watches
	dirty  map[string]dirtySince
}

// dirtySince is since when a file is dirty, and when something was last heard of it.
type dirtySince struct{ first, last time.Time }

// New returns a watcher that watches nothing yet. The caller closes it. The error is
// the system's: it watches no files, or no more of them.
func New(o *Options) (*Watcher, error) {
	if o == nil || o.Fire == nil {
		return nil, errors.New("watch: Fire is needed")
	}
	w := &Watcher{
		o: *o, done: make(chan struct{}), lists: map[string][]string{},
		named: map[string]bool{}, seen: map[string]os.FileInfo{}, dirs: map[string]bool{}, dirty: map[string]dirtySince{},
	}
	if w.o.Settle <= 0 {
		w.o.Settle = 100 * time.Millisecond
	}
	if w.o.Limit <= 0 {
		w.o.Limit = 1000
	}
	var err error
	if w.system, err = fsnotify.NewWatcher(); err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	w.add = w.system.Add
	go w.run()
	return w, nil
}

// Watch watches files and folders under absolute names, in place of those that list
// named before; other lists stay. How they are now is what later changes are measured
// by. After an error, [ErrTooMany] or [ErrClosed], the list is what it was.
func (w *Watcher) Watch(list string, paths []string) error {
	clean := make([]string, 0, len(paths))
	for _, p := range paths {
		if !filepath.IsAbs(p) || strings.ContainsRune(p, 0) {
			return fmt.Errorf("watch %.200q: it is not an absolute path", p)
		}
		clean = append(clean, filepath.Clean(p))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	lists := maps.Clone(w.lists)
	lists[list] = clean
	named := map[string]bool{}
	for _, l := range lists {
		for _, p := range l {
			named[p] = true
		}
	}
	before := w.named
	w.named = named
	w.arm() // before they are looked at: what happens in between is seen, or heard of
	seen := map[string]os.FileInfo{}
	for p := range named {
		maps.Copy(seen, look(p, w.o.Limit))
		if len(seen) > w.o.Limit {
			w.named = before
			w.arm()
			return fmt.Errorf("%w: more than %d", ErrTooMany, w.o.Limit)
		}
	}
	for p := range seen {
		if old, known := w.seen[p]; known {
			seen[p] = old // what has happened since is still to be told
		}
	}
	w.lists, w.seen = lists, seen
	return nil
}

// MarkReported says that somebody has told of a file's newest change already.
func (w *Watcher) MarkReported(path string) {
	path = filepath.Clean(path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, of := w.seen[path]; of || w.named[filepath.Dir(path)] {
		w.seen[path] = stat(path)
	}
}

// Close stops watching and waits until Fire has returned. Closing twice is ErrClosed.
func (w *Watcher) Close() error {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if again {
		return ErrClosed
	}
	err := w.system.Close()
	<-w.done
	return err
}

// stat looks at a file; nil when it is not there, or cannot be looked at.
func stat(path string) os.FileInfo {
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	return info
}

// look returns how a name is, and of a folder also what is in it, as far as limit and
// one more.
func look(path string, limit int) map[string]os.FileInfo {
	info := stat(path)
	all := map[string]os.FileInfo{path: info}
	if info == nil || !info.IsDir() {
		return all
	}
	f, err := os.Open(path)
	if err != nil {
		return all
	}
	defer f.Close()
	names, _ := f.Readdirnames(limit + 1)
	for _, n := range names {
		at := filepath.Join(path, n)
		all[at] = stat(at)
	}
	return all
}

// arm has the system watch the folders that matter now. It looks again after each round:
// of what came before a folder was watched, or went, nothing is heard. The caller holds mu.
func (w *Watcher) arm() {
	for again := true; again; {
		again = false
		want := w.folders()
		for d := range w.dirs {
			if !want[d] {
				_ = w.system.Remove(d) // it may be gone
				delete(w.dirs, d)
			}
		}
		for d := range want {
			if w.dirs[d] {
				continue
			}
			switch err := w.add(d); {
			case err == nil:
				w.dirs[d], again = true, true
			case errors.Is(err, fs.ErrNotExist):
				again = true
			case errors.Is(err, fsnotify.ErrClosed):
			default:
				w.wrong(fmt.Errorf("watch %s: %w", d, err))
			}
		}
	}
}

// folders are those that matter now. The caller holds mu.
func (w *Watcher) folders() map[string]bool {
	want := map[string]bool{}
	for p := range w.named {
		want[nearest(filepath.Dir(p))] = true
		if now := stat(p); now != nil && now.IsDir() {
			want[p] = true
		}
	}
	return want
}

// nearest is the folder itself, or the nearest above it that is there.
func nearest(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

func (w *Watcher) wrong(err error) {
	if w.o.OnError != nil {
		w.o.OnError(err)
	}
}

// run hears the system until the watcher is closed.
func (w *Watcher) run() {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case e, ok := <-w.system.Events:
			if !ok {
				return
			}
			w.onEvent(e)
		case err, ok := <-w.system.Errors:
			if !ok {
				return
			}
			w.missed(err)
		case <-timer.C:
		}
		if next := w.fireSettled(); next > 0 {
			timer.Reset(next)
		}
	}
}

// onEvent marks what an event may be about.
func (w *Watcher) onEvent(e fsnotify.Event) {
	if e.Op == fsnotify.Chmod {
		return
	}
	path := filepath.Clean(e.Name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.named[path] || w.named[filepath.Dir(path)] {
		w.mark(path)
	}
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	if w.dirs[path] && gone {
		_ = w.system.Remove(path)
		delete(w.dirs, path)
	}
	again := gone || e.Has(fsnotify.Create)
	if !again {
		return
	}
	below := w.named[path]
	for p := range w.seen {
		if strings.HasPrefix(p, path+string(filepath.Separator)) {
			w.mark(p)
			below = true
		}
	}
	if below {
		w.arm()
	}
}

// mark makes a file dirty. The caller holds mu.
func (w *Watcher) mark(path string) {
	now := time.Now()
	m := w.dirty[path]
	if m.first.IsZero() {
		m.first = now
	}
	m.last = now
	w.dirty[path] = m
}

// missed takes everything for dirty when the system has lost events.
func (w *Watcher) missed(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		w.wrong(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.seen {
		w.mark(p)
	}
	w.arm()
}

// fireSettled fires for what has been left alone, and says when to look again; 0 is never.
func (w *Watcher) fireSettled() time.Duration {
	changes, next := w.due(time.Now())
	for _, c := range changes {
		w.o.Fire(c)
	}
	return next
}

func (w *Watcher) due(now time.Time) (changes []Change, next time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, 0
	}
	for _, path := range slices.Sorted(maps.Keys(w.dirty)) {
		m := w.dirty[path]
		wait := min(m.last.Add(w.o.Settle).Sub(now), m.first.Add(10*w.o.Settle).Sub(now))
		if wait > 0 {
			if next == 0 || wait < next {
				next = wait
			}
			continue
		}
		delete(w.dirty, path)
		changes = append(changes, w.differs(path)...)
	}
	return changes, next
}

// differs says how a file, and what is in it when it is a folder that is named, is
// another than it was when it was last looked at. The caller holds mu.
func (w *Watcher) differs(path string) (changes []Change) {
	if !w.named[path] && !w.named[filepath.Dir(path)] {
		return nil
	}
	now := map[string]os.FileInfo{path: stat(path)}
	if w.named[path] {
		now = look(path, w.o.Limit)
		for p := range w.seen {
			if _, there := now[p]; !there && filepath.Dir(p) == path {
				now[p] = nil
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(now)) {
		old, info := w.seen[p], now[p]
		if _, known := w.seen[p]; !known && len(w.seen) >= w.o.Limit {
			w.wrong(fmt.Errorf("watch %s: %w: more than %d", p, ErrTooMany, w.o.Limit))
			break
		}
		if w.seen[p] = info; info == nil && !w.named[p] {
			delete(w.seen, p)
		}
		if what := changeKind(old, info); what != "" {
			changes = append(changes, Change{Path: p, Kind: what, Lists: w.naming(p)})
		}
	}
	return changes
}

// naming are the lists that a file is on. The caller holds mu.
func (w *Watcher) naming(path string) (lists []string) {
	dir := filepath.Dir(path)
	for _, name := range slices.Sorted(maps.Keys(w.lists)) {
		if list := w.lists[name]; slices.Contains(list, path) || slices.Contains(list, dir) {
			lists = append(lists, name)
		}
	}
	return lists
}

// changeKind words the difference; "" is none.
func changeKind(old, now os.FileInfo) string {
	switch {
	case old == nil && now == nil:
		return ""
	case old == nil:
		return Add
	case now == nil:
		return Unlink
	case old.IsDir() && now.IsDir():
		return ""
	case os.SameFile(old, now) && old.Size() == now.Size() && old.ModTime().Equal(now.ModTime()) && old.Mode().Type() == now.Mode().Type():
		return ""
	}
	return Edit
}
