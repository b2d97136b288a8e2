package hook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
	"pgregory.net/rapid"
)

func TestMatching(t *testing.T) {
	for name, tt := range map[string]struct {
		d    Definition
		in   Input
		want bool
	}{
		"tool name":           {Definition{Event: PreToolUse, Matcher: "Edit"}, Input{Tool: ToolCall{Name: "Edit"}}, true},
		"another tool":        {Definition{Event: PreToolUse, Matcher: "Edit"}, Input{Tool: ToolCall{Name: "NotebookEdit"}}, false},
		"the seed's matcher":  {Definition{Event: "preToolUse", Matcher: "Edit"}, Input{Tool: ToolCall{Name: "NotebookEdit"}}, true},
		"no tool name":        {Definition{Event: PreToolUse, Matcher: "Edit"}, Input{}, false},
		"all":                 {Definition{Event: PreToolUse, Matcher: "*"}, Input{}, true},
		"failed tool":         {Definition{Event: PostToolUseFailure, Matcher: "Bash"}, Input{Tool: ToolCall{Name: "Bash"}}, true},
		"source of start":     {Definition{Event: SessionStart, Matcher: "resume|fork"}, Input{Source: "fork"}, true},
		"another source":      {Definition{Event: SessionStart, Matcher: "resume|fork"}, Input{Source: "startup"}, false},
		"source of config":    {Definition{Event: ConfigChange, Matcher: "user_settings"}, Input{Source: "user_settings"}, true},
		"reason of the end":   {Definition{Event: SessionEnd, Matcher: "other"}, Input{Reason: "other"}, true},
		"trigger of setup":    {Definition{Event: Setup, Matcher: "init"}, Input{Trigger: "init"}, true},
		"trigger of compact":  {Definition{Event: PreCompact, Matcher: "auto"}, Input{Trigger: "manual"}, false},
		"error":               {Definition{Event: StopFailure, Matcher: "rate_limit"}, Input{End: TurnEnd{Error: "rate_limit"}}, true},
		"agent type":          {Definition{Event: SubagentStop, Matcher: "explore"}, Input{AgentType: "explore"}, true},
		"file's last part":    {Definition{Event: FileChanged, Matcher: ".env|go.mod"}, Input{File: File{Path: "/p/go.mod"}}, true},
		"notification type":   {Definition{Event: Notification, Matcher: "idle_prompt"}, Input{Note: UserNotification{Type: "permission_prompt"}}, false},
		"condition":           {Definition{Event: PreToolUse, If: "Bash(git push:*)"}, bash("git push origin"), true},
		"condition fails":     {Definition{Event: PreToolUse, If: "Bash(git push:*)"}, bash("git status"), false},
		"one of several":      {Definition{Event: PreToolUse, If: "Bash(git push:*)"}, bash("ls && git push"), true},
		"matcher and if":      {Definition{Event: PreToolUse, Matcher: "Edit", If: "Bash(git push:*)"}, bash("git push"), false},
		"another event's":     {Definition{Event: PostToolUse}, Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash"}}, false},
		"stop, completed":     {Definition{Event: Stop, Command: "c"}, Input{Reason: "completed"}, true},
		"stop, unsaid":        {Definition{Event: Stop, Command: "c"}, Input{}, true},
		"stop, failed":        {Definition{Event: Stop, Command: "c"}, Input{Reason: "failed"}, false},
		"stop by URL, failed": {Definition{Event: Stop, URL: "http://localhost"}, Input{Reason: "interrupted"}, false},
		"the seed's, failed":  {Definition{Event: "stop", Command: "c"}, Input{Reason: "failed"}, true},
		"function, failed":    {Definition{Event: Stop}, Input{Reason: "failed"}, true},
		"setup, at a start":   {Definition{Event: Setup, Command: "c"}, Input{}, false},
		"setup, asked for":    {Definition{Event: Setup, Command: "c"}, Input{Trigger: "maintenance"}, true},
		"the seed's setup":    {Definition{Event: "setup", Command: "c"}, Input{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.d.Command == "" && tt.d.URL == "" {
				tt.d.Func = returns(&Output{Message: "ran"})
			}
			r := registryOf(t, says, tt.d)
			if tt.in.Event == "" {
				tt.in.Event, _, _ = parseEvent(string(tt.d.Event))
			}
			out := r.Fire(t.Context(), tt.in)
			if got := len(out.Outputs) == 1; got != tt.want {
				t.Errorf("ran %v, want %v: %+v", got, tt.want, out)
			}
			if (out.Ran != nil) != tt.want {
				t.Errorf("log: %+v", out.Ran)
			}
		})
	}
}

func bash(line string) Input {
	raw := fmt.Appendf(nil, `{"command":%q}`, line)
	return Input{Tool: ToolCall{Name: "Bash", Input: raw, Requests: []policy.Request{{
		Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: "/p", Input: raw,
	}}}}
}

func TestFireUnknownEvent(t *testing.T) {
	out := New(nil).Fire(t.Context(), Input{Event: "preTooluse"})
	if len(out.Notices) != 1 || !strings.Contains(out.Notices[0].Text, "unknown event") {
		t.Errorf("got %+v", out)
	}
}

// A rewritten call is not the one that conditions could judge.
func TestConditionAfterRewrite(t *testing.T) {
	r := registryOf(t, says,
		Definition{Event: PreToolUse, Func: returns(&Output{Input: []byte(`{"command":"git push"}`)})},
		Definition{Event: PreToolUse, If: "Bash(git push:*)", Command: "guard"},
	)
	in := bash("git status")
	in.Event = PreToolUse
	out := r.Fire(t.Context(), in)
	if got := texts(&out); !slices.Contains(got, "guard") {
		t.Errorf("the guard did not run: %q", got)
	}
}

func TestSameHooksRunOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b Definition
		want int
	}{
		"command":     {Definition{Command: "c"}, Definition{Command: "c", Timeout: 5, Name: "other", Matcher: "Bash"}, 1},
		"URL":         {Definition{URL: "http://a"}, Definition{URL: "http://a"}, 1},
		"another":     {Definition{Command: "c"}, Definition{Command: "d"}, 2},
		"arguments":   {Definition{Command: "c", Args: []string{"a b"}}, Definition{Command: "c", Args: []string{"a", "b"}}, 2},
		"no shell":    {Definition{Command: "c"}, Definition{Command: "c", Args: []string{}}, 2},
		"dialect":     {Definition{Command: "c"}, Definition{Command: "c", Dialect: dialectSeed}, 2},
		"access":      {Definition{Command: "c"}, Definition{Command: "c", Sandbox: sandboxOff}, 2},
		"access said": {Definition{Command: "c"}, Definition{Command: "c", Sandbox: sandboxRead}, 1},
		"guarding":    {Definition{Command: "c"}, Definition{Command: "c", OnFailure: failBlock}, 2},
		"headers":     {Definition{URL: "http://a"}, Definition{URL: "http://a", Headers: map[string]string{"A": "b"}}, 2},
		"condition":   {Definition{Command: "c", If: "Bash(git push:*)"}, Definition{Command: "c"}, 1},
		"functions":   {Definition{Func: returns(&Output{Message: "x"})}, Definition{Func: returns(&Output{Message: "x"})}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tt.a.Event, tt.b.Event = PreToolUse, PreToolUse
			r := registryOf(t, says, tt.a, tt.b)
			in := bash("ls")
			in.Event = PreToolUse
			for range 2 {
				if out := r.Fire(t.Context(), in); len(out.Outputs) != tt.want {
					t.Errorf("ran %d, want %d", len(out.Outputs), tt.want)
				}
			}
		})
	}
}

// What hooks can rewrite is seen by those after them, and by nobody at once.
func TestFold(t *testing.T) {
	for _, tt := range []struct {
		event Event
		set   func(string) *Output
		get   func(*Input) string
		end   func(*Outcome) string
	}{
		{
			PreToolUse, func(s string) *Output { return &Output{Message: s, Input: []byte(s)} },
			func(in *Input) string { return string(in.Tool.Input) }, func(o *Outcome) string { return string(o.Input) },
		},
		{
			PermissionRequest, func(s string) *Output { return &Output{Message: s, Input: []byte(s), Permission: "allow"} },
			func(in *Input) string { return string(in.Tool.Input) }, func(o *Outcome) string { return string(o.Input) },
		},
		{
			PostToolUse, func(s string) *Output { return &Output{Message: s, ToolOutput: []byte(s)} },
			func(in *Input) string { return in.Tool.Output + "" }, func(o *Outcome) string { return string(o.ToolOutput) },
		},
	} {
		t.Run(string(tt.event), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { checkFold(t, rt, tt.event, tt.set, tt.get, tt.end) })
		})
	}
}

func checkFold(t *testing.T, rt *rapid.T, event Event, set func(string) *Output, get func(*Input) string, end func(*Outcome) string) {
	kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"function", "command", "quiet function", "quiet command", "fails"}), 1, 12).Draw(rt, "kinds")
	var mu sync.Mutex
	var saw, want, said []string
	at, last := `{"n":-1}`, 0
	answer := func(name string, in *Input) (*Output, error) {
		mu.Lock()
		defer mu.Unlock()
		saw = append(saw, name+" "+get(in))
		switch {
		case strings.Contains(name, "quiet"):
			return nil, nil
		case strings.Contains(name, "fails"):
			return set(`{"n":"of a failure"}`), fmt.Errorf("no")
		}
		return set(fmt.Sprintf(`{"n":%q}`, name)), nil
	}
	r := New(&Options{Runner: runFunc(func(_ context.Context, d *Definition, in *Input) (RunResult, error) {
		out, err := answer(d.Command, in)
		return RunResult{Output: out}, err
	})})
	for i, kind := range kinds {
		name := fmt.Sprintf("%d %s", i, kind)
		d := Definition{Event: event, OnFailure: failContinue}
		if strings.Contains(kind, "command") {
			d.Command = name
		} else {
			d.Func = func(_ context.Context, in Input) (*Output, error) { return answer(name, &in) }
		}
		if err := r.Register(d); err != nil {
			rt.Fatal(err)
		}
		want = append(want, name+" "+at)
		if kind == "function" || kind == "command" {
			at = fmt.Sprintf(`{"n":%q}`, name)
			said = append(said, at)
			last = i
		}
	}
	if event != PostToolUse { // those before the last that changed the input are asked about that
		for i, kind := range kinds[:last] {
			want = append(want, fmt.Sprintf("%d %s %s", i, kind, at))
			if kind == "function" || kind == "command" {
				said = append(said, fmt.Sprintf(`{"n":"%d %s"}`, i, kind))
			}
		}
	}
	out := r.Fire(t.Context(), Input{Event: event, Tool: ToolCall{Name: "Bash", Input: []byte(`{"n":-1}`), Output: `{"n":-1}`}})
	if !slices.Equal(saw, want) {
		rt.Errorf("hooks saw %q, want %q", saw, want)
	}
	if got := end(&out); len(said) > 0 && got != at {
		rt.Errorf("in the end %s, want %s", got, at)
	}
	if !slices.Equal(texts(&out), append([]string{}, said...)) {
		rt.Errorf("outputs %q, want %q", texts(&out), said)
	}
	if out.Ran.Silent+len(out.Ran.Hooks) != len(want) {
		rt.Errorf("log: %+v of %d", out.Ran, len(kinds))
	}
}

func TestSideBySide(t *testing.T) {
	const n = 5
	var all sync.WaitGroup
	all.Add(n)
	meet := func(context.Context, *Definition, *Input) (RunResult, error) {
		all.Done()
		all.Wait() // for all the others
		return RunResult{Output: &Output{Message: "met"}}, nil
	}
	r := registryOf(t, meet)
	for i := range n {
		if err := r.Register(Definition{Event: UserPromptSubmit, Command: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if out := r.Fire(t.Context(), Input{Event: UserPromptSubmit}); len(out.Outputs) != n {
		t.Errorf("got %+v", out)
	}
}

// A hook may use the registry that it is called by.
func TestFireWithinFire(t *testing.T) {
	r := registryOf(t, says, Definition{Event: Notification, Func: returns(&Output{Message: "inner"})})
	err := r.HandleFunc(Stop, "", func(ctx context.Context, _ Input) (*Output, error) {
		inner := r.Fire(ctx, Input{Event: Notification})
		return inner.Outputs[0], r.HandleFunc(Stop, "", quiet)
	})
	if err != nil {
		t.Fatal(err)
	}
	out := r.Fire(t.Context(), Input{Event: Stop})
	if got := texts(&out); len(got) != 1 || got[0] != "inner" || len(r.Hooks()) != 3 {
		t.Errorf("got %q of %d hooks", got, len(r.Hooks()))
	}
}
