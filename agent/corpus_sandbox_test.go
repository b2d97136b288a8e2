package agent_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestCorpusAutoAllow(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "auto_allow_bash"),
		map[string]func(*testing.T, corpus.Case){"auto_allow_bash": autoAllowCase},
		nil)
}

// confined returns options of an agent whose Bash runs in a real sandbox, as in a run. Nil settings mean
// no sandbox.
func confined(t testing.TB, s *sandbox.Settings) agent.Options {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeDefault, Folders: []string{dir}}}}
	with := &shell.Options{}
	if s != nil {
		checker, err := sandbox.NewChecker(s, &sandbox.Options{Home: "/home/me", Trusted: true})
		if err != nil {
			t.Fatal(err)
		}
		with.Sandbox, err = sandbox.Open([]*sandbox.Checker{checker}, &sandbox.OpenOptions{Folders: []string{dir}, Ask: shell.AskHost})
		if err != nil {
			testneed.Need(t, "the kernel sandbox cannot be opened here, holdfast doctor says why: %v", err)
		}
		t.Cleanup(func() { _ = with.Sandbox.Close() })
		o.Permissions.Config.Limits = []policy.NamedPolicy{{Name: "sandbox settings", Policy: checker}}
		o.Permissions.Config.AutoAllowConfined = with.Sandbox.AutoAllow()
		o.Permissions.Sandbox, o.Permissions.Profile = with.Sandbox.Status(), with.Sandbox.Digest()
	}
	folders, err := workdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folders.Close() })
	sh, err := shell.New(folders, with)
	if err != nil {
		t.Fatal(err)
	}
	o.Tools = registry(t, sh.Tools()...)
	return o
}

func bashCalls(lines ...string) step {
	var s step
	for i, l := range lines {
		in, _ := json.Marshal(map[string]string{"command": l})
		s.uses = append(s.uses, use("c"+string(rune('1'+i)), "Bash", string(in)))
	}
	return s
}

func autoAllowCase(t *testing.T, c corpus.Case) {
	var given struct {
		Sandbox        json.RawMessage
		PermissionMode policy.Mode
		CanUseTool     policy.Effect
		Hooks          map[string]string
	}
	var in struct{ Tool, Command string }
	var want string
	c.Decode(t, c.Settings(), &given)
	c.Decode(t, c.Input(), &in)
	c.Decode(t, c.Expect(), &want)
	var s *sandbox.Settings
	if len(given.Sandbox) > 0 && string(given.Sandbox) != "null" {
		s = &sandbox.Settings{}
		if err := s.Decode(given.Sandbox); err != nil {
			t.Fatal(err)
		}
	}
	o := confined(t, s)
	if given.PermissionMode != "" {
		o.Permissions.Config.Mode = given.PermissionMode
	}
	if o.Permissions.Config.Mode == policy.ModePlan {
		// Harmless commands run in plan mode (docs/reference/permissions.md). The case is about
		// commands that the mode blocks.
		in.Command += " > made"
	}
	called := 0
	if given.CanUseTool != "" {
		o.Permissions.Config.CanUseTool = func(context.Context, policy.Request) (policy.Verdict, error) {
			called++
			return policy.Verdict{Effect: given.CanUseTool}, nil
		}
	}
	for name, word := range given.Hooks {
		event, err := hook.Event(name).Canonical()
		if err != nil {
			t.Fatal(err)
		}
		o.Hooks.Registry = registryWith(t, event, returning(hook.Output{Block: word == "block"}))
	}
	if in.Command == "" {
		in.Command = "echo hi"
	}
	if in.Tool != "Bash" {
		t.Fatalf("unknown case: %s", c.Input())
	}
	a := newAgent(t, play(t, bashCalls(in.Command), step{text: "ok"}), o)
	prompt(t, a, "go")
	got := results(t, a)["c1"]
	if ran := !got.IsError; ran != (want == "run") {
		t.Errorf("got %q, want %s", got.Text(), want)
	}
	if skips := s != nil && s.AutoAllowBashIfSandboxed != nil && *s.AutoAllowBashIfSandboxed; skips && called > 0 {
		t.Errorf("the callback was asked %d times", called)
	}
}

// With a real sandbox, confined calls run without approval, the model gets the refusals, and the
// decision names the sandbox.
func TestSandboxedCalls(t *testing.T) {
	o := confined(t, &sandbox.Settings{AutoAllowBashIfSandboxed: new(true)})
	s := sessions(t)
	o.Sessions, o.Session.SessionID = s, "one"
	a := newAgent(t, play(t, bashCalls("echo x > inside; cat inside", "echo x > /var/holdfast-agent-test"), step{text: "ok"}), o)
	prompt(t, a, "go")
	reported := results(t, a)
	if got := reported["c1"].Text(); got != "x\n" {
		t.Errorf("inside: %q", got)
	}
	if got := reported["c2"].Text(); !strings.Contains(got, "sandbox: ") || !strings.Contains(got, "/var/holdfast-agent-test") {
		t.Errorf("outside: %q", got)
	}
	if _, err := os.Stat("/var/holdfast-agent-test"); err == nil {
		t.Error("it was written")
	}
	var d policy.Decision
	if err := json.Unmarshal([]byte(payloads(t, s, "one", "decision")[0]), &d); err != nil {
		t.Fatal(err)
	}
	if d.By != "sandbox" || d.Profile != o.Permissions.Profile || d.Profile == "" || d.Sandbox != o.Permissions.Sandbox {
		t.Errorf("decided %+v", d)
	}
}

// Plan mode asks even with autoAllow.
func TestSandboxPlanModeAsks(t *testing.T) {
	o := confined(t, &sandbox.Settings{AutoAllowBashIfSandboxed: new(true)})
	o.Permissions.Config.Mode = policy.ModePlan
	person := &fixedAnswer{answer: approval.Answer{Decision: approval.Deny}}
	o.Permissions.Ask = person.ask
	prompt(t, newAgent(t, play(t, bashCalls("touch x"), step{text: "ok"}), o), "go")
	if len(person.asked) != 1 || !person.asked[0].Requests[0].Confined {
		t.Errorf("asked %+v", person.asked)
	}
}

// A call outside the sandbox needs approval even in the weakest mode, and a call approved for the sandbox
// does not run without it.
func TestRequestOutsideSandbox(t *testing.T) {
	o := confined(t, &sandbox.Settings{AllowUnsandboxedCommands: new(true)})
	o.Permissions.Config.Mode = policy.ModeBypass
	person := &fixedAnswer{answer: approval.Answer{Decision: approval.AllowSession}}
	o.Permissions.Ask = person.ask
	first := step{uses: []transcript.ToolUse{use("c1", "Bash", `{"command":"echo $HOLDFAST_SANDBOX.","dangerouslyDisableSandbox":true}`)}}
	a := newAgent(t, play(t, first, step{text: "ok"}), o)
	prompt(t, a, "go")
	if got := results(t, a)["c1"]; len(person.asked) != 1 || !strings.Contains(got.Text(), "only once") || person.asked[0].Sandbox != "none" || len(person.asked[0].Scopes) > 0 {
		t.Errorf("asked %+v, got %q", person.asked, got.Text())
	}
	person.answer.Decision = approval.Allow
	a = newAgent(t, play(t, first, step{text: "ok"}), o)
	prompt(t, a, "go")
	if got := results(t, a)["c1"].Text(); len(person.asked) != 2 || got != ".\n" {
		t.Errorf("asked %d times, got %q", len(person.asked), got)
	}
}

// A command that was approved for the sandbox does not run in a process without a sandbox.
func TestSandboxAllowNotValidOutside(t *testing.T) {
	o := confined(t, &sandbox.Settings{})
	l := leave(t, o, bashCalls("touch ran"))
	l.answer(t, approval.Answer{Decision: approval.Allow, Actor: "ann"})
	bare := confined(t, nil)
	bare.Permissions.Config.Folders = o.Permissions.Config.Folders
	a := l.resume(t, play(t, step{text: "ok"}), bare)
	continueRun(t, a)
	if got := results(t, a)["c1"].Text(); !strings.Contains(got, "changed after it was approved") {
		t.Errorf("got %q", got)
	}
}

// A hook of the parent also blocks calls of a sub-agent.
func TestCorpusSubagents(t *testing.T) {
	cases := slices.DeleteFunc(corpus.Area(t, "open-agent-sdk.json", "sandbox_bypass"), func(c corpus.Case) bool { return c.Group != "sub-agents" })
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){"sandbox_bypass": childCase}, nil)
}

func childCase(t *testing.T, c corpus.Case) {
	var given struct {
		Hooks map[string]string
	}
	var in struct {
		Calls string `json:"child_calls"`
	}
	var want string
	c.Decode(t, c.Settings(), &given)
	c.Decode(t, c.Input(), &in)
	c.Decode(t, c.Expect(), &want)
	called := command(in.Calls)
	o := agent.Options{Tools: registry(t, called)}
	for name, does := range given.Hooks {
		event, err := hook.Event(name).Canonical()
		if err != nil {
			t.Fatal(err)
		}
		verb, blocked, _ := strings.Cut(does, " ")
		if verb != "block" {
			t.Fatalf("unknown hook behavior %s", verb)
		}
		hooks := hook.New(nil)
		if err := hooks.HandleFunc(event, blocked, returning(hook.Output{Block: true})); err != nil {
			t.Fatal(err)
		}
		o.Hooks.Registry = hooks
	}
	h := newSubagentEnv(t, o, []step{{uses: []transcript.ToolUse{delegate("d", "kid", "do it", "")}}, {text: "done"}}, map[string]*fake{
		"kid": play(t, step{uses: []transcript.ToolUse{use("k", in.Calls, push)}}, step{text: "tried"}),
	}, kind("kid"))
	prompt(t, h.parent, "go")
	if ran := len(called.inputs) > 0; ran != (want == "allow") {
		t.Errorf("ran %v, want %s", called.inputs, want)
	}
}
