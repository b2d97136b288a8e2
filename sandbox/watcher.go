package sandbox

import (
	"sync"
	"time"
)

// watcher ends a command when its context ends or its time limit is reached.
type watcher struct {
	cmd  *Cmd
	done chan struct{} // the command has ended
	wg   sync.WaitGroup

	err  error // the context's error
	wall bool  // the time limit was reached
}

// newWatcher watches a started command. It uses no goroutine if there is nothing to watch.
func newWatcher(c *Cmd, limit time.Duration) *watcher {
	w := &watcher{cmd: c, done: make(chan struct{})}
	if c.ctx.Done() != nil || limit > 0 {
		w.wg.Go(func() { w.run(limit) })
	}
	return w
}

func (w *watcher) run(limit time.Duration) {
	var up <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		up = t.C
	}
	select {
	case <-w.done:
	case <-up:
		w.wall = true
		_ = w.cmd.Kill()
	case <-w.cmd.ctx.Done():
		w.err = w.cmd.ctx.Err()
		w.interrupt(up)
	}
}

// interrupt ends the command after its context has ended.
func (w *watcher) interrupt(up <-chan time.Time) {
	if w.cmd.Cancel == nil || w.cmd.Cancel() != nil {
		_ = w.cmd.Kill()
		return
	}
	var timeout <-chan time.Time
	if w.cmd.WaitDelay > 0 {
		t := time.NewTimer(w.cmd.WaitDelay)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-w.done:
		return
	case <-up:
		w.wall = true
	case <-timeout:
	}
	_ = w.cmd.Kill()
}

// stop is called after the command has ended. It returns the reason why the command was stopped;
// the result wall is true if its time was up.
func (w *watcher) stop() (err error, wall bool) {
	close(w.done)
	w.wg.Wait()
	return w.err, w.wall
}
