package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

type createInput struct {
	Subject     string   `json:"subject" jsonschema:"The task in a few words, in the imperative"`
	Description string   `json:"description,omitempty" jsonschema:"What is needed to do the task, and when it is complete"`
	ActiveForm  string   `json:"activeForm,omitempty" jsonschema:"What to show while the task is in progress, such as Running tests"`
	Owner       string   `json:"owner,omitempty" jsonschema:"The task's owner"`
	BlockedBy   []string `json:"blockedBy,omitempty" jsonschema:"Ids of tasks that must be completed first"`
}

type idInput struct {
	ID string `json:"taskId" jsonschema:"The id of the task"`
}

type listInput struct{}

type updateInput struct {
	ID           string   `json:"taskId" jsonschema:"The id of the task"`
	Status       string   `json:"status,omitempty" jsonschema:"pending, in_progress, completed or deleted"`
	Subject      string   `json:"subject,omitempty"`
	Description  string   `json:"description,omitempty"`
	ActiveForm   string   `json:"activeForm,omitempty"`
	Owner        *string  `json:"owner,omitempty" jsonschema:"The task's owner; empty for no owner"`
	AddBlockedBy []string `json:"addBlockedBy,omitempty" jsonschema:"Ids of tasks that must be completed before this one"`
	AddBlocks    []string `json:"addBlocks,omitempty" jsonschema:"Ids of tasks that this task blocks"`
}

type todoInput struct {
	Todos []todo `json:"todos" jsonschema:"The complete list; it replaces the current list"`
}

type todo struct {
	Content    string `json:"content" jsonschema:"The task in a few words"`
	Status     string `json:"status" jsonschema:"pending, in_progress or completed"`
	ActiveForm string `json:"activeForm,omitempty" jsonschema:"What to show while the task is in progress"`
}

// Tools returns TaskCreate, TaskGet, TaskList and TaskUpdate for an agent; "" is the main agent.
func (b *List) Tools(by string) ([]tool.Tool, error) {
	m := toolMaker{}
	addTool(&m, tool.Spec{Name: "TaskCreate", Description: "Adds a task to the task list. Use it for work with three or more steps."},
		func(ctx context.Context, in createInput) (string, error) {
			list, err := b.Create(ctx, by, Task{Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm, Owner: in.Owner, BlockedBy: in.BlockedBy})
			if err != nil {
				return "", err
			}
			return "Task " + list[0].ID + " was added to the list.", nil
		})
	addTool(&m, tool.Spec{Name: "TaskGet", Description: "Shows a task and its description.", ReadOnly: true},
		func(ctx context.Context, in idInput) (string, error) {
			t, err := b.Get(ctx, in.ID)
			if err != nil {
				return "", err
			}
			raw, err := json.MarshalIndent(t, "", "  ")
			return string(raw), err
		})
	addTool(&m, tool.Spec{Name: "TaskList", Description: "Lists tasks with their owners and dependencies.", ReadOnly: true},
		func(ctx context.Context, _ listInput) (string, error) {
			list, err := b.List(ctx)
			return render(list), err
		})
	addTool(&m, tool.Spec{Name: "TaskUpdate", Description: "Changes a task: set it to in_progress before you start, and to completed only when all of it is done."},
		func(ctx context.Context, in updateInput) (string, error) { return b.update(ctx, by, in) })
	return m.tools, m.err
}

// TodoTool returns TodoWrite, which replaces the complete list. It is for agents that need no
// dependencies between tasks.
func (b *List) TodoTool(by string) (tool.Tool, error) {
	m := toolMaker{}
	addTool(&m, tool.Spec{Name: "TodoWrite", Description: "Replaces the task list. Keep it up to date: only one task is in_progress at a time, and a task is set to completed as soon as it is done."},
		func(ctx context.Context, in todoInput) (string, error) { return b.replace(ctx, by, in.Todos) })
	if m.err != nil {
		return nil, m.err
	}
	return m.tools[0], nil
}

// toolMaker collects tools that only change the list.
type toolMaker struct {
	tools []tool.Tool
	err   error
}

// addTool adds a tool that returns a text. The tools need no approval, because they only touch the session
// itself.
func addTool[In any](m *toolMaker, spec tool.Spec, run func(context.Context, In) (string, error)) {
	t, err := tool.New(spec, func(ctx context.Context, _ *tool.Call, in In) (tool.Result, error) {
		text, err := run(ctx, in)
		if _, ours := errors.AsType[*Error](err); ours {
			return tool.Failure(err.Error()), nil
		}
		return tool.Text(text), err
	}, func(*tool.Call, In) ([]policy.Request, error) {
		return []policy.Request{{Resource: spec.Name, ReadOnly: true}}, nil
	})
	m.tools, m.err = append(m.tools, t), errors.Join(m.err, err)
}

func (b *List) update(ctx context.Context, by string, in updateInput) (string, error) {
	list, err := b.change(ctx, by, func(now []Task) ([]Task, error) {
		t, err := find(now, in.ID)
		if err != nil {
			return nil, err
		}
		before := t
		t = t.clone()
		in.apply(&t)
		if err := t.claim(&before, by); err != nil {
			return nil, err
		}
		changed := []Task{t}
		for _, id := range in.AddBlocks {
			other, err := find(now, id)
			if err != nil {
				return nil, err
			}
			other = other.clone()
			other.addBlocker(in.ID)
			changed = append(changed, other)
		}
		return changed, nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Task %s is %s.", in.ID, list[0].Status), nil
}

func (in updateInput) apply(t *Task) {
	if in.Status != "" {
		t.Status = Status(in.Status)
	}
	for _, f := range []struct {
		to   *string
		from string
	}{{&t.Subject, in.Subject}, {&t.Description, in.Description}, {&t.ActiveForm, in.ActiveForm}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	if in.Owner != nil {
		t.Owner = *in.Owner
	}
	for _, id := range in.AddBlockedBy {
		t.addBlocker(id)
	}
}

// claim makes an agent that starts a task the owner of the task. It rejects changes to a task
// that another agent is working on. The main agent may assign any task.
func (t *Task) claim(before *Task, by string) error {
	if by == "" {
		return nil
	}
	if before.Status == InProgress && before.Owner != "" && before.Owner != by {
		return &Error{Task: t.ID, Err: ErrOwned, Detail: before.Owner}
	}
	if t.Status == InProgress && t.Owner == "" {
		t.Owner = by
	}
	if t.Status == InProgress && before.Status != InProgress && t.Owner != by {
		return &Error{Task: t.ID, Err: ErrOwned, Detail: t.Owner}
	}
	if before.Status == Completed && t.Status != Completed {
		return &Error{Task: t.ID, Err: ErrInvalid, Detail: "the task is completed; only the main agent can reopen it"}
	}
	return nil
}

// addBlocker makes a task wait for another.
func (t *Task) addBlocker(id string) {
	if !slices.Contains(t.BlockedBy, id) {
		t.BlockedBy = append(t.BlockedBy, id)
	}
}

// replace replaces the list of todos. A todo whose text was already in the list keeps its task.
func (b *List) replace(ctx context.Context, by string, todos []todo) (string, error) {
	_, err := b.change(ctx, by, func(now []Task) ([]Task, error) {
		var changed []Task
		kept := map[string]bool{}
		next := len(now)
		for _, todo := range todos {
			t := Task{Subject: todo.Content, ActiveForm: todo.ActiveForm, Status: Status(todo.Status), Todo: true}
			i := slices.IndexFunc(now, func(old Task) bool {
				return old.Todo && old.Status != Deleted && old.Subject == todo.Content && !kept[old.ID]
			})
			if i >= 0 {
				t.ID = now[i].ID
			} else {
				next++
				t.ID = fmt.Sprint(next)
			}
			kept[t.ID] = true
			if i < 0 || !sameTodo(now[i], t) {
				changed = append(changed, t)
			}
		}
		for _, old := range now {
			if old.Todo && old.Status != Deleted && !kept[old.ID] {
				old.Status = Deleted
				changed = append(changed, old)
			}
		}
		return changed, nil
	})
	if err != nil {
		return "", err
	}
	return "The list was saved.", nil
}

func sameTodo(a, b Task) bool {
	return a.Subject == b.Subject && a.ActiveForm == b.ActiveForm && a.Status == b.Status
}

// oneLine returns a text as one line, so that a text cannot look like two tasks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// render returns a list as text, one line per task.
func render(list []Task) string {
	if len(list) == 0 {
		return "There are no tasks."
	}
	var lines []string
	done := map[string]bool{}
	for _, t := range list {
		done[t.ID] = t.Status == Completed
	}
	for _, t := range list {
		line := fmt.Sprintf("%s [%s] %s", t.ID, t.Status, oneLine(t.Subject))
		if t.Owner != "" {
			line += " (" + oneLine(t.Owner) + ")"
		}
		var waits []string
		for _, id := range t.BlockedBy {
			if open, there := done[id]; there && !open {
				waits = append(waits, id)
			}
		}
		if len(waits) > 0 {
			line += " — blocked by " + strings.Join(waits, ", ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
