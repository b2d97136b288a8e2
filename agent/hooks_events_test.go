package agent_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// hookRecorder is a registry whose hooks record every fired event.
type hookRecorder struct {
	*hook.Registry
	mu  sync.Mutex
	saw []hook.Input
}

func newHookRecorder(t testing.TB) *hookRecorder {
	t.Helper()
	w := &hookRecorder{Registry: hook.New(nil)}
	t.Cleanup(func() { _ = w.Close() })
	for _, e := range hook.Events() {
		if err := w.HandleFunc(e, "", w.note); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *hookRecorder) note(_ context.Context, in hook.Input) (*hook.Output, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saw = append(w.saw, in)
	return nil, nil
}

// of returns the inputs of an event.
func (w *hookRecorder) of(e hook.Event) (list []hook.Input) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, in := range w.saw {
		if in.Event == e {
			list = append(list, in)
		}
	}
	return list
}

// order returns the events in the order in which they were fired.
func (w *hookRecorder) order() (list []hook.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, in := range w.saw {
		list = append(list, in.Event)
	}
	return list
}

// eventCase is a run that makes an event happen.
type eventCase struct {
	event hook.Event
	o     agent.Options
	m     *fake
	text  string // the prompt; default go
	tools []tool.Tool
	fork  bool
	check func(t *testing.T, in hook.Input)
	later string // the package that fires it; a tool of the host takes its place here
	fires hook.Input
	says  string // the text of the event's hook for the model
}

func checkInput(ok bool, t *testing.T, in hook.Input) {
	t.Helper()
	if !ok {
		t.Errorf("got %+v", in)
	}
}

// calls is a model that makes one call and then answers.
func calls(t testing.TB, name, input string) *fake {
	return play(t, step{uses: []transcript.ToolUse{use("c1", name, input)}}, step{text: "done"})
}

func answers(d approval.Decision) func(context.Context, approval.Request) (approval.Answer, error) {
	return func(context.Context, approval.Request) (approval.Answer, error) {
		return approval.Answer{Decision: d, Actor: "ann"}, nil
	}
}

// eventCases returns every event with a run that fires it.
func eventCases(t *testing.T) []eventCase {
	asks := policy.Config{Mode: policy.ModeDefault, Folders: []string{"/p"}}
	long := strings.Repeat("many words ", 4000)
	small := func() *fake {
		m := play(t, step{text: long}, step{text: long}, step{text: "a short summary"}, step{text: "done"})
		m.info.Context = 20_000
		return m
	}
	broken := play(t, step{err: &model.Error{Kind: model.ErrorAuth, Provider: "fake", Message: "no key"}})
	gone := play(t, step{err: &model.Error{Kind: model.ErrorNotFound, Provider: "fake", Message: "gone"}})
	second := play(t, step{text: "I am here"})
	second.info.Model = "second"
	edit := probe{name: "Edit", run: func(context.Context, *tool.Call) (tool.Result, error) {
		r := tool.Text("edited")
		r.Changes = []record.FileChange{{Path: "/p/new.txt", Before: "absent", After: "00"}}
		return r, nil
	}}
	list := []eventCase{
		{event: hook.InstructionsLoaded, o: agent.Options{Instructions: agent.Instructions{
			Text: "Run the tests.", Loaded: []hook.Input{{File: hook.File{Path: "/p/AGENTS.md", Memory: "Project", LoadReason: "session_start"}}},
		}}, check: func(t *testing.T, in hook.Input) {
			checkInput(in.File.Path == "/p/AGENTS.md" && in.File.Memory == "Project" && in.File.LoadReason == "session_start", t, in)
		}},
		{event: hook.UserPromptExpansion, text: "/greet ann", o: agent.Options{Expand: func(context.Context, string) (*agent.Expansion, error) {
			return &agent.Expansion{Command: "greet", Args: "ann", Source: "user", Text: "Greet ann."}, nil
		}}, check: func(t *testing.T, in hook.Input) {
			checkInput(in.Command.Name == "greet" && in.Command.Args == "ann" && in.Prompt == "/greet ann", t, in)
		}},
		{event: hook.Setup, o: agent.Options{Hooks: agent.Hooks{Setup: "init"}}, check: func(t *testing.T, in hook.Input) { checkInput(in.Trigger == "init", t, in) }},
		{event: hook.SessionStart, check: func(t *testing.T, in hook.Input) { checkInput(in.Source == "startup" && in.Model == "m", t, in) }},
		{event: hook.SessionStart, fork: true, check: func(t *testing.T, in hook.Input) { checkInput(in.Source == "fork", t, in) }},
		{event: hook.SessionEnd, check: func(t *testing.T, in hook.Input) { checkInput(in.Reason == "other", t, in) }},
		{event: hook.UserPromptSubmit, check: func(t *testing.T, in hook.Input) { checkInput(in.Prompt == "go" && in.Source == "user", t, in) }},
		{event: hook.Stop, check: func(t *testing.T, in hook.Input) {
			checkInput(in.End.LastMessage == "done" && in.Reason == "completed" && !in.End.StopHookActive, t, in)
		}},
		{event: hook.StopFailure, m: broken, check: func(t *testing.T, in hook.Input) {
			checkInput(in.End.Error == "authentication_failed" && strings.Contains(in.End.Details, "no key"), t, in)
		}},
		{event: hook.PreToolUse, check: func(t *testing.T, in hook.Input) {
			checkInput(in.Tool.Name == "Edit" && in.Tool.UseID == "c1" && string(in.Tool.Input) == `{"file_path":"/p/a"}`, t, in)
		}},
		{event: hook.PostToolUse, check: func(t *testing.T, in hook.Input) {
			checkInput(in.Tool.Name == "Edit" && in.Tool.Output == "edited" && strings.Contains(string(in.Tool.Response), `"filePath":"/p/a"`), t, in)
		}},
		{event: hook.PostToolBatch, check: func(t *testing.T, in hook.Input) {
			checkInput(len(in.Calls) == 1 && in.Calls[0].UseID == "c1", t, in)
		}},
		{event: hook.PostToolUseFailure, tools: []tool.Tool{probe{name: "Edit", run: func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Failure("no such file"), nil
		}}}, check: func(t *testing.T, in hook.Input) {
			checkInput(in.Tool.Error == "no such file" && !in.Tool.Interrupted, t, in)
		}},
		{event: hook.PermissionRequest, o: agent.Options{Permissions: agent.Permissions{Config: asks, Ask: answers(approval.Allow)}}, check: func(t *testing.T, in hook.Input) {
			checkInput(in.Tool.Name == "Edit" && in.PermissionMode == "default", t, in)
		}},
		{event: hook.PermissionDenied, o: agent.Options{Permissions: agent.Permissions{Config: asks, Ask: answers(approval.Deny)}}, check: func(t *testing.T, in hook.Input) {
			checkInput(in.Tool.Name == "Edit" && in.Reason != "" && in.Tool.Error == in.Reason, t, in)
		}},
		{event: hook.PermissionDenied, o: agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeDontAsk}}}, check: func(t *testing.T, in hook.Input) {
			checkInput(in.Tool.Name == "Edit" && in.Reason != "" && in.Tool.Error == in.Reason, t, in)
		}},
		{event: hook.Notification, o: agent.Options{Permissions: agent.Permissions{Config: asks, Ask: answers(approval.Allow)}}, check: func(t *testing.T, in hook.Input) {
			checkInput(in.Note.Type == "permission_prompt" && strings.Contains(in.Note.Body, "Edit"), t, in)
		}},
		{event: hook.PreCompact, m: small(), check: func(t *testing.T, in hook.Input) { checkInput(in.Trigger == "auto", t, in) }},
		{event: hook.PostCompact, m: small(), check: func(t *testing.T, in hook.Input) {
			checkInput(in.Trigger == "auto" && strings.Contains(in.Summary, "a short summary"), t, in)
		}},
		{event: hook.PostModelSwitch, m: gone, o: agent.Options{Model: agent.ModelOptions{Fallback: second}}, check: func(t *testing.T, in hook.Input) {
			checkInput(strings.Contains(in.Model, "second") && in.Switch.From != in.Model, t, in)
		}},
		{event: hook.FileChanged, check: func(t *testing.T, in hook.Input) {
			checkInput(in.File.Path == "/p/new.txt" && in.File.Change == "add", t, in)
		}},
	}
	for i := range list {
		if list[i].tools == nil {
			list[i].tools = []tool.Tool{edit}
		}
		if list[i].m == nil {
			list[i].m = calls(t, "Edit", `{"file_path":"/p/a"}`)
		}
	}
	return append(list, laterEventCases(t)...)
}

// laterEventCases returns the events that other packages fire. A tool of the host fires them here.
func laterEventCases(t *testing.T) []eventCase {
	var list []eventCase
	add := func(part string, in hook.Input) {
		list = append(list, eventCase{event: in.Event, later: part, fires: in, m: calls(t, "Edit", `{}`), check: func(t *testing.T, got hook.Input) {
			checkInput(got.WorktreeName == in.WorktreeName && got.Task.ID == in.Task.ID && got.NewCWD == in.NewCWD && got.Question.Server == in.Question.Server && got.AgentType == in.AgentType, t, got)
		}})
	}
	add("sub-agents", hook.Input{Event: hook.SubagentStart, AgentType: "explore"})
	add("sub-agents", hook.Input{Event: hook.SubagentStop, AgentType: "explore"})
	add("tasks", hook.Input{Event: hook.TaskCreated, Task: hook.Task{ID: "1", Subject: "build"}})
	add("tasks", hook.Input{Event: hook.TaskCompleted, Task: hook.Task{ID: "1", Subject: "build"}})
	add("teams", hook.Input{Event: hook.TeammateIdle, Task: hook.Task{Teammate: "bob", Team: "red"}})
	add("worktrees", hook.Input{Event: hook.WorktreeCreate, WorktreeName: "w"})
	add("worktrees", hook.Input{Event: hook.WorktreeRemove, WorktreePath: "/w"})
	add("worktrees", hook.Input{Event: hook.CwdChanged, OldCWD: "/p", NewCWD: "/q"})
	add("servers that ask", hook.Input{Event: hook.Elicitation, Question: hook.MCPQuestion{Server: "db", Message: "which one?", Mode: "form"}})
	add("servers that ask", hook.Input{Event: hook.ElicitationResult, Question: hook.MCPQuestion{Server: "db", Action: "accept"}})
	add("watching settings", hook.Input{Event: hook.ConfigChange, Source: "user_settings"})
	return list
}

// run plays a scene and returns what the hooks saw.
func (s *eventCase) run(t *testing.T) *hookRecorder {
	t.Helper()
	w := newHookRecorder(t)
	if s.says != "" {
		if err := w.HandleFunc(s.event, "", returning(hook.Output{Context: s.says})); err != nil {
			t.Fatal(err)
		}
	}
	sessions := session.New(memory.New(), nil)
	s.o.Hooks.Registry, s.o.Sessions = w.Registry, sessions
	if s.fork {
		a := newAgent(t, play(t, step{text: "before"}), agent.Options{Sessions: sessions})
		prompt(t, a, "first")
		s.o.Session = session.RestoreOptions{SessionID: a.SessionID(), Fork: true}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var a *agent.Agent
	if s.later != "" {
		s.tools = []tool.Tool{probe{name: "Edit", run: func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			_, err := a.Fire(ctx, s.fires)
			return tool.Text("done"), err
		}}}
	}
	s.o.Tools = registry(t, s.tools...)
	a = newAgent(t, s.m, s.o)
	for range max(1, strings.Count(string(s.event), "Compact")*3) {
		if _, err := a.Prompt(t.Context(), cmp.Or(s.text, "go")); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestEveryHookEventFired checks that a run fires each event.
func TestEveryHookEventFired(t *testing.T) {
	have := map[hook.Event]bool{}
	for _, s := range eventCases(t) {
		have[s.event] = true
		t.Run(string(s.event), func(t *testing.T) {
			w := s.run(t)
			got := w.of(s.event)
			if len(got) == 0 {
				t.Fatalf("%s was not fired: %v", s.event, w.order())
			}
			in := got[0]
			s.check(t, in)
			if in.SessionID == "" || in.PermissionMode == "" {
				t.Errorf("no session or mode: %+v", in)
			}
			if s.later != "" {
				t.Logf("the moment comes with %s; the host's tool fires it here", s.later)
			}
		})
	}
	for _, e := range hook.Events() {
		if !have[e] {
			t.Errorf("no run makes %s happen", e)
		}
	}
}

// TestHookTextsReachModel checks every event after which there is a model call.
func TestHookTextsReachModel(t *testing.T) {
	for _, s := range eventCases(t) {
		if s.later != "" || slices.Contains([]hook.Event{hook.SessionEnd, hook.Stop, hook.StopFailure, hook.InstructionsLoaded}, s.event) {
			continue // the caller sends its text, there is no model call after it, or it has no text
		}
		t.Run(string(s.event), func(t *testing.T) {
			s.says = "mind " + string(s.event)
			s.run(t)
			for _, req := range s.m.asked {
				for _, e := range s.m.items(&req) {
					if strings.Contains(string(e.JSON), s.says) {
						return
					}
				}
			}
			if second, ok := s.o.Model.Fallback.(*fake); ok && len(second.asked) > 0 {
				if items := second.items(&second.asked[0]); strings.Contains(items[len(items)-1].Text(), s.says) {
					return
				}
			}
			t.Errorf("no request has the text of the hook: %d requests", len(s.m.asked))
		})
	}
}

// TestHookEventOrder checks a run with one call.
func TestHookEventOrder(t *testing.T) {
	s := eventCase{
		event: hook.Stop, m: calls(t, "Edit", `{}`), tools: []tool.Tool{hasContent("Edit", "x")},
		o: agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeDefault}, Ask: answers(approval.Allow)}},
	}
	want := []hook.Event{
		hook.Setup, hook.SessionStart, hook.UserPromptSubmit, hook.PreToolUse, hook.PermissionRequest, hook.Notification,
		hook.PostToolUse, hook.PostToolBatch, hook.Stop, hook.SessionEnd,
	}
	if got := s.run(t).order(); !slices.Equal(got, want) {
		t.Errorf("fired %v, want %v", got, want)
	}
}
