package agent

import (
	"context"

	"github.com/holdfast-dev/holdfast/tool"
)

// Await waits until there is something for the agent to answer: queued input, or what has
// become of work in the background. [Agent.Run] without input takes it in. It waits as long
// as a call in the background is [tool.Awaited]; ErrNothingToDo says that nothing will come.
func (a *Agent) Await(ctx context.Context) error {
	for {
		busy, ended := a.opt.Background.busy() // first: an end is queued before it is told
		a.mu.Lock()
		queued, closed, more := len(a.queue) > 0, a.closed, a.more
		a.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case queued:
			return nil
		case !busy:
			return ErrNothingToDo
		}
		select {
		case <-ended:
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// queued takes note that the queue has grown. The caller holds mu.
func (a *Agent) queued() {
	close(a.more)
	a.more = make(chan struct{})
}

// busy reports whether a call goes on that is waited for, and what is closed when one ends.
func (b *Background) busy() (bool, <-chan struct{}) {
	if b == nil {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if w, ok := j.c.tool.(tool.Awaited); ok && j.about.Running && w.Awaited(j.c.call) {
			return true, b.changed
		}
	}
	return false, b.changed
}
