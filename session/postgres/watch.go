package postgres

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/internal/wait"
	"github.com/holdfast-dev/holdfast/session"
)

// watchPoll is how often a watcher polls the head, with or without notifications.
const watchPoll = 2 * time.Second

// watchers are the watchers and the one connection that listens for them. The connection exists
// while there are watchers.
type watchers struct {
	store    *Store
	mu       sync.Mutex
	watchers map[int64]map[*watcher]bool // by the session's num
	closed   bool
	running  sync.WaitGroup
	stop     context.CancelFunc // a function that ends the listener; nil if there is none
}

// watcher is one watcher. The channel of a watcher has room for one wake-up.
type watcher struct {
	num  int64
	call chan struct{}
}

func (e *watcher) notify() {
	select {
	case e.call <- struct{}{}:
	default:
	}
}

func (w *watchers) init(s *Store) { w.store, w.watchers = s, map[int64]map[*watcher]bool{} }

// add starts listening for a session.
func (w *watchers) add(num int64) *watcher {
	e := &watcher{num: num, call: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watchers[num] == nil {
		w.watchers[num] = map[*watcher]bool{}
	}
	w.watchers[num][e] = true
	if w.stop == nil && !w.closed {
		ctx, cancel := context.WithCancel(w.store.ctx)
		w.stop = cancel
		w.running.Go(func() { w.listen(ctx) })
	}
	return e
}

// remove stops listening for a watcher; removing the last one ends the listener.
func (w *watchers) remove(e *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watchers[e.num], e)
	if len(w.watchers[e.num]) == 0 {
		delete(w.watchers, e.num)
	}
	if len(w.watchers) == 0 && w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// wait returns when the listener has ended; the store's context has ended before.
func (w *watchers) wait() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.running.Wait()
}

// wake wakes the watchers of a session.
func (w *watchers) wake(num int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range w.watchers[num] {
		e.notify()
	}
}

// wakeAll wakes all watchers.
func (w *watchers) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ears := range w.watchers {
		for e := range ears {
			e.notify()
		}
	}
}

// listen receives notifications on its own connection, and reconnects when that is lost.
// Notifications sent in between are lost, so all watchers then check their heads.
func (w *watchers) listen(ctx context.Context) {
	pause := 50 * time.Millisecond
	for ctx.Err() == nil {
		if w.receive(ctx) {
			pause = 50 * time.Millisecond
		}
		_ = wait.For(ctx, pause)
		pause = min(2*pause, watchPoll)
	}
}

// receive listens until the connection fails, and reports whether it was able to listen at all.
func (w *watchers) receive(ctx context.Context) bool {
	c, err := pgx.ConnectConfig(ctx, w.store.at.config.ConnConfig)
	if err != nil {
		return false
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = c.Close(ctx) // no longer usable
	}()
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{w.store.notifier.channel}.Sanitize()); err != nil {
		return false
	}
	w.wakeAll()
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return true
		}
		if n.Payload == notifyAll {
			w.wakeAll()
			continue
		}
		for word := range strings.SplitSeq(n.Payload, ",") {
			if num, err := strconv.ParseInt(word, 10, 64); err == nil {
				w.wake(num)
			}
		}
	}
}

// Watch implements [session.Watcher]. Appends of this store are reported at once, those of other
// programs by a notification or, if none arrives, within two seconds.
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		after := after // each range over the sequence starts again from after
		num, head, err := s.head(ctx, id)
		if err != nil {
			yield(0, err)
			return
		}
		e := s.watching.add(num)
		defer s.watching.remove(e)
		tick := time.NewTicker(watchPoll)
		defer tick.Stop()
		for first := true; ; {
			if !first || head <= after { // appended before listening started
				num, head, err = s.head(ctx, id)
			}
			first = false
			switch {
			case err == nil && num != e.num: // another session with this id
				err = rows.NotFound("watch", id)
			case err == nil && head > after:
				if after = head; !yield(head, nil) {
					return
				}
				continue
			}
			if err != nil {
				yield(0, err)
				return
			}
			select {
			case <-e.call:
			case <-tick.C:
			case <-ctx.Done():
			case <-s.ctx.Done():
			}
			if err := ctx.Err(); err != nil {
				yield(0, err)
				return
			}
		}
	}
}

// head returns the head of a session's log.
func (s *Store) head(ctx context.Context, id string) (num, head int64, err error) {
	err = s.do(ctx, "watch", id, func(c *pgxpool.Conn, _ bool) error {
		err := c.QueryRow(ctx, `SELECT num, head FROM sessions WHERE id = $1 AND deleted = 0`, []byte(id)).Scan(&num, &head)
		if errors.Is(err, pgx.ErrNoRows) {
			return rows.NotFound("watch", id)
		}
		return err
	})
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		if ctx.Err() != nil {
			err = ctx.Err()
		} else {
			err = &session.Error{Op: "watch", Session: id, Err: session.ErrClosed, Detail: s.at.String()}
		}
	}
	return num, head, err
}
