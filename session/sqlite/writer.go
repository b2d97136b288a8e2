package sqlite

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/session"
)

// maxGroup is the maximum number of jobs in one transaction.
const maxGroup = 256

// manyJobs is the number of jobs in one transaction from which the cache is enlarged: many
// sessions are then written at once, and the cache should keep the index page of each between
// appends.
const manyJobs = 16

// writer runs jobs in transactions, one at a time. It has no goroutine of its own: the first
// caller leads, callers that arrive during a commit queue up, and the leader then passes the lead
// to the first of them, which takes all waiting jobs into its transaction. If there is only one
// caller, no time is spent on passing the lead.
type writer struct {
	mu     sync.Mutex
	free   *sync.Cond // busy became false
	conn   *conn
	queue  []*job
	busy   bool // there is a leader
	closed bool
	wrote  bool              // something was committed
	wide   bool              // the cache is enlarged
	poison error             // the error of every later job
	fatal  func(error) error // returns the poison for a fault, or nil
	gone   func() error      // returns the poison if the file was removed or replaced
}

// job is one step inside a transaction. A job returns either a fault, which is an error of SQLite,
// or another error. If it returns another error, it must have changed nothing.
type job struct {
	run      func(*conn) error
	unsynced bool // a power loss may undo it
	err      error
	lead     bool          // the job's caller was chosen to lead
	wake     chan struct{} // gets a value when the job is done or its caller was chosen to lead
}

func (w *writer) init(c *conn, fatal func(error) error, gone func() error) {
	w.conn, w.fatal, w.gone, w.free = c, fatal, gone, sync.NewCond(&w.mu)
}

// do runs a job and returns when its changes are durable. If the context ends while the job waits,
// the job is removed from the queue. Once the job runs, the end of the context has no effect.
func (w *writer) do(ctx context.Context, run func(*conn) error) error {
	return w.add(ctx, &job{run: run})
}

func (w *writer) add(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.wake = make(chan struct{}, 1)
	w.mu.Lock()
	if err := w.refuse(); err != nil {
		w.mu.Unlock()
		return err
	}
	w.queue = append(w.queue, j)
	if !w.busy {
		w.busy, j.lead = true, true
	}
	lead := j.lead
	w.mu.Unlock()
	if !lead {
		select {
		case <-j.wake:
		case <-ctx.Done():
			if w.withdraw(j) {
				return ctx.Err()
			}
			<-j.wake
		}
		if !j.lead {
			return j.err
		}
	}
	w.commitNext()
	return j.err
}

func (w *writer) refuse() error {
	if w.closed {
		return session.ErrClosed
	}
	return w.poison
}

// withdraw removes j from the queue. It returns false if j was already taken, or if its goroutine
// writes the current batch.
func (w *writer) withdraw(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, j)
	if i < 0 || j.lead {
		return false
	}
	w.queue = slices.Delete(w.queue, i, i+1)
	return true
}

// commitNext commits the queued jobs, wakes their callers and passes on the lead.
func (w *writer) commitNext() {
	w.mu.Lock()
	n := min(len(w.queue), maxGroup)
	group := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	poison := w.poison
	w.mu.Unlock()

	if poison != nil {
		fail(group, poison)
	} else if poison = w.commit(group); poison == nil {
		if poison = w.gone(); poison != nil { // commits to a removed file would be lost
			fail(group, poison)
		}
	}
	for _, j := range group[1:] { // the first is the caller
		j.wake <- struct{}{}
	}
	if len(group) > 1 {
		runtime.Gosched() // let the callers queue their next jobs before the next group is taken
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	w.poison = poison
	if len(w.queue) == 0 {
		w.busy = false
		w.free.Broadcast()
		return
	}
	next := w.queue[0]
	next.lead = true
	next.wake <- struct{}{}
}

// commit runs a group in one transaction and sets each job's error. If the transaction fails, each
// job runs in a transaction of its own, so that a job that fails does not affect the others. It
// returns the store's poison, normally nil.
func (w *writer) commit(group []*job) error {
	err := w.transact(group)
	if err == nil {
		return nil
	}
	if p := w.fatal(err); p != nil {
		fail(group, p)
		return p
	}
	if len(group) == 1 || isBusy(err) {
		fail(group, err)
		return nil
	}
	for i := range group {
		if p := w.commit(group[i : i+1]); p != nil {
			fail(group[i:], p)
			return p
		}
	}
	return nil
}

func fail(group []*job, err error) {
	for _, j := range group {
		j.err = err
	}
}

// transact runs a group in one transaction and returns its fault.
func (w *writer) transact(group []*job) error {
	if err := w.conn.sync(slices.ContainsFunc(group, func(j *job) bool { return !j.unsynced })); err != nil {
		return err
	}
	if len(group) >= manyJobs && !w.wide {
		w.wide = true
		_ = w.conn.script(wideCache) // if this fails, the commit is only slower
	}
	if _, err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, j := range group {
		if j.err = j.run(w.conn); j.err == nil {
			continue
		}
		if _, ok := sqliteError(j.err); ok {
			return w.rollback(j.err)
		}
	}
	if _, err := w.conn.exec("COMMIT"); err != nil {
		return w.rollback(err)
	}
	w.wrote = true
	return nil
}

// rollback ends a failed transaction; SQLite may have done so already.
func (w *writer) rollback(err error) error {
	clear(w.conn.nums)
	_, _ = w.conn.exec("ROLLBACK")
	return err
}

// close waits for queued jobs, checkpoints the journal and closes the connection. SQLite would
// checkpoint it too, but not report a failure.
func (w *writer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	for w.busy {
		w.free.Wait()
	}
	var err error
	if w.wrote && w.poison == nil {
		_, err = w.conn.row("PRAGMA wal_checkpoint(PASSIVE)")
	}
	return errors.Join(err, w.conn.close())
}

// write runs a job in the writer and translates its error.
func (s *Store) write(ctx context.Context, op, id string, run func(*conn) error) error {
	return s.writeAs(ctx, op, id, false, run)
}

func (s *Store) writeAs(ctx context.Context, op, id string, unsynced bool, run func(*conn) error) error {
	err := s.writer.add(ctx, &job{run: run, unsynced: unsynced})
	if errors.Is(err, session.ErrClosed) || errors.Is(err, session.ErrPoisoned) {
		return s.named(op, id, err)
	}
	return s.translate(op, id, err)
}

// named adds the operation and session to the error of a closed or poisoned store.
func (s *Store) named(op, id string, err error) error {
	e := session.Error{Err: session.ErrClosed, Detail: s.path}
	if p, ok := errors.AsType[*session.Error](err); ok {
		e = *p
	}
	e.Op, e.Session = op, id
	return &e
}
