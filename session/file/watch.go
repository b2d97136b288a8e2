package file

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

// How often the logs that are watched are looked at without a reason.
const (
	notifiedPoll = 2 * time.Second        // with notices of the system, in case one was lost
	plainPoll    = 100 * time.Millisecond // without them
)

var _ session.Watcher = (*Store)(nil)

// Watch implements [session.Watcher]. What this store appends is told at once. For
// what other programs append, one goroutine for all watchers waits for notices of the
// system (inotify) and looks at the stamps of the logs; where there are no notices it
// does that ten times a second.
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	if err := session.CheckID(id); err != nil {
		return func(yield func(int64, error) bool) { yield(0, err) }
	}
	return s.board.Watch(ctx, id, after)
}

// notifier looks for what other programs write.
type notifier struct {
	s       *Store
	dir     string
	beneath time.Duration
	system  *fsnotify.Watcher // nil where there is none
}

func (s *Store) newNotifier() logwatch.Notifier {
	n := &notifier{s: s, beneath: s.beneath}
	if n.beneath == 0 {
		n.beneath = notifiedPoll
	}
	dir, err := filepath.Abs(s.root.Name())
	if err == nil && runtime.GOOS == "linux" { // elsewhere it costs a descriptor per file
		n.dir = dir
		n.system, err = fsnotify.NewWatcher()
	}
	if err != nil || n.system == nil {
		n.system = nil
		n.beneath = min(n.beneath, plainPoll)
	}
	return n
}

// Enter implements [heads.Notifier]. A directory that is not there, or that the system
// has no room for, is looked at all the same, less often.
func (n *notifier) Enter(id string) {
	if n.system != nil {
		_ = n.system.Add(filepath.Join(n.dir, id))
	}
}

// Leave implements [heads.Notifier].
func (n *notifier) Leave(id string) {
	if n.system != nil {
		_ = n.system.Remove(filepath.Join(n.dir, id)) // it may be gone with the directory
	}
}

// Run implements [heads.Notifier].
func (n *notifier) Run(ctx context.Context, b *logwatch.Watchers) {
	var events <-chan []fsnotify.Event
	var lost <-chan []error
	if n.system != nil {
		var drained sync.WaitGroup
		defer drained.Wait()
		defer n.system.Close()
		events, lost = drain(&drained, n.system.Events), drain(&drained, n.system.Errors)
	}
	tick := time.NewTicker(n.beneath)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case list := <-events:
			n.noticed(b, list)
		case <-lost: // whatever it says, notices were dropped
			n.all(b)
		case <-tick.C:
			n.all(b)
		}
	}
}

// noticed looks at the sessions that events are about, at each once.
func (n *notifier) noticed(b *logwatch.Watchers, list []fsnotify.Event) {
	seen := map[string]bool{}
	for _, e := range list {
		if seen[e.Name] {
			continue
		}
		seen[e.Name] = true
		switch dir, name := filepath.Split(e.Name); {
		case filepath.Clean(dir) == n.dir: // the session's directory went away
			b.Notify(name)
		case name == logName:
			n.look(b, filepath.Base(dir))
		}
	}
}

// drain takes what comes at once and hands it on in lists, until in is closed. The
// system's watcher must never wait for us: it may hold the lock that Enter and Leave
// want, while we wait for the board that they are called under.
func drain[T any](done *sync.WaitGroup, in <-chan T) <-chan []T {
	out := make(chan []T)
	done.Go(func() {
		var waiting []T
		for {
			var to chan []T
			if len(waiting) > 0 {
				to = out
			}
			select {
			case v, ok := <-in:
				if !ok {
					return
				}
				waiting = append(waiting, v)
			case to <- waiting:
				waiting = nil
			}
		}
	})
	return out
}

// all looks at every session that is watched. One that was made anew has another
// directory: notices of it are asked for again.
func (n *notifier) all(b *logwatch.Watchers) {
	for _, id := range b.Watched() {
		n.Enter(id)
		n.look(b, id)
	}
}

func (n *notifier) look(b *logwatch.Watchers, id string) {
	m, err := n.s.markOf(id, id)
	switch {
	case err == nil && m.End > 0:
		b.Observed(id, m.Meta.Head)
	case err == nil, errors.Is(err, fs.ErrNotExist):
		b.Observed(id, -1)
	default: // who is woken meets the fault
		b.Notify(id)
	}
}
