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
	// maxRepeats is how often the same name may come back before the commands that may have
	// made it are killed.
	maxRepeats = 3
	// settleTime is how long nothing happens until a look at what the processes did.
	settleTime = 2 * time.Second
	// interval is between two looks while the kernel tells nothing: for the first looks of a
	// command, since giving inotify back takes longer than most commands, and where it has none.
	interval   = time.Millisecond
	firstLooks = 50
	retryDelay = 5 * time.Millisecond
)

// nameWatcher sees names that must not come to be, while commands run, and moves what takes one
// into quarantine. The user's folder holds nothing of ours:
//
//	inotify on the folders, or a look each millisecond ─► a barred name is there ─► did one of our processes run since the last look?
//	                                                      no: somebody outside has made it, and it stays
//	                                                      yes: quarantine; when it comes back often, SIGKILL
//
// When a command ends there is a last look.
type nameWatcher struct {
	names []Name
	store quarantine.Folder

	mu      sync.Mutex
	running map[*Process]*runningCommand
	users   int
	folders []*watched
	current map[string]*watched // the folders that have their names now; nil: no command has run
	bases   map[string]bool

	events *os.File      // nil: no command ran long enough, or the kernel has no inotify for us
	told   bool          // the kernel tells of all folders
	read   chan struct{} // closed when nobody reads events any more
	end    chan struct{} // not told: closed when the last command has ended
	polled chan struct{} // closed when nobody polls any more
}

// watched is a folder with barred names.
type watched struct {
	path   string
	folder *os.File // it may be moved
	fresh  bool     // just looked at
	names  []watchedName
}

type watchedName struct {
	base  string
	there bool // somebody else has made it
	moved int
}

// runningCommand is a command that runs.
type runningCommand struct {
	trace    string // of its processes when nothing had happened for a while; "" is unknown
	moved    []quarantine.Item
	appeared []string // what could not be moved
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
	if w.users++; w.users == 1 { // nobody of ours has made what is there
		for _, f := range w.folders {
			f.begin()
		}
	}
	if !w.told && w.end == nil {
		w.end, w.polled = make(chan struct{}), make(chan struct{})
		go w.poll(w.end, w.polled)
	}
	return nil
}

// begin looks what is there before any command runs.
func (f *watched) begin() {
	for k := range f.names {
		n := &f.names[k]
		n.moved, n.there = 0, f.has(n.base) && !f.sweep(n.base)
	}
}

// open opens the folders and has the kernel tell of them. A folder that was replaced is watched
// beside the one that was there before.
func (w *nameWatcher) open() error {
	if w.current == nil {
		w.current, w.bases, w.running = map[string]*watched{}, map[string]bool{}, map[*Process]*runningCommand{}
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
	f := &watched{path: dir, folder: os.NewFile(uintptr(fd), dir), fresh: true}
	for _, n := range w.names {
		if filepath.Dir(n.Path) == dir {
			f.names = append(f.names, watchedName{base: filepath.Base(n.Path)})
		}
	}
	f.begin()
	w.folders, w.current[dir] = append(w.folders, f), f
	w.told = w.told && w.register(f)
	return nil
}

// subscribe has the kernel tell of all folders, and reports whether it does.
func (w *nameWatcher) subscribe() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.events != nil || w.users == 0 {
		return w.told
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return false
	}
	w.events, w.told, w.read = os.NewFile(uintptr(fd), "inotify"), true, make(chan struct{})
	for _, f := range w.folders {
		w.told = w.told && w.register(f)
	}
	go w.listen(w.events, w.read)
	w.rest()
	return w.told
}

// register has the kernel tell of a folder, where it can.
func (w *nameWatcher) register(f *watched) bool {
	connection, err := w.events.SyscallConn()
	if err != nil {
		return false
	}
	_ = connection.Control(func(fd uintptr) {
		_, err = unix.InotifyAddWatch(int(fd), procFD(f.folder), unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
	})
	return err == nil
}

// remove ends the watching when no command runs any more.
func (w *nameWatcher) remove() {
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

// started says that a command runs.
func (w *nameWatcher) started(p *Process) {
	w.mu.Lock()
	if w.users > 0 {
		w.running[p] = &runningCommand{}
		w.rest()
	}
	w.mu.Unlock()
	w.sweepNow() // what it made before this
}

// rest has listen look at the processes when nothing happens for a while.
func (w *nameWatcher) rest() {
	if w.events == nil {
		return
	}
	at := time.Time{}
	if len(w.running) > 0 {
		at = time.Now().Add(settleTime)
	}
	_ = w.events.SetReadDeadline(at) // without it, all processes count as busy
}

// ended says that a command has ended, or with nil that it could not start. It returns
// what was moved meanwhile, and what could not be.
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

// listen looks when the kernel says that a name has come to be.
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
			w.rest()
			w.mu.Unlock()
		case err != nil:
			return
		case w.concerns(buf[:n]):
			w.sweepNow()
		}
	}
}

// concerns says whether events name one of ours, or say that some were lost.
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

// poll looks again and again, until the kernel tells.
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
		told := n == firstLooks && w.subscribe()
		w.sweepNow()
		if told {
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
		_ = p.Signal(unix.SIGKILL) // it may have ended
	}
}

// sweep moves what takes a barred name. A command that has just ended is suspect. It returns
// the commands that have made the same name too often.
func (w *nameWatcher) sweep(ended *Process) (kill []*Process) {
	if w.users == 0 || w.users > len(w.running) && ended == nil { // one is about to start: it is looked at then
		return nil
	}
	for _, f := range w.folders {
		for k := range f.names {
			n := &f.names[k]
			if !f.has(n.base) {
				n.there = false
				continue
			}
			if n.there || isPlaceholderAt(f.folder, n.base) {
				continue
			}
			path := filepath.Join(f.path, n.base)
			suspects := w.suspects(ended)
			if len(suspects) == 0 || w.store.IsOwn(path) {
				n.there = true
				continue
			}
			item, err := w.store.Move(int(f.folder.Fd()), path)
			if errors.Is(err, unix.ENOENT) { // its maker, or another sandbox, was faster
				continue
			}
			n.moved++
			for _, p := range suspects {
				s := w.running[p]
				if err != nil {
					n.there = true
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

// suspects are the commands that did something since the last quiet moment.
func (w *nameWatcher) suspects(ended *Process) (list []*Process) {
	for p, s := range w.running {
		if p == ended || s.trace == "" || s.trace != p.trace() {
			list = append(list, p)
		}
	}
	return list
}

func (f *watched) has(base string) bool {
	var st unix.Stat_t
	return unix.Fstatat(int(f.folder.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// same says whether the folder still has its name.
func (f *watched) same() bool {
	var is, was unix.Stat_t
	return unix.Lstat(f.path, &is) == nil && unix.Fstat(int(f.folder.Fd()), &was) == nil && is.Dev == was.Dev && is.Ino == was.Ino
}
