package workspace

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/aimock"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/workspace/internal/testimage"
)

// Claude Code itself, of npm, in a Debian container that reaches nothing but a model
// server of tests: a turn in which a person allows a command, and one that resumes.
func TestClaudeCode(t *testing.T) {
	model := reachable(t, aimock.Start(t, "testdata/claude-model.json"))
	image := testimage.Debian(t, "claude")
	w, sessions := spaces(t, testimage.Engine(t), t.TempDir()), session.New(memory.New(), nil)
	set, err := w.Create(t.Context(), Settings{
		Slug: "real", Image: image, Agent: AgentSpec{Kind: KindClaude}, Model: "claude-sonnet-4-5",
		Network: Network{Mode: NetworkProxy, Domains: []string{model}}, Credentials: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var asked []approval.Question
	o := AgentOptions{Environ: []string{"ANTHROPIC_API_KEY=made-up" + "-key", "ANTHROPIC_BASE_URL=http://" + model}}
	o.Options = agent.Options{Sessions: sessions, Session: session.RestoreOptions{SessionID: "one"}, Ask: func(_ context.Context, q approval.Question) (approval.Answer, error) {
		asked = append(asked, q)
		return approval.Answer{Decision: approval.Allow, By: "ann"}, nil
	}}
	a, err := w.Agent(t.Context(), "real", o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if r := turnOf(t, a, "please write"); r.Reason != agent.ReasonCompleted || r.Text != "The file is written." {
		t.Fatalf("%+v", r)
	}
	project := w.dirs(set).Project
	if len(asked) != 1 || asked[0].Tool != "Bash" || asked[0].Requests[0].Resource != "touch "+project+"/made-by-claude" {
		t.Errorf("asked %+v", asked)
	}
	if _, err := os.Stat(filepath.Join(project, "made-by-claude")); err != nil {
		t.Error(err)
	}
	if r := turnOf(t, a, "second turn"); r.Reason != agent.ReasonCompleted || r.Text != "Second answer." {
		t.Fatalf("%+v", r)
	}
	maps := 0
	for r, err := range sessions.Records(t.Context(), "one", session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch r.Kind {
		case session.KindVendorMapped:
			maps++
		case session.KindWorkspaceEvent:
			t.Errorf("%s", r.Payload)
		}
	}
	files, err := filepath.Glob(filepath.Join(w.dirs(set).Home, ".claude/projects/-work/*.jsonl"))
	if err != nil || len(files) != 1 || maps != 1 {
		t.Errorf("%d mappings, files %q, %v", maps, files, err)
	}
}

// reachable makes a server of this machine's loopback one of its address, which the
// proxy of containers reaches, and returns host and port.
func reachable(t *testing.T, url string) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	host := ""
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && host == "" {
			host = n.IP.String()
		}
	}
	if host == "" {
		t.Skip("this machine has no address but its loopback's, and names of that are not for proxies")
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go relay(c, strings.TrimPrefix(url, "http://"))
		}
	}()
	return l.Addr().String()
}

func relay(c net.Conn, to string) {
	defer c.Close()
	s, err := new(net.Dialer).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer s.Close()
	go func() { _, _ = io.Copy(s, c); _ = s.Close() }()
	_, _ = io.Copy(c, s)
}
