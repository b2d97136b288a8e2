// Package watch reports changes of files and folders, no matter which process makes them.
//
//	paths ─► the folders that contain them ─► fsnotify ─► no more events for a short time ─► a different file than before? ─► Fire
//
//	w, err := watch.New(&watch.Options{Fire: func(c watch.Change) { … }})
//	err = w.Watch("mine", []string{"/w/.env"})
//	defer w.Close()
//
// A path need not exist yet. Until it exists, the nearest existing folder is watched. For a folder,
// changes of its direct entries are reported as well. If a path is a symbolic link, the link itself
// is watched and not followed. The only goroutine starts in [New].
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

// The kinds of changes, as in FileChanged hooks.
const (
	Add    = "add"
	Edit   = "change"
	Unlink = "unlink"
)

// Change is the change of one file.
type Change struct {
	Path string // absolute
	Kind string // Add, Edit or Unlink
	// Lists are the names of the lists that contain the file or its folder, sorted.
	Lists []string
}

// Options configures a [Watcher].
type Options struct {
	// Fire receives changes, one at a time, on the watcher's goroutine. Changes that happen while
	// it runs wait; several changes of one file become one. It may call the watcher's methods,
	// except Close.
	Fire func(Change)
	// OnError receives the errors of paths that can no longer be watched; nil: they are ignored.
	OnError func(error)
	// Settle is how long a file must stay unchanged before its change is reported; default 100 ms.
	// A file that changes all the time is reported after ten times that duration.
	Settle time.Duration
	// Limit is the maximum number of paths, including the entries of watched folders; default 1000.
	Limit int
}

// ErrTooMany means that there are more files than [Options].Limit.
var ErrTooMany = errors.New("too many files to watch")

// ErrClosed means that the watcher was closed.
var ErrClosed = errors.New("the watcher is closed")

// Watcher watches files until it is closed. A watcher is safe for concurrent use.
type Watcher struct {
	o      Options
	system *fsnotify.Watcher
	add    func(dir string) error // system.Add; tests replace it
	done   chan struct{}          // closed when the goroutine has ended

	mu     sync.Mutex
	closed bool
	lists  map[string][]string
	named  map[string]bool
	seen   map[string]os.FileInfo // of watched paths and of the entries of watched folders; nil: the file does not exist
	dirs   map[string]bool        // folders that the system watches
	dirty  map[string]dirtySince
}

// dirtySince contains the times of the first and the last event of a file whose change is not reported yet.
type dirtySince struct{ first, last time.Time }

// New returns a watcher without paths. The caller closes it. The error comes from the system: it
// does not support watching files, or allows no more watches.
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

// Watch sets the files and folders of a list, as absolute paths. They replace the earlier paths of
// that list; other lists do not change. Later changes are determined relative to the state at the
// time of this call. After an error, such as [ErrTooMany] or [ErrClosed], the list is unchanged.
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
	w.watchFolders() // this happens before the files are read, so that no change is missed
	seen := map[string]os.FileInfo{}
	for p := range named {
		maps.Copy(seen, snapshot(p, w.o.Limit))
		if len(seen) > w.o.Limit {
			w.named = before
			w.watchFolders()
			return fmt.Errorf("%w: more than %d", ErrTooMany, w.o.Limit)
		}
	}
	for p := range seen {
		if old, known := w.seen[p]; known {
			seen[p] = old // earlier changes are not reported yet
		}
	}
	w.lists, w.seen = lists, seen
	return nil
}

// MarkReported records that the caller has already reported the latest change of a file.
func (w *Watcher) MarkReported(path string) {
	path = filepath.Clean(path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, of := w.seen[path]; of || w.named[filepath.Dir(path)] {
		w.seen[path] = stat(path)
	}
}

// Close stops watching and waits until Fire has returned. A second call returns ErrClosed.
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

// stat returns the state of a file; nil if it does not exist or is inaccessible.
func stat(path string) os.FileInfo {
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	return info
}

// snapshot returns the state of a path. For a folder, it also returns the state of the entries, but
// of at most limit+1 of them.
func snapshot(path string, limit int) map[string]os.FileInfo {
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

// watchFolders makes the system watch the folders of the current paths. It repeats until no folder
// was added, because events from before a folder was watched are lost. The caller holds mu.
func (w *Watcher) watchFolders() {
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
				w.reportError(fmt.Errorf("watch %s: %w", d, err))
			}
		}
	}
}

// folders returns the folders to watch. The caller holds mu.
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

// nearest returns the folder itself, or its nearest existing parent.
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

func (w *Watcher) reportError(err error) {
	if w.o.OnError != nil {
		w.o.OnError(err)
	}
}

// run handles the system's events until the watcher is closed.
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
			w.onError(err)
		case <-timer.C:
		}
		if next := w.fireSettled(); next > 0 {
			timer.Reset(next)
		}
	}
}

// onEvent marks the files to which an event may refer.
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
		w.watchFolders()
	}
}

// mark marks a file as changed. The caller holds mu.
func (w *Watcher) mark(path string) {
	now := time.Now()
	m := w.dirty[path]
	if m.first.IsZero() {
		m.first = now
	}
	m.last = now
	w.dirty[path] = m
}

// onError reports an error. If the system has lost events, it instead marks all files as changed.
func (w *Watcher) onError(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		w.reportError(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.seen {
		w.mark(p)
	}
	w.watchFolders()
}

// fireSettled reports the changes of files that no longer change. It returns the time until the
// next check, or 0 if no check is needed.
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

// differs returns what has changed since the last check in a file, or in the entries of a watched
// folder. The caller holds mu.
func (w *Watcher) differs(path string) (changes []Change) {
	if !w.named[path] && !w.named[filepath.Dir(path)] {
		return nil
	}
	now := map[string]os.FileInfo{path: stat(path)}
	if w.named[path] {
		now = snapshot(path, w.o.Limit)
		for p := range w.seen {
			if _, found := now[p]; !found && filepath.Dir(p) == path {
				now[p] = nil
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(now)) {
		old, info := w.seen[p], now[p]
		if _, known := w.seen[p]; !known && len(w.seen) >= w.o.Limit {
			w.reportError(fmt.Errorf("watch %s: %w: more than %d", p, ErrTooMany, w.o.Limit))
			break
		}
		if w.seen[p] = info; info == nil && !w.named[p] {
			delete(w.seen, p)
		}
		if what := changeKind(old, info); what != "" {
			changes = append(changes, Change{Path: p, Kind: what, Lists: w.listsOf(p)})
		}
	}
	return changes
}

// listsOf returns the lists that contain a file. The caller holds mu.
func (w *Watcher) listsOf(path string) (lists []string) {
	dir := filepath.Dir(path)
	for _, name := range slices.Sorted(maps.Keys(w.lists)) {
		if list := w.lists[name]; slices.Contains(list, path) || slices.Contains(list, dir) {
			lists = append(lists, name)
		}
	}
	return lists
}

// changeKind returns the kind of change between two states; "": no change.
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
