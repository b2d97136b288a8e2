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

// How often the watched logs are polled.
const (
	notifiedPoll = 2 * time.Second        // used with file notifications, in case one was lost
	plainPoll    = 100 * time.Millisecond // used without file notifications
)

var _ session.Watcher = (*Store)(nil)

// Watch implements [session.Watcher]. Appends of this store are reported at once. For appends of
// other programs, one goroutine for all watchers waits for file notifications (inotify) and checks
// the stamps of the logs; without notifications it polls ten times a second.
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	if err := session.CheckID(id); err != nil {
		return func(yield func(int64, error) bool) { yield(0, err) }
	}
	return s.watchers.Watch(ctx, id, after)
}

// notifier detects writes of other programs.
type notifier struct {
	s            *Store
	dir          string
	pollInterval time.Duration
	system       *fsnotify.Watcher // nil if the system has none
}

func (s *Store) newNotifier() logwatch.Notifier {
	n := &notifier{s: s, pollInterval: s.pollInterval}
	if n.pollInterval == 0 {
		n.pollInterval = notifiedPoll
	}
	dir, err := filepath.Abs(s.root.Name())
	if err == nil && runtime.GOOS == "linux" { // elsewhere it costs a descriptor per file
		n.dir = dir
		n.system, err = fsnotify.NewWatcher()
	}
	if err != nil || n.system == nil {
		n.system = nil
		n.pollInterval = min(n.pollInterval, plainPoll)
	}
	return n
}

// Enter implements [logwatch.Notifier]. A directory that is missing, or that cannot be watched, is
// polled less often instead.
func (n *notifier) Enter(id string) {
	if n.system != nil {
		_ = n.system.Add(filepath.Join(n.dir, id))
	}
}

// Leave implements [logwatch.Notifier].
func (n *notifier) Leave(id string) {
	if n.system != nil {
		_ = n.system.Remove(filepath.Join(n.dir, id)) // the directory may have been removed
	}
}

// Run implements [logwatch.Notifier].
func (n *notifier) Run(ctx context.Context, b *logwatch.Watchers) {
	var events <-chan []fsnotify.Event
	var lost <-chan []error
	if n.system != nil {
		var drained sync.WaitGroup
		defer drained.Wait()
		defer n.system.Close()
		events, lost = drain(&drained, n.system.Events), drain(&drained, n.system.Errors)
	}
	tick := time.NewTicker(n.pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case list := <-events:
			n.checkEvents(b, list)
		case <-lost: // whatever the error, notifications were dropped
			n.checkAll(b)
		case <-tick.C:
			n.checkAll(b)
		}
	}
}

// checkEvents checks each session that has an event, and checks it only once.
func (n *notifier) checkEvents(b *logwatch.Watchers, list []fsnotify.Event) {
	seen := map[string]bool{}
	for _, e := range list {
		if seen[e.Name] {
			continue
		}
		seen[e.Name] = true
		switch dir, name := filepath.Split(e.Name); {
		case filepath.Clean(dir) == n.dir: // the session's directory was removed
			b.Notify(name)
		case name == logName:
			n.check(b, filepath.Base(dir))
		}
	}
}

// drain receives values immediately and passes them on in lists, until in is closed. The system's
// watcher must never wait for this goroutine: it may hold the lock that Enter and Leave need, while
// this goroutine waits for the lock that they are called under.
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

// checkAll checks every watched session. A recreated session has a new directory, so it is watched
// again.
func (n *notifier) checkAll(b *logwatch.Watchers) {
	for _, id := range b.Watched() {
		n.Enter(id)
		n.check(b, id)
	}
}

func (n *notifier) check(b *logwatch.Watchers, id string) {
	m, err := n.s.summaryOf(id, id)
	switch {
	case err == nil && m.End > 0:
		b.Observed(id, m.Meta.Head)
	case err == nil, errors.Is(err, fs.ErrNotExist):
		b.Observed(id, -1)
	default: // a woken watcher gets the error
		b.Notify(id)
	}
}
