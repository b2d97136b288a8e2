package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Background runs the background tasks of one agent. They continue after turns and interrupts, and
// end with the agent.
//
//	call ─► turn waits ─► result                                       the usual way
//	          └► too long ─► result "it continues" ─► … ─► notification ─► next turn
//
// Every call has exactly one result. The outcome of a background task is a notification, which is
// durable queued input.
//
// The zero value is ready for use as [Options].Background of one agent. Set the fields before the
// agent is created.
type Background struct {
	// Detach, if not nil, returns how long a turn waits for a call, in place of the tool's own
	// value (see [tool.Detacher]). 0 means that the turn does not wait, and a negative value means
	// that it waits until the call ends.
	Detach func(call *tool.Call) time.Duration
	// OnNotification is called after a notification was queued. A call of [Agent.Run] without input
	// sends the notification to the model. It must return at once.
	OnNotification func()
	// MaxFinished is the maximum number of finished tasks that stay in the list; default 100.
	MaxFinished int

	mu      sync.Mutex
	a       *Agent
	jobs    []*backJob    // oldest first
	changed chan struct{} // closed and replaced when a task ends
	closed  bool
	ctx     context.Context // ends when the Background is closed
	end     context.CancelFunc
	broken  chan struct{} // closed when nothing can be recorded any longer
	err     error         // errors of records that could not be written
	work    sync.WaitGroup
}

// BackgroundTask is a tool call that continues after its turn.
type BackgroundTask struct {
	UseID, Tool string
	StartedAt   time.Time
	Running     bool
	Stopped     bool         // the task was ended by Stop or by closing the agent
	Result      *tool.Result // set when the task has ended
}

// backJob is a background task with its job.
type backJob struct {
	*job
	description BackgroundTask
	read        int64 // number of output bytes that Output has already returned
}

// List returns the running tasks and the newest finished ones, oldest first.
func (b *Background) List() []BackgroundTask {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]BackgroundTask, len(b.jobs))
	for i, j := range b.jobs {
		list[i] = j.description
	}
	return list
}

// Running returns the number of tasks that have not ended or whose end is not recorded yet.
func (b *Background) Running() int {
	n := 0
	for _, j := range b.List() {
		if j.Running {
			n++
		}
	}
	return n
}

// errNoTask is returned for an unknown task id.
var errNoTask = errors.New("unknown background task")

// Output returns a task, its output since the last call of Output, and the number of earlier bytes
// that were dropped.
func (b *Background) Output(use string) (about BackgroundTask, text []byte, lost int64, err error) {
	if b == nil {
		return about, nil, 0, errNoTask
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	j := b.find(use)
	if j == nil {
		return about, nil, 0, errNoTask
	}
	text, lost, j.read = j.out.since(j.read)
	return j.description, text, lost, nil
}

// find returns the task of a tool use, or nil. The caller holds mu.
func (b *Background) find(use string) *backJob {
	i := slices.IndexFunc(b.jobs, func(j *backJob) bool { return j.description.UseID == use })
	if i < 0 {
		return nil
	}
	return b.jobs[i]
}

// Wait waits until a task has ended and its end is recorded, or until ctx ends.
func (b *Background) Wait(ctx context.Context, use string) error {
	for {
		if b == nil {
			return errNoTask
		}
		b.mu.Lock()
		j, changed := b.find(use), b.changed
		running := j != nil && j.description.Running
		b.mu.Unlock()
		switch {
		case j == nil:
			return errNoTask
		case !running:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// errStopped is the cancellation cause of a task that Stop ends.
var errStopped = errors.New("stopped")

// Stop stops a task and waits until its end is recorded. It does nothing for a finished task.
func (b *Background) Stop(ctx context.Context, use string) error {
	if b == nil {
		return errNoTask
	}
	b.mu.Lock()
	j := b.find(use)
	if j != nil && j.description.Running {
		j.description.Stopped = true
		j.stop(errStopped)
	}
	b.mu.Unlock()
	return b.Wait(ctx, use)
}

// bind sets the agent of the Background. It returns an error if the Background already has one.
func (b *Background) bind(a *Agent) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.a != nil {
		return errors.New("this Background already belongs to another agent; hint: create one per agent")
	}
	b.a, b.changed, b.broken = a, make(chan struct{}), make(chan struct{})
	b.ctx, b.end = context.WithCancel(context.Background())
	return nil
}

// watch returns when a call has ended or continues in the background.
func (b *Background) watch(a *Agent, j *job) {
	after := b.patience(j.c)
	if after < 0 {
		<-j.done
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	due := make(chan struct{})
	if after == 0 {
		close(due)
	} else {
		go func() {
			if a.opt.Sleep(ctx, after) == nil {
				close(due)
			}
		}()
	}
	select {
	case <-j.done:
	case <-due:
		if j.detach() {
			b.add(j)
		}
	}
}

// patience returns how long a turn waits for a call; a negative value means that it waits until the
// call ends.
func (b *Background) patience(c *call) time.Duration {
	if b == nil {
		return -1
	}
	if b.Detach != nil {
		return b.Detach(c.call)
	}
	if d, ok := c.tool.(tool.Detacher); ok {
		return d.Detach(c.call)
	}
	return -1
}

// backgroundNotice is the result that the model reads when a call continues in the background.
func backgroundNotice(use string) string {
	return "Background task started with ID: " + use + ". It continues in the background. You will be notified when it ends. " +
		"Use TaskOutput to read its output so far and TaskStop to stop it."
}

func (b *Background) add(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := &backJob{job: j, description: BackgroundTask{UseID: j.c.use.ID, Tool: j.c.use.Name, StartedAt: b.a.opt.Clock(), Running: true}}
	b.jobs = append(b.jobs, k)
	if b.closed {
		j.stop(errStopped)
	}
	b.work.Go(func() { b.follow(k) })
}

// follow waits for the end of a task and records it.
func (b *Background) follow(k *backJob) {
	b.a.queueOutput(k.job)
	var err error
	select {
	case <-k.noticeRecorded: // the result of the call must be recorded first
		err = b.a.settle(agentContext(b.ctx), k)
	case <-b.broken:
	}
	b.mu.Lock()
	k.description.Running = false
	k.description.Result = &k.result
	b.err = errors.Join(b.err, err)
	b.forget()
	close(b.changed)
	b.changed = make(chan struct{})
	b.mu.Unlock()
	if err != nil {
		b.a.fail(err)
	}
	if b.OnNotification != nil {
		b.OnNotification()
	}
}

// defaultMaxFinished is the default of MaxFinished.
const defaultMaxFinished = 100

// forget drops the oldest finished tasks if there are more than MaxFinished. The caller holds mu.
func (b *Background) forget() {
	over := -defaultMaxFinished
	if b.MaxFinished > 0 {
		over = -b.MaxFinished
	}
	for _, j := range b.jobs {
		if !j.description.Running {
			over++
		}
	}
	b.jobs = slices.DeleteFunc(b.jobs, func(j *backJob) bool {
		drop := !j.description.Running && over > 0
		if drop {
			over--
		}
		return drop
	})
}

// close stops all tasks and waits until the end of each is recorded. If an error has stopped the
// loop, close waits only until the tasks have ended. The loop must not be running.
func (b *Background) close(broken bool) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	if broken && !b.closed {
		close(b.broken)
	}
	b.closed = true
	b.end()
	for _, j := range b.jobs {
		if j.description.Running {
			j.description.Stopped = true
			j.stop(errClosing)
		}
	}
	b.mu.Unlock()
	b.work.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

var errClosing = errors.New("the session was closed")

// settle records the end of a background task together with its notification, and queues the
// notification.
func (a *Agent) settle(ctx context.Context, k *backJob) error {
	c := *k.c
	c.detached, c.result, c.took = false, k.result, k.took
	entries := a.firePostToolUse(ctx, &c)
	entries = append(entries, a.opt.Background.notifyEnd(ctx, k)...)
	ended, err := endEntry(c.finishedEvent())
	if err != nil {
		return err
	}
	note, err := a.encode(transcript.Item{
		ID: a.opt.NewID(), Time: a.opt.Clock(), Role: transcript.RoleNotification, Parts: k.notification(&c),
	})
	if err != nil {
		return err
	}
	return a.queueNotification(ctx, append(entries, ended), note)
}

// notification returns the parts of the notification about the end of a task.
func (k *backJob) notification(c *call) []transcript.Part {
	how := "completed"
	switch {
	case errors.Is(context.Cause(k.ctx), errStopped) && c.result.IsError:
		how = "was stopped"
	case errors.Is(context.Cause(k.ctx), errClosing) && c.result.IsError:
		how = "was stopped because the session closed"
	case c.result.IsError:
		how = "failed"
	}
	head := transcript.Text{Text: fmt.Sprintf("Background task %s %s. Output of %s:", c.use.ID, how, c.use.Name)}
	return append([]transcript.Part{head}, c.result.Content...)
}

// queueNotification makes records durable and queues notifications for the model.
func (a *Agent) queueNotification(ctx context.Context, entries []entry, items ...transcript.Encoded) error {
	for _, e := range items {
		entries = append(entries, entry{draft: session.ItemDraft(e, true, nil)})
	}
	if log := a.openLog(); log != nil {
		ctx, kept := detachedContext(ctx)
		_, err := log.Append(ctx, a.drafts(entries)...)
		if err = kept(err); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(items) > 0 {
		a.queue = append(a.queue, items...)
		a.notifyWaiters()
	}
	for _, e := range entries {
		if e.event != nil {
			a.pendingEvents = append(a.pendingEvents, e.event)
		}
	}
	return nil
}

// fail stops the agent because something that happened could not be recorded.
func (a *Agent) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed == nil {
		a.failed = err
	}
}

// QueueNotification queues a notification for the model. The notification is durable when
// QueueNotification returns, and the model reads it after the current tool round or with the next
// turn. It opens the session if needed. It returns ErrClosed, errors of the store, and ErrRunning
// while a run opens the session.
func (a *Agent) QueueNotification(ctx context.Context, parts ...transcript.Part) error {
	if err := a.openFor(ctx, parts); err != nil {
		return err
	}
	e, err := a.encode(transcript.Item{ID: a.opt.NewID(), Time: a.opt.Clock(), Role: transcript.RoleNotification, Parts: parts})
	if err != nil {
		return err
	}
	return a.queueNotification(ctx, nil, e)
}

// openFor opens the session, if needed, for a notification with these parts.
func (a *Agent) openFor(ctx context.Context, parts []transcript.Part) error {
	a.mu.Lock()
	started, closed := a.snapshot != nil, a.closed
	a.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case len(parts) == 0:
		return ErrNoInput
	case started:
		return nil
	}
	_, err := a.Start(ctx)
	if a.mu.Lock(); errors.Is(err, ErrRunning) && a.snapshot != nil {
		err = nil // a run has opened it
	}
	a.mu.Unlock()
	return err
}

// judgeBackground decides about a nested request of a background task. It cannot wait for approval,
// because the turn that would wait for it has continued.
func (l *loop) judgeBackground(ctx context.Context, c *call, r policy.Request) (json.RawMessage, error) {
	if err := l.a.shared.readNew(ctx); err != nil {
		return nil, err
	}
	w := &nestedRequest{of: c, request: r, ctx: ctx, reply: make(chan nestedReply, 1)}
	nested, err := l.nestedCall(w)
	if err != nil {
		return nil, err
	}
	d := l.decide(ctx, nested, nested.requests, nested.call.Input)
	if d.Effect == policy.Ask {
		d.Effect, d.By = policy.Deny, byNobody
	}
	nested.decision = d
	draft, err := session.NewDraft(record.KindDecision, d)
	if err != nil {
		return nil, err
	}
	if err := l.a.record(ctx, []entry{{draft: draft, event: event.DecisionMade{Decision: d}}}); err != nil {
		return nil, err
	}
	nested.replyNested()
	reply := <-w.reply
	return reply.input, reply.err
}

// now returns the time of the agent's clock.
func (b *Background) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.a == nil {
		return time.Now()
	}
	return b.a.opt.Clock()
}
