package workspace

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// builtinContainer is the built-in agent in a container.
type builtinContainer struct {
	t        *testing.T
	w        *Workspaces
	sessions *session.Sessions
	a        *Agent
}

func newBuiltinContainer(t *testing.T, image, play string, mode string, ask func(context.Context, approval.Request) (approval.Answer, error)) *builtinContainer {
	t.Helper()
	c := &builtinContainer{t: t, w: newWorkspaces(t, testimage.Engine(t), t.TempDir()), sessions: session.New(memory.New(), nil)}
	s := createSmall(t, c.w, "own", image)
	if s.Agent.Kind != KindHoldfast {
		t.Fatalf("the workspace's agent is %+v", s.Agent)
	}
	m, err := scripted.New([]byte(play), nil)
	if err != nil {
		t.Fatal(err)
	}
	o := AgentOptions{Model: m, Inside: hostpipe.Spec{Run: runspec.Spec{Permissions: runspec.Permissions{Mode: mode}}}}
	o.Options.Sessions, o.Options.Session.SessionID, o.Options.Permissions.Ask = c.sessions, "s", ask
	if c.a, err = c.w.Agent(t.Context(), "own", o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.a.Close() })
	return c
}

func (c *builtinContainer) turn(text string, look func(event.Event)) *event.Result {
	c.t.Helper()
	for e, err := range c.a.Run(c.t.Context(), transcript.Text{Text: text}) {
		if err != nil {
			c.t.Fatalf("%v (hint: %s)", err, hint(err))
		}
		if look != nil {
			look(e)
		}
		if r, ok := e.(event.Result); ok {
			return &r
		}
	}
	c.t.Fatal("there is no result")
	return nil
}

// The built-in agent works on the project in the container: it asks for approval, its log is on the host, and
// the next turn works after the container was killed during a tool call.
func TestBuiltinInContainer(t *testing.T) {
	c := newBuiltinContainer(t, testimage.Scratch(t), `
steps:
  - tool_uses: [{tool: Write, input: {file_path: /work/made.txt, content: "made inside"}}]
  - text: "{{last_result}}"
  - tool_uses: [{tool: Read, input: {file_path: made.txt}}]
  - text: "It says {{last_result}}"
  - tool_uses: [{tool: Bash, input: {command: ls}}]
  - text: "{{last_result}}"
`, "default", func(_ context.Context, q approval.Request) (approval.Answer, error) {
		if q.Tool != "Write" || len(q.Requests) == 0 || q.Requests[0].Resource != "/work/made.txt" {
			t.Errorf("asked about %+v", q)
		}
		return approval.Answer{Decision: approval.Allow, Actor: "ada"}, nil
	})
	if res := c.turn("write it", nil); res.Reason != event.ReasonCompleted || len(res.Denials) > 0 {
		t.Fatalf("the result is %+v", res)
	}
	if err := c.w.Stop(t.Context(), "own"); err != nil {
		t.Fatal(err)
	}
	if res := c.turn("read it", nil); !strings.Contains(res.Text, "made inside") {
		t.Errorf("after the container was stopped: %+v", res)
	}
	if res := c.turn("list", nil); !strings.Contains(strings.ToLower(res.Text), "bash") || res.Reason != event.ReasonCompleted {
		t.Errorf("in an image without a shell: %+v", res)
	}
	c.checkLog()
}

func (c *builtinContainer) checkLog() {
	c.t.Helper()
	if r, err := c.sessions.Verify(c.t.Context(), "s"); err != nil || !r.OK() {
		c.t.Errorf("%+v %v", r, err)
	}
}

// Commands are also confined in the container. If it is killed during a command, the outcome is unknown, and
// the next turn gets that information.
func TestBuiltinCommandsInContainer(t *testing.T) {
	c := newBuiltinContainer(t, testimage.Debian(t), `
steps:
  - tool_uses: [{tool: Bash, input: {command: "id -u; echo in > /work/in.txt; echo out > /home/agent/out.txt; cat /work/in.txt; ls /run/holdfast"}}]
  - text: "{{last_result}}"
  - tool_uses: [{tool: Bash, input: {command: "echo on; exec sleep 300"}}]
  - expect: {result: unknown}
    text: I know that I do not know.
`, "bypassPermissions", nil)
	res := c.turn("look", nil)
	if res.Reason != event.ReasonCompleted || !strings.Contains(res.Text, "out.txt: Permission denied\nin\n") || strings.HasPrefix(res.Text, "0\n") {
		t.Errorf("the result is %+v", res)
	}
	res = c.turn("sleep", func(e event.Event) {
		if _, ok := e.(event.ToolStarted); ok {
			sweepContainers(t, c.w, testimage.Engine(t))
		}
	})
	if res.Reason != event.ReasonFailed || res.Err == nil {
		t.Errorf("the result is %+v", res)
	}
	var last *event.Result
	for e, err := range c.a.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := e.(event.Result); ok {
			last = &r
		}
	}
	if last == nil || last.Text != "I know that I do not know." {
		t.Errorf("the next result is %+v", last)
	}
	c.checkLog()
}
