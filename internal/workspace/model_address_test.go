package workspace

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace/claude/claudetest"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// An address that no container can reach is rejected before anything starts, with the address and a hint.
func TestUnreachableModelRejected(t *testing.T) {
	proxy := Network{Mode: NetworkProxy, Domains: []string{"model.example.com"}}
	for name, c := range map[string]struct {
		agent   AgentSpec
		network Network
		env     []string
		text    string // "": accepted
	}{
		"localhost":           {AgentSpec{Kind: KindClaude}, proxy, []string{"ANTHROPIC_BASE_URL=http://localhost:8080"}, "ANTHROPIC_BASE_URL, which is http://localhost:8080, refers to the container itself"},
		"a loopback address":  {AgentSpec{Kind: KindClaude}, proxy, []string{"ANTHROPIC_BASE_URL=http://127.0.0.2:8080/v1"}, "refers to the container itself"},
		"that of IPv6":        {AgentSpec{Kind: KindCodex}, proxy, []string{"OPENAI_BASE_URL=http://[::1]:8080"}, "refers to the container itself"},
		"odd spelling":        {AgentSpec{Kind: KindCodex}, proxy, []string{"OPENAI_BASE_URL=http://127.1:8080"}, "refers to the container itself"},
		"no address":          {AgentSpec{Kind: KindCodex}, proxy, []string{"OPENAI_BASE_URL=0.0.0.0:80"}, "OPENAI_BASE_URL is not a valid model address"},
		"any address":         {AgentSpec{Kind: KindACP, Command: []string{"x"}}, proxy, []string{"SOME_BASE_URL=http://0.0.0.0:80"}, "refers to the container itself"},
		"no network":          {AgentSpec{Kind: KindClaude}, Network{}, []string{"ANTHROPIC_BASE_URL=https://model.example.com"}, "has no network"},
		"the vendor's":        {AgentSpec{Kind: KindClaude}, Network{}, []string{"ANTHROPIC_API_KEY=made-up"}, "https://api.anthropic.com cannot be reached"},
		"another way there":   {AgentSpec{Kind: KindClaude}, Network{}, []string{"OTHER_KEY=made-up"}, ""},
		"a custom program":    {AgentSpec{Kind: KindClaude, Command: []string{"mine"}}, Network{}, []string{"ANTHROPIC_API_KEY=made-up"}, ""},
		"let out":             {AgentSpec{Kind: KindClaude}, proxy, []string{"ANTHROPIC_BASE_URL=https://model.example.com"}, ""},
		"looked at when used": {AgentSpec{Kind: KindClaude}, proxy, []string{"ANTHROPIC_BASE_URL=https://other.example.com"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := New(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			set := Settings{Slug: "blog", Agent: c.agent, Network: c.network}
			for _, v := range c.env {
				n, _, _ := strings.Cut(v, "=")
				set.Credentials = append(set.Credentials, n)
			}
			if _, err := w.Create(t.Context(), set); err != nil {
				t.Fatal(err)
			}
			o := AgentOptions{Environ: c.env}
			o.Options = agent.Options{Sessions: session.New(memory.New(), nil)}
			a, err := w.Agent(t.Context(), "blog", o)
			if c.text == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := a.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.text) || outcome.Hint(err) == "" {
				t.Errorf("%v, hint %q", err, outcome.Hint(err))
			}
		})
	}
}

// The workspace's rules and the server itself are checked before the agent starts.
func TestReachableModel(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	there := l.Addr().String()
	gone, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := gone.Addr().String()
	_ = gone.Close()
	set := &Settings{Slug: "blog", Network: Network{Mode: NetworkProxy, Domains: []string{there, away}}}
	for url, text := range map[string]string{
		"http://" + there:           "",
		"http://" + away:            "does not answer",
		"https://other.example.com": "is not allowed",
	} {
		a, err := parseModelAddress(url)
		if err != nil {
			t.Fatal(err)
		}
		switch err := a.checkReachable(t.Context(), set); {
		case text == "" && err != nil, text != "" && (!errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), text)):
			t.Errorf("%s: %v", url, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a, _ := parseModelAddress("http://" + there); a.checkReachable(ctx, set) == nil {
		t.Error("it went on after its end")
	}
}

// In a real container: while the server is down, the turn fails at once and names its address; when it is up,
// the agent works.
func TestModelServerDown(t *testing.T) {
	e := testimage.Engine(t)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(hostAddress(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	model := l.Addr().String()
	_ = l.Close()
	image := agentImage(t, e)
	w := newWorkspaces(t, e, t.TempDir())
	if _, err := w.Create(t.Context(), Settings{
		Slug: "away", Image: image, Agent: AgentSpec{Kind: KindClaude}, Network: Network{Mode: NetworkProxy, Domains: []string{model}},
		Credentials: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"}, Limits: Limits{Memory: 256 << 20, PIDs: 256},
	}); err != nil {
		t.Fatal(err)
	}
	o := AgentOptions{Environ: []string{"ANTHROPIC_API_KEY=made-up" + "-key", "ANTHROPIC_BASE_URL=http://" + model, claudetest.Variable}}
	o.Options = agent.Options{Sessions: session.New(memory.New(), nil)}
	a, err := w.Agent(t.Context(), "away", o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r := runTurn(t, a, "hello")
	if !errors.Is(r.Err, ErrUnreachable) || !strings.Contains(r.Err.Error(), model) || outcome.Hint(r.Err) == "" {
		t.Errorf("%+v", r)
	}
	if l, err = new(net.ListenConfig).Listen(t.Context(), "tcp", model); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if r := runTurn(t, a, "hello again"); r.Reason != event.ReasonCompleted {
		t.Errorf("%+v", r)
	}
}
