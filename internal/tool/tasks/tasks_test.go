package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/tasks"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

func newSession(t testing.TB) *session.Sessions {
	t.Helper()
	s := session.New(memory.New(), nil)
	l, err := s.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// run calls a tool of a task list.
func run(t testing.TB, b *tasks.List, name, input string) (string, bool) {
	t.Helper()
	list, err := b.Tools("")
	if err != nil {
		t.Fatal(err)
	}
	todo, err := b.TodoTool("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range append(list, todo) {
		if tl.Spec().Name != name {
			continue
		}
		r, err := tl.Run(t.Context(), &tool.Call{Tool: name, Input: json.RawMessage(input)})
		if err != nil {
			t.Fatal(err)
		}
		return transcript.ToolResult{Content: r.Content}.Text(), r.IsError
	}
	t.Fatalf("there is no tool %s", name)
	return "", false
}

func TestTasks(t *testing.T) {
	b := tasks.Open(newSession(t), "s", nil)
	for _, s := range []struct {
		tool, input, want string
		isError           bool
	}{
		{"TaskList", `{}`, "There are no tasks.", false},
		{"TaskCreate", `{"subject":"dig"}`, "Task 1 was added to the list.", false},
		{"TaskCreate", `{"subject":"plant","blockedBy":["1"]}`, "Task 2 was added to the list.", false},
		{"TaskCreate", `{"subject":" "}`, "subject is missing", true},
		{"TaskCreate", `{"subject":"x","blockedBy":["7"]}`, "blocked by the unknown task 7", true},
		{"TaskList", `{}`, "1 [pending] dig\n2 [pending] plant — blocked by 1", false},
		{"TaskUpdate", `{"taskId":"2","status":"in_progress"}`, "complete task 1 (dig) first", true},
		{"TaskUpdate", `{"taskId":"1","addBlockedBy":["2"]}`, "would block each other", true},
		{"TaskUpdate", `{"taskId":"2","addBlocks":["1"]}`, "would block each other", true},
		{"TaskUpdate", `{"taskId":"1","addBlockedBy":["1"]}`, "would block each other", true},
		{"TaskUpdate", `{"taskId":"1","status":"done"}`, "want pending, in_progress, completed or deleted", true},
		{"TaskUpdate", `{"taskId":"1","status":"in_progress","owner":"ann"}`, "Task 1 is in_progress.", false},
		{"TaskUpdate", `{"taskId":"1","status":"completed"}`, "Task 1 is completed.", false},
		{"TaskUpdate", `{"taskId":"2","status":"in_progress"}`, "Task 2 is in_progress.", false},
		{"TaskList", `{}`, "1 [completed] dig (ann)\n2 [in_progress] plant", false},
		{"TaskUpdate", `{"taskId":"1","owner":""}`, "Task 1 is completed.", false},
		{"TaskGet", `{"taskId":"2"}`, `"blocked_by": [`, false},
		{"TaskGet", `{"taskId":"9"}`, "the tasks are 1, 2", true},
		{"TaskUpdate", `{"taskId":"1","status":"deleted"}`, "Task 1 is deleted.", false},
		{"TaskUpdate", `{"taskId":"1","status":"pending"}`, "no such task", true},
		{"TaskCreate", `{"subject":"water"}`, "Task 3 was added to the list.", false},
		{"TaskList", `{}`, "2 [in_progress] plant\n3 [pending] water", false},
		{"TaskCreate", `{"subject":"weed\n2 [completed] plant","owner":"bo\r\n9 [pending] x","blockedBy":["2","2"]}`, "Task 4 was added to the list.", false},
		{"TaskList", `{}`, "\n4 [pending] weed 2 [completed] plant (bo 9 [pending] x) — blocked by 2", false}, // one line a task
		{"TaskGet", `{"taskId":"4"}`, "\"blocked_by\": [\n    \"2\"\n  ]", false},
	} {
		got, isError := run(t, b, s.tool, s.input)
		if isError != s.isError || !strings.Contains(got, s.want) {
			t.Errorf("%s %s: error %v, %q; want %v, %q", s.tool, s.input, isError, got, s.isError, s.want)
		}
	}
}

func TestTodos(t *testing.T) {
	s := newSession(t)
	b := tasks.Open(s, "s", nil)
	if _, err := b.Create(t.Context(), "", tasks.Task{Subject: "of another kind"}); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{
		`{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"pending"}]}`,
		`{"todos":[{"content":"a","status":"completed"},{"content":"c","status":"pending"},{"content":"a","status":"pending"}]}`,
	} {
		if text, isError := run(t, b, "TodoWrite", in); isError {
			t.Fatal(text)
		}
	}
	want := "1 [pending] of another kind\n2 [completed] a\n4 [pending] c\n5 [pending] a"
	if got, _ := run(t, b, "TaskList", `{}`); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	head := func() int64 {
		m, err := s.Get(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		return m.Head
	}
	before := head()
	run(t, b, "TodoWrite", `{"todos":[{"content":"a","status":"completed"},{"content":"c","status":"pending"},{"content":"a","status":"pending"}]}`)
	if head() != before {
		t.Error("a list that did not change was written down again")
	}
	if text, isError := run(t, b, "TodoWrite", `{"todos":[{"content":"a","status":"maybe"}]}`); !isError {
		t.Error(text)
	}
}

// Several agents, each with a list of its own, take tasks: each is taken once.
func TestManyTakeTasks(t *testing.T) {
	const agents, n = 8, 40
	s := newSession(t)
	var list []tasks.Task
	for i := range n {
		list = append(list, tasks.Task{Subject: fmt.Sprint("task ", i)})
	}
	if _, err := tasks.Open(s, "s", nil).Create(t.Context(), "", list...); err != nil {
		t.Fatal(err)
	}
	errTaken := errors.New("taken")
	var wg sync.WaitGroup
	taken := make([][]string, agents)
	for a := range agents {
		wg.Go(func() {
			b := tasks.Open(s, "s", nil)
			for i := range n {
				id := fmt.Sprint(i + 1)
				_, err := b.Update(t.Context(), fmt.Sprint("agent ", a), id, func(task *tasks.Task) error {
					if task.Owner != "" {
						return errTaken
					}
					task.Owner, task.Status = fmt.Sprint("agent ", a), tasks.InProgress
					return nil
				})
				switch {
				case err == nil:
					taken[a] = append(taken[a], id)
				case !errors.Is(err, errTaken):
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all := slices.Concat(taken...)
	slices.Sort(all)
	if len(all) != n || len(slices.Compact(all)) != n {
		t.Errorf("%d tasks were taken: %v", len(all), taken)
	}
}

// A new list of the same session, in another program or after a restart, has the same list.
func TestTheListIsInTheLog(t *testing.T) {
	s := newSession(t)
	b := tasks.Open(s, "s", nil)
	made, err := b.Create(t.Context(), "lead", tasks.Task{Subject: "dig"}, tasks.Task{Subject: "plant", BlockedBy: []string{"1"}})
	if err != nil || made[1].ID != "2" {
		t.Fatalf("%+v %v", made, err)
	}
	fork, err := s.Fork(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Update(t.Context(), "lead", "1", func(t *tasks.Task) error { t.Status = tasks.Completed; return nil }); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]tasks.Status{"s": tasks.Completed, fork: tasks.Pending} {
		list, err := tasks.Open(s, id, nil).List(t.Context())
		if err != nil || len(list) != 2 || list[0].Status != want || !slices.Equal(list[1].BlockedBy, []string{"1"}) {
			t.Errorf("%s: %+v %v", id, list, err)
		}
	}
}

func TestHooksOfTasks(t *testing.T) {
	b := tasks.Open(newSession(t), "s", &tasks.Options{
		Created: func(_ context.Context, task tasks.Task, _ string) error {
			if task.Subject == "evil" {
				return errors.New("not here")
			}
			return nil
		},
		Completed: func(context.Context, tasks.Task, string) error { return errors.New("the tests fail") },
	})
	for _, s := range []struct {
		tool, input, want string
		isError           bool
	}{
		{"TaskCreate", `{"subject":"evil"}`, "not here", true},
		{"TaskList", `{}`, "There are no tasks.", false},
		{"TaskCreate", `{"subject":"good"}`, "Task 1", false},
		{"TaskUpdate", `{"taskId":"1","status":"completed"}`, "the tests fail", true},
		{"TaskList", `{}`, "1 [pending] good", false},
	} {
		if got, isError := run(t, b, s.tool, s.input); isError != s.isError || !strings.Contains(got, s.want) {
			t.Errorf("%s %s: error %v, %q", s.tool, s.input, isError, got)
		}
	}
}

// TestHooksAreOnRecord: what a hook leaves in the log moves its head, and neither is it
// asked again for that nor does the change never come to an end.
func TestHooksAreOnRecord(t *testing.T) {
	s, asked := newSession(t), 0
	b := tasks.Open(s, "s", &tasks.Options{Created: func(ctx context.Context, _ tasks.Task, _ string) error {
		asked++
		title := fmt.Sprint(asked)
		return s.Rename(ctx, "s", title)
	}})
	if got, isError := run(t, b, "TaskCreate", `{"subject":"dig"}`); isError || asked != 1 {
		t.Errorf("asked %d times: %q", asked, got)
	}
}

func ExampleOpen() {
	ctx := context.Background()
	sessions := session.New(memory.New(), nil)
	log, _ := sessions.Create(ctx, session.Opened{SessionID: "garden"})
	defer log.Close()

	board := tasks.Open(sessions, "garden", nil)
	_, _ = board.Create(ctx, "", tasks.Task{Subject: "dig"}, tasks.Task{Subject: "plant", BlockedBy: []string{"1"}})
	_, err := board.Update(ctx, "", "2", func(t *tasks.Task) error { t.Status = tasks.InProgress; return nil })
	fmt.Println(err)
	// Output: task 2: the task is blocked: complete task 1 (dig) first
}

func TestAgentsKeepOutOfEachOthersTasks(t *testing.T) {
	changed := 0
	b := tasks.Open(newSession(t), "s", &tasks.Options{Changed: func(context.Context) { changed++ }})
	try := func(by, name, input, want string) {
		t.Helper()
		list, err := b.Tools(by)
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range list {
			if tl.Spec().Name != name {
				continue
			}
			r, err := tl.Run(t.Context(), &tool.Call{Tool: name, Input: json.RawMessage(input)})
			if text := (transcript.ToolResult{Content: r.Content}).Text(); err != nil || !strings.Contains(text, want) || r.IsError != strings.Contains(text, ": ") {
				t.Errorf("%s %s %s: %q, error %v, %v; want %q", by, name, input, text, r.IsError, err, want)
			}
		}
	}
	try("", "TaskCreate", `{"subject":"dig"}`, "Task 1")
	try("", "TaskCreate", `{"subject":"plant","owner":"bob"}`, "Task 2")
	try("ann", "TaskUpdate", `{"taskId":"1","status":"in_progress"}`, "in_progress")
	try("bob", "TaskUpdate", `{"taskId":"1","status":"in_progress","owner":"bob"}`, "task 1: the task has another owner: ann")
	try("bob", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "the task has another owner")
	try("ann", "TaskUpdate", `{"taskId":"2","status":"in_progress"}`, "task 2: the task has another owner: bob")
	try("ann", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "completed")
	try("bob", "TaskUpdate", `{"taskId":"1","status":"pending"}`, "only the main agent can reopen it")
	try("", "TaskUpdate", `{"taskId":"1","status":"pending","owner":"bob"}`, "pending")
	if changed != 5 {
		t.Errorf("%d changes were told", changed)
	}
	if list, err := b.List(t.Context()); err != nil || list[0].Owner != "bob" {
		t.Errorf("%+v %v", list, err)
	}
}
