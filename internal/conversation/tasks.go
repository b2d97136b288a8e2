package conversation

import (
	"cmp"
	"encoding/json"
	"slices"
)

// task is an entry of the task list of the agent.
type task struct {
	ID         string `json:"id"` // "" if only the input of the tool is known
	Subject    string `json:"subject"`
	ActiveForm string `json:"active_form"`
	Status     string `json:"status"`
	Todo       bool   `json:"todo"` // TodoWrite replaces it
}

// taskChange is the payload of a task.changed record; see package internal/tool/tasks.
type taskChange struct {
	Task task `json:"task"`
}

// maxTasks is the maximum number of tasks in the list.
const maxTasks = 500

func (c *Conversation) taskChanged(_ source, p taskChange) {
	t := p.Task
	i := slices.IndexFunc(c.tasks, func(o task) bool {
		return o.ID == t.ID || o.ID == "" && t.Todo && o.Subject == t.Subject
	})
	if i < 0 {
		c.tasks = append(c.tasks, t)
	} else {
		c.tasks[i] = t
	}
	c.setTasks()
}

// todos applies a call of TodoWrite, whose input is the whole list. An agent of another vendor has
// no other record of its tasks.
func (c *Conversation) todos(call *Call) {
	if call.Tool != "TodoWrite" || call.Agent != "" {
		return
	}
	var in struct {
		Todos []struct {
			Content    string `json:"content"`
			Status     string `json:"status"`
			ActiveForm string `json:"activeForm"`
		} `json:"todos"`
	}
	if json.Unmarshal(call.Input, &in) != nil {
		return
	}
	before := c.tasks
	c.tasks = slices.DeleteFunc(slices.Clone(before), func(t task) bool { return t.Todo })
	for _, n := range in.Todos {
		t := task{Subject: n.Content, Status: n.Status, ActiveForm: n.ActiveForm, Todo: true}
		if i := slices.IndexFunc(before, func(o task) bool { return o.Todo && o.Subject == t.Subject }); i >= 0 {
			t.ID = before[i].ID
		}
		c.tasks = append(c.tasks, t)
	}
	c.setTasks()
}

// setTasks updates the list in the state.
func (c *Conversation) setTasks() {
	c.tasks = slices.DeleteFunc(c.tasks, func(t task) bool { return t.Status == "deleted" })
	if over := len(c.tasks) - maxTasks; over > 0 {
		c.tasks = slices.Delete(c.tasks, 0, over)
	}
	c.state.Tasks = nil
	for _, t := range c.tasks {
		text := t.Subject
		if t.Status == "in_progress" {
			text = cmp.Or(t.ActiveForm, text)
		}
		c.state.Tasks = append(c.state.Tasks, Task{Text: text, Status: t.Status})
	}
}
