// Package tasks stores a task list, with owners and dependencies, in a session's log. Several
// agents may work on one list.
//
//	TaskCreate TaskUpdate TodoWrite ─► List ─► task.changed record, on the condition that
//	TaskGet TaskList ◄─ List ◄─── log          no one else has changed the list meanwhile
//
//	list := tasks.Open(sessions, id, nil)
//	tools, err := list.Tools("me")
//
// The package runs nothing: the agents decide who does a task and when.
package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Status is the state of a task.
type Status string

// The states of a task, in their usual order.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Deleted    Status = "deleted" // no longer listed
)

// Task is an entry of the list.
type Task struct {
	ID          string   `json:"id"` // "1", "2", … in the order of creation
	Subject     string   `json:"subject"`
	Description string   `json:"description,omitempty"`
	ActiveForm  string   `json:"active_form,omitempty"` // the text to show while the task is in progress: "Running tests"
	Status      Status   `json:"status"`
	Owner       string   `json:"owner,omitempty"`      // the owner, or ""
	BlockedBy   []string `json:"blocked_by,omitempty"` // ids of tasks that must be completed first
	Todo        bool     `json:"todo,omitempty"`       // it belongs to a list that TodoWrite replaces as a whole
}

// Change is the payload of a task.changed record: the new state of the task.
type Change struct {
	Task  Task   `json:"task"`
	Agent string `json:"by,omitempty"` // the name of the agent; "" is the main agent
}

// The errors of this package, for errors.Is.
var (
	ErrNoTask  = errors.New("no such task")
	ErrInvalid = errors.New("invalid task")
	ErrBlocked = errors.New("the task is blocked")
	ErrOwned   = errors.New("the task has another owner")
)

// Error rejects a change of the list. Its text is intended for models and users.
type Error struct {
	Task   string
	Err    error
	Detail string
}

func (e *Error) Error() string {
	s := e.Err.Error()
	if e.Task != "" {
		s = "task " + e.Task + ": " + s
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap returns the error to compare with errors.Is.
func (e *Error) Unwrap() error { return e.Err }

// Options configure [Open].
type Options struct {
	// Created and Completed are called before a task is created or completed; an error prevents it.
	// by is the name of the agent; "" is the main agent. They may be called several times for one
	// change, if another program changed the list first.
	Created, Completed func(ctx context.Context, t Task, by string) error
	// FindSession is called on first use. It returns the session, which replaces the one that
	// [Open] was given.
	FindSession func(ctx context.Context) (*session.Sessions, string, error)
	// Changed is called after a change of the list was recorded.
	Changed func(ctx context.Context)
}

// List is the task list of one session. It is safe for concurrent use, and other programs may change the
// same list.
type List struct {
	sessions *session.Sessions
	id       string
	o        Options

	mu   sync.Mutex
	seq  int64 // last record that was read
	list []Task
}

// Open returns the list of a session. It does no I/O.
func Open(s *session.Sessions, id string, o *Options) *List {
	b := &List{sessions: s, id: id}
	if o != nil {
		b.o = *o
	}
	return b
}

// List returns the tasks in the order of creation, without deleted ones.
func (b *List) List(ctx context.Context) ([]Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.read(ctx); err != nil {
		return nil, err
	}
	var list []Task
	for _, t := range b.list {
		if t.Status != Deleted {
			list = append(list, t.clone())
		}
	}
	return list, nil
}

// Get returns a task, or [ErrNoTask].
func (b *List) Get(ctx context.Context, id string) (Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.read(ctx); err != nil {
		return Task{}, err
	}
	t, err := find(b.list, id)
	if err != nil {
		return Task{}, err
	}
	return t.clone(), nil
}

// Create adds tasks, all or none, and sets their ids and status.
func (b *List) Create(ctx context.Context, by string, list ...Task) ([]Task, error) {
	return b.change(ctx, by, func(now []Task) ([]Task, error) {
		var made []Task
		for _, t := range list {
			t = t.clone()
			blockers := t.BlockedBy
			t.BlockedBy = nil
			for _, id := range blockers {
				t.addBlocker(id)
			}
			t.ID = strconv.Itoa(len(now) + len(made) + 1)
			if t.Status == "" {
				t.Status = Pending
			}
			made = append(made, t)
		}
		return made, nil
	})
}

// Update changes a task with the function change. If another program changed the list first, change
// is called again.
func (b *List) Update(ctx context.Context, by, id string, change func(*Task) error) (Task, error) {
	list, err := b.change(ctx, by, func(now []Task) ([]Task, error) {
		t, err := find(now, id)
		if err != nil {
			return nil, err
		}
		next := t.clone()
		if err := change(&next); err != nil {
			return nil, err
		}
		next.ID = id
		return []Task{next}, nil
	})
	if err != nil {
		return Task{}, err
	}
	return list[0], nil
}

// change records the tasks that next returns, which are new or changed.
func (b *List) change(ctx context.Context, by string, next func(now []Task) ([]Task, error)) ([]Task, error) {
	list, err := b.write(ctx, by, next)
	if err == nil && len(list) > 0 && b.o.Changed != nil {
		b.o.Changed(ctx)
	}
	return list, err
}

func (b *List) write(ctx context.Context, by string, next func(now []Task) ([]Task, error)) ([]Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var asked []Task // tasks that hooks have accepted; their records may be the reason for another attempt
	for {
		head, err := b.read(ctx)
		if err != nil {
			return nil, err
		}
		changed, err := next(slices.Clone(b.list))
		if err != nil {
			return nil, err
		}
		if err := b.check(changed); err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(asked, changed) {
			if err := b.callHooks(ctx, by, changed); err != nil {
				return nil, err
			}
			asked = changed
		}
		drafts := []session.Draft{}
		for _, t := range changed {
			d, err := session.NewDraft(record.KindTaskChanged, Change{Task: t, Agent: by})
			if err != nil {
				return nil, err
			}
			drafts = append(drafts, d)
		}
		_, err = b.sessions.AppendShared(ctx, b.id, head, drafts...)
		if err == nil {
			_, err = b.read(ctx)
			return changed, err
		}
		if !errors.Is(err, session.ErrConflict) {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// read reads new records and returns the log's head.
func (b *List) read(ctx context.Context) (int64, error) {
	if b.sessions == nil && b.o.FindSession != nil {
		var err error
		if b.sessions, b.id, err = b.o.FindSession(ctx); err != nil {
			return 0, err
		}
	}
	m, err := b.sessions.Get(ctx, b.id)
	if err != nil {
		return 0, err
	}
	for rec, err := range b.sessions.Effective(ctx, b.id, session.Range{After: b.seq, Until: m.Head}) {
		if err != nil {
			return 0, err
		}
		b.seq = rec.Seq
		if rec.Kind != record.KindTaskChanged || rec.Payload == nil {
			continue
		}
		var c Change
		if err := json.Unmarshal(rec.Payload, &c); err != nil {
			return 0, fmt.Errorf("record %d: %w", rec.Seq, err)
		}
		b.list = put(b.list, c.Task)
	}
	return m.Head, nil
}

// put replaces or adds a task.
func put(list []Task, t Task) []Task {
	i := slices.IndexFunc(list, func(u Task) bool { return u.ID == t.ID })
	if i < 0 {
		return append(list, t)
	}
	list[i] = t
	return list
}

func find(list []Task, id string) (Task, error) {
	i := slices.IndexFunc(list, func(t Task) bool { return t.ID == id && t.Status != Deleted })
	if i < 0 {
		var ids []string
		for _, t := range list {
			if t.Status != Deleted {
				ids = append(ids, t.ID)
			}
		}
		e := &Error{Task: id, Err: ErrNoTask}
		if len(ids) > 0 {
			e.Detail = "the tasks are " + strings.Join(ids, ", ")
		}
		return Task{}, e
	}
	return list[i], nil
}

// Blockers returns the ids of the incomplete tasks that block a task of a list.
func Blockers(list []Task, t Task) []string {
	var open []string
	for _, id := range t.BlockedBy {
		if other, err := find(list, id); err == nil && other.Status != Completed {
			open = append(open, id)
		}
	}
	return open
}

func (t Task) clone() Task {
	t.BlockedBy = slices.Clone(t.BlockedBy)
	return t
}

// maxText is the maximum size of the texts of a task in bytes. maxTasks is the maximum length of
// the list.
const (
	maxText  = 16 << 10
	maxTasks = 10_000
)

// check rejects changes that would make the list invalid.
func (b *List) check(changed []Task) error {
	next := slices.Clone(b.list)
	for _, t := range changed {
		next = put(next, t)
	}
	if len(next) > maxTasks {
		return &Error{Err: ErrInvalid, Detail: fmt.Sprintf("a list has at most %d tasks", maxTasks)}
	}
	for _, t := range changed {
		before, err := find(b.list, t.ID)
		if err := t.check(next, err != nil || before.Status != t.Status); err != nil {
			return err
		}
	}
	return nil
}

// callHooks calls the hooks for new and for completed tasks.
func (b *List) callHooks(ctx context.Context, by string, changed []Task) error {
	for _, t := range changed {
		before, err := find(b.list, t.ID)
		isNew := err != nil
		if isNew && b.o.Created != nil && t.Status != Deleted {
			if err := b.o.Created(ctx, t, by); err != nil {
				return &Error{Task: t.ID, Err: err}
			}
		}
		if t.Status == Completed && before.Status != Completed && b.o.Completed != nil {
			if err := b.o.Completed(ctx, t, by); err != nil {
				return &Error{Task: t.ID, Err: err}
			}
		}
	}
	return nil
}

// check rejects a task that is invalid in combination with the other tasks. moved is true if its
// status has changed.
func (t *Task) check(all []Task, moved bool) error {
	bad := func(format string, args ...any) error {
		return &Error{Task: t.ID, Err: ErrInvalid, Detail: fmt.Sprintf(format, args...)}
	}
	switch t.Status {
	case Pending, InProgress, Completed, Deleted:
	default:
		return bad("unknown status %q: want pending, in_progress, completed or deleted", t.Status)
	}
	switch {
	case strings.TrimSpace(t.Subject) == "":
		return bad("the subject is missing")
	case len(t.Subject)+len(t.Description)+len(t.ActiveForm)+len(t.Owner) > maxText:
		return bad("the texts are longer than %d bytes in total", maxText)
	}
	for _, id := range t.BlockedBy {
		other, err := find(all, id)
		if err != nil {
			if i := slices.IndexFunc(all, func(o Task) bool { return o.ID == id }); i >= 0 {
				continue // a deleted task blocks nothing
			}
			return bad("blocked by the unknown task %s", id)
		}
		if dependsOn(all, other, t.ID, map[string]bool{}) {
			return bad("this task and task %s would block each other", id)
		}
		if moved && other.Status != Completed && (t.Status == InProgress || t.Status == Completed) {
			return &Error{Task: t.ID, Err: ErrBlocked, Detail: fmt.Sprintf("complete task %s (%s) first", id, other.Subject)}
		}
	}
	return nil
}

// dependsOn reports whether a task waits for the task with this id, directly or through other
// tasks.
func dependsOn(all []Task, from Task, id string, seen map[string]bool) bool {
	if from.ID == id {
		return true
	}
	if seen[from.ID] {
		return false
	}
	seen[from.ID] = true
	for _, next := range from.BlockedBy {
		if t, err := find(all, next); err == nil && dependsOn(all, t, id, seen) {
			return true
		}
	}
	return false
}
