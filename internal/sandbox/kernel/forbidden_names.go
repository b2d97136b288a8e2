//go:build linux && (amd64 || arm64)

package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
)

const (
	// maxRepeats is how often the same name may be created again before the commands that may have created it
	// are killed.
	maxRepeats = 3
	// settleTime is how long to wait after the last event before the activity of the processes is
	// recorded.
	settleTime = 2 * time.Second
	// interval is the time between two checks when inotify is not used. It is not used for the
	// first checks of a command, because closing inotify takes longer than most commands run, or if
	// the kernel does not provide it.
	interval   = time.Millisecond
	firstLooks = 50
	retryDelay = 5 * time.Millisecond
)

// nameWatcher detects when files with forbidden names are created while commands run, and moves
// these files into quarantine. Unlike placeholders, it leaves no files in the user's folders:
//
//	inotify on the folders, or a check each millisecond ─► a forbidden name exists ─► did a command's process run since the last check?
//	                                                       no: another program created it, and it stays
//	                                                       yes: quarantine; if it is created repeatedly, SIGKILL
//
// It checks once more when a command ends.
type nameWatcher struct {
	names []Name
	store quarantine.Folder

	mu      sync.Mutex
	running map[*Process]*runningCommand
	users   int
	folders []*watchedFolder
	current map[string]*watchedFolder // the open folder at each path; nil if no command has run
	bases   map[string]bool

	events     *os.File      // nil if no command has run long enough, or if the kernel provides no inotify
	subscribed bool          // inotify watches all folders
	read       chan struct{} // closed when listen has ended
	end        chan struct{} // exists while polling; closed when the last command has ended
	polled     chan struct{} // closed when poll has ended
}

// watchedFolder is a folder with forbidden names.
type watchedFolder struct {
	path   string
	folder *os.File // the open folder; it stays the same if the folder is moved
	fresh  bool     // it was just checked
	names  []watchedName
}

type watchedName struct {
	base     string
	external bool // another program created it
	moved    int
}

// runningCommand is the state of a command that runs.
type runningCommand struct {
	trace    string // the activity of its processes when it was last recorded; "" if unknown
	moved    []quarantine.Item
	appeared []string // paths that could not be moved
}

// begin is called before a command starts.
func (w *nameWatcher) begin() error {
	if len(w.names) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.open(); err != nil {
		return err
	}
	if w.users++; w.users == 1 { // the names that exist now were not created by a command
		for _, f := range w.folders {
			f.begin()
		}
	}
	if !w.subscribed && w.end == nil {
		w.end, w.polled = make(chan struct{}), make(chan struct{})
		go w.poll(w.end, w.polled)
	}
	return nil
}

// begin records which names exist before any command runs.
func (f *watchedFolder) begin() {
	for k := range f.names {
		n := &f.names[k]
		n.moved, n.external = 0, f.has(n.base) && !f.sweep(n.base)
	}
}

// open opens the folders and subscribes to their events. If a folder was replaced, both the old and the new
// one are watched.
func (w *nameWatcher) open() error {
	if w.current == nil {
		w.current, w.bases, w.running = map[string]*watchedFolder{}, map[string]bool{}, map[*Process]*runningCommand{}
		for _, n := range w.names {
			w.bases[filepath.Base(n.Path)] = true
		}
	}
	defer func() {
		for _, f := range w.current {
			f.fresh = false
		}
	}()
	for _, n := range w.names {
		dir := filepath.Dir(n.Path)
		if f := w.current[dir]; f != nil && (f.fresh || f.same()) {
			f.fresh = true
			continue
		}
		if err := w.add(dir); err != nil {
			return err
		}
	}
	return nil
}

// add watches a folder.
func (w *nameWatcher) add(dir string) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &StartError{"watch " + dir, err}
	}
	f := &watchedFolder{path: dir, folder: os.NewFile(uintptr(fd), dir), fresh: true}
	for _, n := range w.names {
		if filepath.Dir(n.Path) == dir {
			f.names = append(f.names, watchedName{base: filepath.Base(n.Path)})
		}
	}
	f.begin()
	w.folders, w.current[dir] = append(w.folders, f), f
	w.subscribed = w.subscribed && w.register(f)
	return nil
}

// subscribe subscribes to the events of all folders, and reports whether that succeeded.
func (w *nameWatcher) subscribe() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events != nil || w.users == 0 {
		return w.subscribed
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return false
	}
	w.events, w.subscribed, w.read = os.NewFile(uintptr(fd), "inotify"), true, make(chan struct{})
	for _, f := range w.folders {
		w.subscribed = w.subscribed && w.register(f)
	}
	go w.listen(w.events, w.read)
	w.setSettleDeadline()
	return w.subscribed
}

// register subscribes to the events of a folder, and reports whether that succeeded.
func (w *nameWatcher) register(f *watchedFolder) bool {
	connection, err := w.events.SyscallConn()
	if err != nil {
		return false
	}
	_ = connection.Control(func(fd uintptr) {
		_, err = unix.InotifyAddWatch(int(fd), procFD(f.folder), unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
	})
	return err == nil
}

// close ends the watching. No command runs any more.
func (w *nameWatcher) close() {
	w.mu.Lock()
	if w.events != nil {
		w.events.Close()
	}
	for _, f := range w.folders {
		f.folder.Close()
	}
	done := w.read
	w.events, w.folders, w.current = nil, nil, nil
	w.mu.Unlock()
	if done != nil {
		<-done
	}
}

// started records that a command runs.
func (w *nameWatcher) started(p *Process) {
	w.mu.Lock()
	if w.users > 0 {
		w.running[p] = &runningCommand{}
		w.setSettleDeadline()
	}
	w.mu.Unlock()
	w.sweepNow() // the command may have created names already
}

// setSettleDeadline makes listen record the activity of the processes after settleTime without events.
func (w *nameWatcher) setSettleDeadline() {
	if w.events == nil {
		return
	}
	at := time.Time{}
	if len(w.running) > 0 {
		at = time.Now().Add(settleTime)
	}
	_ = w.events.SetReadDeadline(at) // without a deadline, all processes count as active
}

// ended records that a command has ended or, if p is nil, that it could not start. It returns the items that
// were moved meanwhile, and the paths that could not be moved.
func (w *nameWatcher) ended(p *Process) (moved []quarantine.Item, appeared []string) {
	if len(w.names) == 0 {
		return nil, nil
	}
	w.mu.Lock()
	if p != nil {
		w.sweep(p)
	}
	if s := w.running[p]; s != nil {
		moved, appeared = s.moved, s.appeared
		delete(w.running, p)
	}
	w.users--
	var done chan struct{}
	if w.users == 0 && w.end != nil {
		close(w.end)
		w.end, done = nil, w.polled
	}
	w.mu.Unlock()
	if done != nil {
		<-done
	}
	return moved, appeared
}

// listen checks the names when inotify reports that one was created.
func (w *nameWatcher) listen(events *os.File, done chan struct{}) {
	defer close(done)
	buf := make([]byte, 16<<10)
	for {
		n, err := events.Read(buf)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			w.mu.Lock()
			for p, s := range w.running {
				s.trace = p.trace()
			}
			w.setSettleDeadline()
			w.mu.Unlock()
		case err != nil:
			return
		case w.concerns(buf[:n]):
			w.sweepNow()
		}
	}
}

// concerns reports whether one of the events is about a forbidden name or says that events were
// lost.
func (w *nameWatcher) concerns(events []byte) bool {
	for len(events) >= unix.SizeofInotifyEvent {
		size := unix.SizeofInotifyEvent + int(nativeUint32(events[12:]))
		if size > len(events) {
			return true
		}
		if nativeUint32(events[4:])&unix.IN_Q_OVERFLOW != 0 || w.bases[unix.ByteSliceToString(events[unix.SizeofInotifyEvent:size])] {
			return true
		}
		events = events[size:]
	}
	return false
}

// poll checks the names repeatedly until inotify watches all folders.
func (w *nameWatcher) poll(end, done chan struct{}) {
	defer close(done)
	t := time.NewTicker(interval)
	defer t.Stop()
	for n := 1; ; n++ {
		select {
		case <-end:
			return
		case <-t.C:
		}
		subscribed := n == firstLooks && w.subscribe()
		w.sweepNow()
		if subscribed {
			return
		}
		if n == firstLooks {
			t.Reset(retryDelay)
		}
	}
}

func (w *nameWatcher) sweepNow() {
	w.mu.Lock()
	kill := w.sweep(nil)
	w.mu.Unlock()
	for _, p := range kill {
		_ = p.Signal(unix.SIGKILL) // the process may have ended already
	}
}

// sweep moves files with forbidden names into quarantine, unless another program created them. The
// command ended, which has just ended, may also have created such a file; it may be nil. sweep
// returns the commands that have created the same name too often.
func (w *nameWatcher) sweep(ended *Process) (kill []*Process) {
	if w.users == 0 || w.users > len(w.running) && ended == nil { // a command is about to start: started calls sweep then
		return nil
	}
	for _, f := range w.folders {
		for k := range f.names {
			n := &f.names[k]
			if !f.has(n.base) {
				n.external = false
				continue
			}
			if n.external || isPlaceholderAt(f.folder, n.base) {
				continue
			}
			path := filepath.Join(f.path, n.base)
			suspects := w.suspects(ended)
			if len(suspects) == 0 || w.store.IsOwn(path) {
				n.external = true
				continue
			}
			item, err := w.store.Move(int(f.folder.Fd()), path)
			if errors.Is(err, unix.ENOENT) { // the command has removed it, or another sandbox has moved it
				continue
			}
			n.moved++
			for _, p := range suspects {
				s := w.running[p]
				if err != nil {
					n.external = true
					s.appeared = append(s.appeared, path)
				} else {
					s.moved = append(s.moved, *item)
				}
				if err != nil || n.moved >= maxRepeats {
					kill = append(kill, p)
				}
			}
		}
	}
	return kill
}

// suspects returns the commands that were active since their activity was last recorded, and the
// command that has just ended.
func (w *nameWatcher) suspects(ended *Process) (list []*Process) {
	for p, s := range w.running {
		if p == ended || s.trace == "" || s.trace != p.trace() {
			list = append(list, p)
		}
	}
	return list
}

func (f *watchedFolder) has(base string) bool {
	var st unix.Stat_t
	return unix.Fstatat(int(f.folder.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// same reports whether the path still leads to this folder.
func (f *watchedFolder) same() bool {
	var now, opened unix.Stat_t
	return unix.Lstat(f.path, &now) == nil && unix.Fstat(int(f.folder.Fd()), &opened) == nil && now.Dev == opened.Dev && now.Ino == opened.Ino
}
