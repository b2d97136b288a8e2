package cli

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// servedProject is a project with sessions, served over HTTP from a terminal.
type servedProject struct {
	t        *testing.T
	dir      string
	env      []string
	terminal *terminal
	client   *mcp.ClientSession
}

func (s *servedProject) run(args ...string) string {
	s.t.Helper()
	p, out, errs := newProgram(s.dir, s.env, args...)
	if code := Run(s.t.Context(), p); code != 0 {
		s.t.Fatalf("holdfast %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out.String()
}

// serveProject starts mcp serve --http in a terminal, and connects a client with a token.
func serveProject(t *testing.T, before func(s *servedProject), flags ...string) *servedProject {
	t.Helper()
	dir, env := scriptedFolder(t, "steps:\n  - tool_uses: [{id: u1, tool: Bash, input: {command: \"echo seen\"}}]\n  - text: \"the answer is forty-two\"\n")
	s := &servedProject{t: t, dir: dir, env: env}
	before(s)
	s.terminal = startTerminalProcess(t, env, dir, append([]string{"mcp", "serve", "--http", "127.0.0.1:0"}, flags...)...)
	s.terminal.expect(`serving MCP at http://\S+\r?\n`)
	url := regexp.MustCompile(`http://\S+`).FindString(s.terminal.screen())
	s.terminal.expect(`hint: clients need a token: holdfast daemon token create --scope run NAME`)
	res, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", res.Status)
	}
	token := strings.Fields(s.run("daemon", "token", "create", "--scope", "run", "tester"))[0]
	c := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	s.client, err = c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
	if err != nil {
		t.Fatalf("%v; token %q\n%s", err, token, s.terminal.screen())
	}
	t.Cleanup(func() { _ = s.client.Close() })
	return s
}

// end interrupts the server.
func (s *servedProject) end() {
	s.t.Helper()
	s.terminal.press("\x03")
	if code := s.terminal.exit(); code != 0 && code != 130 {
		s.t.Errorf("exit code %d\n%s", code, s.terminal.screen())
	}
}

// call calls a tool and returns its text.
func (s *servedProject) call(tool string, args map[string]any) (text string, failed bool) {
	s.t.Helper()
	res, err := s.client.CallTool(context.WithoutCancel(s.t.Context()), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		s.t.Fatalf("%s: %v", tool, err)
	}
	var b strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			b.WriteString(c.Text)
		}
	}
	return b.String(), res.IsError
}

// Another agent reads the sessions of its project, page by page, and only those.
func TestServedSessions(t *testing.T) {
	elsewhere := t.TempDir()
	before := func(s *servedProject) {
		s.run("run", "--session-id", "first", "--name", "First plan", "--permission-mode", "bypassPermissions", "what is the answer")
		s.run("run", "--session-id", "second", "--permission-mode", "bypassPermissions", "and now")
		p, _, errs := newProgram(elsewhere, s.env, "run", "--session-id", "foreign", "hidden plan")
		if code := Run(t.Context(), p); code != 0 && code != 3 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
	}
	s := serveProject(t, before)
	for _, tt := range []struct {
		tool   string
		args   map[string]any
		failed bool
		want   string // a pattern
	}{
		{"SessionList", nil, false, `(?s)second  \S+  \d items  and now\n.*first  \S+  \d items  First plan\n`},
		{"SessionList", map[string]any{"limit": 1}, false, `\nmore: cursor \S+\n$`},
		{"SessionList", map[string]any{"limit": 101}, true, `limit must be 1 to 100`},
		{"SessionList", map[string]any{"limit": -1}, true, `limit must be 1 to 100`},
		{"SessionSearch", map[string]any{"words": "forty-two"}, false, `(?m)^first  record \d+  \S+  assistant: .*forty-two`},
		{"SessionSearch", map[string]any{"words": "forty-two", "limit": 1}, false, `\nmore: cursor \S+\n$`},
		{"SessionSearch", map[string]any{"words": "seen", "tool": "Bash"}, false, `  Bash: .*seen`},
		{"SessionSearch", map[string]any{"words": "forty-two", "role": "user"}, false, `^nothing found$`},
		{"SessionSearch", map[string]any{"words": "x", "limit": 200}, true, `limit must be 1 to 100`},
		{"SessionSearch", map[string]any{"words": ""}, true, `word`},
		{"SessionShow", map[string]any{"session": "first"}, false,
			`(?s)^session first  First plan  items 1 to 4 of 4\n\n\[user\]\nwhat is the answer\n\n\[assistant\]\nBash {"command":"echo seen"}\n\n\[tool\]\nseen\n\n\[assistant\]\nthe answer is forty-two\n$`},
		{"SessionShow", map[string]any{"session": "first", "from": 2, "limit": 1}, false, `(?s)items 2 to 2 of 4\n\n\[assistant\]\nBash .*\nmore: from 3\n$`},
		{"SessionShow", map[string]any{"session": "First plan", "from": 4}, false, `items 4 to 4 of 4\n\n\[assistant\]\nthe answer`},
		{"SessionShow", map[string]any{"session": "first", "from": 9}, false, `items 5 to 4 of 4\n$`},
		{"SessionShow", map[string]any{"session": "first", "limit": 201}, true, `limit must be 1 to 200`},
		{"SessionShow", map[string]any{"session": "nothing"}, true, `nothing`},
		{"SessionShow", map[string]any{"session": "foreign"}, true, `session foreign belongs to another project`},
	} {
		if text, failed := s.call(tt.tool, tt.args); failed != tt.failed || !regexp.MustCompile(tt.want).MatchString(text) {
			t.Errorf("%s %v: failed %v:\n%s\nwant %v, %s", tt.tool, tt.args, failed, text, tt.failed, tt.want)
		}
	}
	defer s.end()
	for tool, args := range map[string]map[string]any{"SessionList": {}, "SessionSearch": {"words": "hidden"}} {
		if text, _ := s.call(tool, args); strings.Contains(text, "foreign") || strings.Contains(text, "hidden plan") {
			t.Errorf("%s shows a session of another project:\n%s", tool, text)
		}
	}
}

func TestServedSessionsOfAllProjects(t *testing.T) {
	elsewhere := t.TempDir()
	s := serveProject(t, func(s *servedProject) {
		p, _, errs := newProgram(elsewhere, s.env, "run", "--session-id", "foreign", "other plan")
		if code := Run(t.Context(), p); code != 0 && code != 3 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
	}, "--all-projects")
	for tool, args := range map[string]map[string]any{"SessionList": nil, "SessionSearch": {"words": "other"}, "SessionShow": {"session": "foreign"}} {
		if text, failed := s.call(tool, args); failed || !strings.Contains(text, "foreign") || !strings.Contains(text, "other plan") {
			t.Errorf("%s: failed %v:\n%s", tool, failed, text)
		}
	}
}

// The user at the terminal of the server answers the calls of its clients.
func TestServedCallsAreApproved(t *testing.T) {
	s := serveProject(t, func(*servedProject) {})
	type result struct {
		text   string
		failed bool
	}
	bash := func() <-chan result {
		c := make(chan result, 1)
		go func() {
			text, failed := s.call("Bash", map[string]any{"command": "touch made"})
			c <- result{text, failed}
		}()
		return c
	}
	denied := bash()
	s.terminal.expect(`exact    touch made`)
	s.terminal.expect(`: $`)
	s.terminal.press("n")
	if r := <-denied; !r.failed || !strings.Contains(r.text, "permission denied by the user") {
		t.Errorf("denied: %v", r)
	}
	allowed := bash()
	s.terminal.expect(`exact    touch made`)
	s.terminal.expect(`: $`)
	s.terminal.press("y")
	if r := <-allowed; r.failed {
		t.Errorf("allowed: %v", r)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err != nil {
		t.Error(err)
	}
}

func TestServeRefused(t *testing.T) {
	dir, env := scriptedFolder(t, "steps: [{text: x}]")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--allow-host", "example.com"}, "--tls-cert, --tls-key, --allow-host and --allow-origin need --http"},
		{[]string{"--http", "127.0.0.1:0", "--tls-cert", "only.pem"}, "--tls-key"},
		{[]string{"--http", "0.0.0.0:0"}, "TLS"},
		{[]string{"--http", "127.0.0.1:99999"}, "99999"},
		{[]string{"--cwd", "no-such-folder"}, "no-such-folder"},
	} {
		p, _, errs := newProgram(dir, env, append([]string{"mcp", "serve"}, tt.args...)...)
		p.Stdin = strings.NewReader("")
		if code := Run(t.Context(), p); code == 0 || !strings.Contains(errs.String(), tt.want) {
			t.Errorf("mcp serve %v: exit code %d: %s", tt.args, code, errs)
		}
	}
	c := startTerminal(t, env, dir, "mcp", "serve")
	c.expect(`mcp serve expects an MCP client on standard input, not a terminal`)
	c.expect(`hint: claude mcp add holdfast -- holdfast mcp serve`)
	if code := c.exit(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}
