package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/aimock"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendoragent"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// TestClaudeCode runs the real agents, from npm, in a Debian container that reaches only a test model server.
func TestClaudeCode(t *testing.T) {
	model := exposeToContainers(t, aimock.Start(t, "testdata/claude-model.json"))
	twoTurns(t, Settings{
		Image: testimage.Debian(t, "claude"), Agent: AgentSpec{Kind: KindClaude}, Model: "claude-sonnet-4-5",
		Network: Network{Mode: NetworkProxy, Domains: []string{model}}, Credentials: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
	}, []string{"ANTHROPIC_API_KEY=made-up" + "-key", "ANTHROPIC_BASE_URL=http://" + model}, ".claude/projects/-work/*.jsonl")
}

func TestCodex(t *testing.T) {
	model := exposeToContainers(t, aimock.Start(t, "testdata/codex-model.json"))
	twoTurns(t, Settings{
		Image: testimage.Debian(t, "codex"), Agent: AgentSpec{Kind: KindCodex}, Model: "gpt-5",
		Network: Network{Mode: NetworkProxy, Domains: []string{model}}, Credentials: []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"},
	}, []string{"OPENAI_API_KEY=sk-" + "made-up-key", "OPENAI_BASE_URL=http://" + model + "/v1"}, ".codex/sessions/*/*/*/rollout-*.jsonl")
}

// TestClaudeCodeOverACP runs Claude Code with the adapter that editors use, over ACP.
func TestClaudeCodeOverACP(t *testing.T) {
	script := os.Getenv("HOLDFAST_TEST_ACP")
	if script == "" {
		testneed.Heavy(t, `there is no agent that speaks ACP; to run this test: eval "$(scripts/services env acp)"`)
	}
	packages, _, ok := strings.Cut(script, "/node_modules/")
	if !ok {
		t.Fatalf("%s is in no folder of packages", script)
	}
	model := exposeToContainers(t, aimock.Start(t, "testdata/claude-model.json"))
	twoTurns(t, Settings{
		Image: testimage.Debian(t), Agent: AgentSpec{Kind: KindACP, Command: []string{"/opt/node/node", "/opt/acp" + strings.TrimPrefix(script, packages)}},
		Mounts:  []Mount{{Host: nodeFolder(t), Target: "/opt/node", ReadOnly: true}, {Host: packages, Target: "/opt/acp", ReadOnly: true}},
		Network: Network{Mode: NetworkProxy, Domains: []string{model}}, Credentials: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
	}, []string{"ANTHROPIC_API_KEY=made-up" + "-key", "ANTHROPIC_BASE_URL=http://" + model}, ".claude/projects/-work/*.jsonl")
}

// nodeFolder returns a folder that contains only this machine's node.
func nodeFolder(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		testneed.Need(t, `node is missing; to run this test: eval "$(scripts/services env acp)"`)
	}
	b, err := os.ReadFile(node)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "node"), b, 0o755), os.Chmod(dir, 0o755)); err != nil { //nolint:gosec // the container's user runs it
		t.Fatal(err)
	}
	return dir
}

// twoTurns has an agent run a command that the user allows, and then resume. kept is the agent's folder below
// its home. No file of the home contains a secret.
func twoTurns(t *testing.T, set Settings, environ []string, kept string) {
	t.Helper()
	secrets := []string{"another-made-up-secret"}
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); strings.HasSuffix(name, "KEY") {
			secrets = append(secrets, value)
		}
	}
	environ = append(environ, "OTHER_SECRET="+secrets[0])
	set.Credentials = append(set.Credentials, "OTHER_SECRET")
	w, sessions := newWorkspaces(t, testimage.Engine(t), t.TempDir()), session.New(memory.New(), nil)
	set.Slug = "real"
	made, err := w.Create(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	var asked []approval.Request
	o := AgentOptions{Environ: environ}
	o.Options = agent.Options{Sessions: sessions, Session: session.RestoreOptions{SessionID: "one"}, Permissions: agent.Permissions{Ask: func(_ context.Context, q approval.Request) (approval.Answer, error) {
		asked = append(asked, q)
		return approval.Answer{Decision: approval.Allow, Actor: "ann"}, nil
	}}}
	a, err := w.Agent(t.Context(), "real", o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if r := runTurn(t, a, "please write"); r.Reason != event.ReasonCompleted || r.Text != "The file is written." {
		t.Fatalf("%+v", r)
	}
	project := w.dirs(made).Project
	if len(asked) != 1 || asked[0].Tool != "Bash" || asked[0].Requests[0].Resource != "touch "+project+"/made-inside" {
		t.Errorf("asked %+v", asked)
	}
	if _, err := os.Stat(filepath.Join(project, "made-inside")); err != nil {
		t.Error(err)
	}
	if r := runTurn(t, a, "second turn"); r.Reason != event.ReasonCompleted || r.Text != "Second answer." {
		t.Fatalf("%+v", r)
	}
	ids := map[string]bool{}
	for r, err := range sessions.Records(t.Context(), "one", session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch r.Kind {
		case record.KindVendorMapped:
			m := vendoragent.Mapping{}
			if err := json.Unmarshal(r.Payload, &m); err != nil || m.Generation != 1 {
				t.Errorf("%s, %v", r.Payload, err)
			}
			ids[m.Session] = true
		case record.KindWorkspaceEvent:
			t.Errorf("%s", r.Payload)
		}
	}
	if err := a.Close(); err != nil { // and the agent's process has ended
		t.Error(err)
	}
	home := w.dirs(made).Home
	files, err := filepath.Glob(filepath.Join(home, kept))
	if err != nil || len(files) != 1 || !slices.ContainsFunc(slices.Collect(maps.Keys(ids)), func(id string) bool { return strings.Contains(files[0], id) }) {
		t.Errorf("mapped to %v, files %q, %v", ids, files, err)
	}
	if err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, secret := range secrets {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s is in %s", secret, path)
			}
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// exposeToContainers makes a server on this machine's loopback address reachable for the containers' proxy, and returns
// host and port.
func exposeToContainers(t *testing.T, url string) string {
	t.Helper()
	host := hostAddress(t)
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

// hostAddress returns an address of this machine that is not a loopback address.
func hostAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but its loopback's, and names of that are not for proxies")
	return ""
}
