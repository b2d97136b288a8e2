package sqlite

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
)

// How often the file is checked for commits of other programs.
const (
	notifiedPoll = 2 * time.Second        // used with file notifications, in case one was lost
	plainPoll    = 100 * time.Millisecond // used without file notifications
	activePoll   = time.Millisecond       // used after a notification, because the commit follows it
	idlePoll     = 200 * time.Millisecond // if no commit follows in this time, the notification had another cause
)

// share limits the time for checking the watched sessions to 1/share of the total time.
const share = 20

// Watch implements [session.Watcher]. Appends of this store are reported at once. For appends of
// other programs, one goroutine for all watchers waits for writes to the journal (inotify;
// elsewhere it polls ten times a second) and compares the watched heads when SQLite reports a
// commit.
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return s.watchers.Watch(ctx, id, after)
}

// notifier detects commits of other programs.
type notifier struct {
	s            *Store
	pollInterval time.Duration
	system       *fsnotify.Watcher // nil where there is none
}

// newNotifier starts file notifications, except on systems where that opens the file: closing it
// would drop SQLite's locks.
func (s *Store) newNotifier() logwatch.Notifier {
	n := &notifier{s: s, pollInterval: s.pollInterval}
	if n.pollInterval == 0 {
		n.pollInterval = notifiedPoll
	}
	if runtime.GOOS == "linux" {
		if w, err := fsnotify.NewWatcher(); err == nil {
			n.system = w
			if w.Add(filepath.Dir(s.path)) != nil {
				w.Close()
				n.system = nil
			}
		}
	}
	if n.system == nil {
		n.pollInterval = min(n.pollInterval, plainPoll)
	}
	return n
}

// Enter implements [logwatch.Notifier].
func (n *notifier) Enter(string) {}

// Leave implements [logwatch.Notifier].
func (n *notifier) Leave(string) {}

// Run implements [logwatch.Notifier].
func (n *notifier) Run(ctx context.Context, b *logwatch.Watchers) {
	var events <-chan fsnotify.Event
	var lost <-chan error
	if n.system != nil {
		defer n.system.Close()
		events, lost = n.system.Events, n.system.Errors
	}
	look := headReader{s: n.s}
	defer look.close()
	pause := n.pollInterval
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if pause == activePoll || e.Name != n.s.path+"-wal" && e.Name != n.s.path {
				continue
			}
			pause = activePoll
		case <-lost: //nolint:errcheck // whatever the error, notifications were dropped
			pause = activePoll
		case <-timer.C:
			began := time.Now()
			changed := look.checkAll(b)
			switch {
			case changed:
				pause = max(activePoll, share*time.Since(began))
			case pause < idlePoll:
				pause *= 2
			default:
				pause = n.pollInterval
			}
		}
		timer.Reset(pause)
	}
}

// headReader compares heads on its own connection.
type headReader struct {
	s       *Store
	c       *conn
	version int64
}

// checkAll checks the watched sessions if there was a commit, and reports whether there was one.
func (l *headReader) checkAll(b *logwatch.Watchers) bool {
	ids := b.Watched()
	if len(ids) == 0 {
		return false
	}
	changed, err := l.checkHeads(b, ids)
	if err != nil { // a woken watcher gets the error, if there is one
		l.close()
		for _, id := range ids {
			b.Notify(id)
		}
	}
	return changed
}

func (l *headReader) checkHeads(b *logwatch.Watchers, ids []string) (changed bool, err error) {
	if l.c == nil {
		if l.c, err = dial(l.s.path, l.s.opt.BusyTimeout); err != nil {
			return false, err
		}
		l.version = -1
	}
	version, err := l.c.pragma("data_version")
	if err != nil || version == l.version {
		return false, err
	}
	l.version = version
	if err := l.c.script("BEGIN"); err != nil {
		return false, err
	}
	for _, id := range ids {
		r, err := l.c.row("SELECT head FROM sessions WHERE id = ? AND deleted = 0", id)
		if err != nil {
			return false, errors.Join(err, l.c.script("ROLLBACK"))
		}
		head := int64(-1)
		if r != nil {
			head = asInt(r[0])
		}
		b.Observed(id, head)
	}
	return true, l.c.script("COMMIT")
}

func (l *headReader) close() {
	if l.c != nil {
		l.c.close()
		l.c = nil
	}
}
