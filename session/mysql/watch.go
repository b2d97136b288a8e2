package mysql

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// gone is the head of a session that is not there any more.
const gone = -1

// watchers are those that wait for news of sessions. While there are any, one goroutine
// asks the server for the heads of all of them at once.
type watchers struct {
	store  *Store
	mu     sync.Mutex
	of     map[string]map[*watcher]bool
	asking bool
	closed bool
	ctx    context.Context // ends with the store
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// watcher is one Watch under way.
type watcher struct {
	head int64 // the latest, or gone
	err  error
	news chan struct{} // head or err has changed
}

func (w *watchers) init(s *Store) {
	w.store, w.of = s, map[string]map[*watcher]bool{}
	w.ctx, w.cancel = context.WithCancel(context.Background())
}

// Watch implements [session.Watcher].
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		w := &watcher{news: make(chan struct{}, 1)}
		if !s.watch.add(id, w) {
			yield(0, s.closedError("watch", id))
			return
		}
		defer s.watch.remove(id, w)
		heads, err := s.heads(ctx, []string{id}) // after it is added: nothing is missed in between
		if err != nil {
			yield(0, err)
			return
		}
		s.watch.settle(w, heads, id)
		for {
			head, err := s.watch.state(w)
			switch {
			case err != nil:
			case head == gone:
				err = rows.NotFound("watch", id)
			case head > after:
				after = head
				if !yield(head, nil) {
					return
				}
			}
			if err != nil {
				yield(0, err)
				return
			}
			select {
			case <-w.news:
			case <-ctx.Done():
				yield(0, ctx.Err())
				return
			}
		}
	}
}

func (w *watchers) add(id string, one *watcher) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if w.of[id] == nil {
		w.of[id] = map[*watcher]bool{}
	}
	w.of[id][one] = true
	if !w.asking {
		w.asking = true
		w.done.Go(w.ask)
	}
	return true
}

func (w *watchers) remove(id string, one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of[id], one)
	if len(w.of[id]) == 0 {
		delete(w.of, id)
	}
}

func (w *watchers) state(one *watcher) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return one.head, one.err
}

// settle gives a watcher what it begins with.
func (w *watchers) settle(one *watcher, heads map[string]int64, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.set(headOf(heads, id))
}

func headOf(heads map[string]int64, id string) int64 {
	if head, ok := heads[id]; ok {
		return head
	}
	return gone
}

// set is called under the lock. A head that is less than what is known is old news.
func (one *watcher) set(head int64) {
	if one.err != nil || one.head == gone || head != gone && head <= one.head {
		return
	}
	one.head = head
	one.tell()
}

func (one *watcher) fail(err error) {
	one.err = err
	one.tell()
}

func (one *watcher) tell() {
	select {
	case one.news <- struct{}{}:
	default:
	}
}

// tell tells those that watch a session of what this store has done.
func (w *watchers) tell(id string, head int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.of[id] {
		one.set(head)
	}
}

// ask asks for heads until nobody watches.
func (w *watchers) ask() {
	for {
		if pause(w.ctx, w.store.opt.WatchEvery) != nil {
			return
		}
		w.mu.Lock()
		if len(w.of) == 0 {
			w.asking = false
			w.mu.Unlock()
			return
		}
		before := map[*watcher]string{}
		for id, all := range w.of {
			for one := range all {
				before[one] = id
			}
		}
		ids := slices.Collect(maps.Keys(w.of))
		w.mu.Unlock()
		heads, err := w.store.heads(w.ctx, ids)
		w.mu.Lock()
		for one, id := range before {
			if err != nil {
				one.fail(err)
			} else {
				one.set(headOf(heads, id))
			}
		}
		w.mu.Unlock()
	}
}

// headsAtOnce is how many sessions one query asks for.
const headsAtOnce = 500

// heads are those of the sessions that are there.
func (s *Store) heads(ctx context.Context, ids []string) (map[string]int64, error) {
	heads := make(map[string]int64, len(ids))
	for some := range slices.Chunk(ids, headsAtOnce) {
		args := make([]any, len(some))
		for i, id := range some {
			args[i] = []byte(id)
		}
		query := "SELECT id, head FROM sessions WHERE deleted = 0 AND id IN (?" + strings.Repeat(", ?", len(some)-1) + ")"
		err := s.on(ctx, "watch", "", func(t *tx) error {
			found, err := t.c.QueryContext(ctx, query, args...)
			if err != nil {
				return err
			}
			defer found.Close()
			for found.Next() {
				var id []byte
				var head int64
				if err := found.Scan(&id, &head); err != nil {
					return err
				}
				heads[string(id)] = head
			}
			return found.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// close ends all watches with ErrClosed and waits for who asks.
func (w *watchers) close() {
	w.mu.Lock()
	w.closed = true
	for id, all := range w.of {
		for one := range all {
			one.fail(w.store.closedError("watch", id))
		}
	}
	w.mu.Unlock()
	w.cancel()
	w.done.Wait()
}
