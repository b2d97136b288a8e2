package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/tool"
)

// skippedScenarios are the scenarios of the suite that are extensions of the protocol which
// this client does not speak, and why. Whoever logs in here is a person.
var skippedScenarios = map[string]string{
	"auth/client-credentials-jwt":           "a login without a person, with a key of the client's",
	"auth/client-credentials-basic":         "a login without a person, with a secret of the client's",
	"auth/enterprise-managed-authorization": "a login by the tokens of a company's identity provider",
	"auth/wif-jwt-bearer":                   "a login by the identity of the machine that it runs on",
	"auth/dpop":                             "tokens that are bound to a key",
	"auth/dpop-nonce":                       "tokens that are bound to a key",
	"sep-2640-client-no-prefetch":           "resources by reference; none are fetched",
	"sep-2640-client-verify-digest":         "resources by reference; none are fetched",
	"sep-2640-client-verify-size":           "resources by reference; none are fetched",
	"sep-2640-client-verify-frontmatter":    "resources by reference; none are fetched",
	"auth/cross-app-access-complete-flow":   "a login by the tokens of a company's identity provider",
}

// TestConformance has the protocol's own suite speak with this client, with all that a
// revision of the protocol requires: what the suite starts is this program, see conform.
// To start the suite takes as long as to run it.
func TestConformance(t *testing.T) {
	for name, tt := range map[string]struct {
		suite string
		args  []string
	}{
		"2026-07-28": {"conformance-2026", []string{"--requirements", "2026-07-28"}},
		"2025-11-25": {"conformance-2026", []string{"--requirements", "2025-11-25"}},
		"core":       {"conformance-2025", []string{"--suite", "core"}},
		"auth":       {"conformance-2025", []string{"--suite", "auth"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "2026-07-28" && testing.Short() {
				t.Skip("the newest revision is enough for every day: make test-all runs the others")
			}
			conformance(t, tt.suite, tt.args...)
		})
	}
}

var failedScenario = regexp.MustCompile(`✗ (\S+?):? `)

func conformance(t *testing.T, suite string, args ...string) {
	t.Helper()
	dir := os.Getenv("HOLDFAST_TEST_MCP")
	if dir == "" {
		testneed.Need(t, `no conformance suite: eval "$(scripts/services start mcp)" makes this run`)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{filepath.Join(dir, "node_modules", suite, "dist", "index.js"), "client", "--command", program}, args...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "node"), args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	for _, m := range failedScenario.FindAllStringSubmatch(string(out), -1) {
		if skippedScenarios[m[1]] == "" {
			t.Errorf("%s failed", m[1])
		}
	}
	if strings.Contains(string(out), "OVERALL: FAILED") || err != nil || t.Failed() {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "assed") {
		t.Errorf("nothing ran: %s", out)
	}
}

// conform is the client that the suite tests: it does what a run would, and in place of
// a person it follows addresses and fills in forms.
func conform(scenario, url string) {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	if err := conforms(ctx, scenario, url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func conforms(ctx context.Context, scenario, url string) error {
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		ToolCalls    []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given) // there need not be any
	dir, err := os.MkdirTemp("", "conform")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := Server{Name: "suite", URL: url, OAuth: &OAuth{ClientID: "https://conformance-test.local/client-metadata.json"}}
	if given.ClientSecret != "" {
		s.OAuth = &OAuth{ClientID: given.ClientID, ClientSecret: given.ClientSecret}
	}
	c, err := Open([]Server{s}, &Options{
		Tokens: dir, Wait: 10 * time.Second, Notice: func(text string) { fmt.Fprintln(os.Stderr, text) },
		Elicit: func(_ context.Context, e Elicitation) (Answer, error) {
			content := json.RawMessage("{}")
			if slices.ContainsFunc(e.Fields, func(f forms.Field) bool { return f.Name == "confirmed" }) {
				content = json.RawMessage(`{"confirmed":true}`)
			}
			return Answer{Action: Accept, Content: content}, nil
		},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	p := &clientDriver{c: c, ctx: ctx}
	if err := p.connect(); err != nil {
		return err
	}
	list := c.Tools(ctx)
	fmt.Fprintln(os.Stderr, "tools:", names(list))
	switch {
	case scenario == "tools_call":
		return p.call("add_numbers", `{"a":5,"b":3}`)
	case scenario == "elicitation-sep1034-client-defaults":
		return p.call("test_client_elicitation_defaults", "{}")
	case scenario == "sse-retry":
		return p.call("test_reconnection", "{}")
	case scenario == "json-schema-2020-12-preservation":
		t, err := p.tool("json_schema_2020_12_tool")
		if err != nil {
			return err
		}
		return p.call("json_schema_echo", `{"schema":`+string(t.Spec().Input)+"}")
	case scenario == "sep-2322-client-request-state":
		for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			fmt.Fprintln(os.Stderr, name, p.call(name, "{}")) // some are to fail
		}
	case scenario == "http-standard-headers":
		for _, t := range list {
			if strings.HasPrefix(t.Spec().Name, "mcp__") {
				fmt.Fprintln(os.Stderr, p.use(t, "{}"))
				break
			}
		}
		return p.readFirst()
	case scenario == "http-custom-headers":
		for _, call := range given.ToolCalls {
			fmt.Fprintln(os.Stderr, call.Name, p.call(call.Name, string(call.Arguments)))
		}
	case scenario == "http-invalid-tool-headers":
		for _, t := range list {
			fmt.Fprintln(os.Stderr, t.Spec().Name, p.use(t, `{"region":"us-west1"}`))
		}
	case strings.HasPrefix(scenario, "auth/"):
		return p.call("test-tool", "{}")
	}
	return nil
}

// clientDriver uses a client as a run and a person would.
type clientDriver struct {
	c      *Client
	ctx    context.Context
	logins int
}

func (p *clientDriver) connect() error {
	for {
		err := p.c.Connect(p.ctx, "suite")
		if !errors.Is(err, ErrNeedsAuth) {
			return err
		}
		if err := p.login(); err != nil {
			return err
		}
	}
}

// login is what a person does who is told to.
func (p *clientDriver) login() error {
	if p.logins++; p.logins > 3 {
		return errors.New("a person would not log in so often")
	}
	return p.c.Login(p.ctx, "suite", func(to string) {
		go func() {
			resp, err := http.Get(to)
			if err == nil {
				resp.Body.Close()
			}
		}()
	})
}

func (p *clientDriver) tool(name string) (tool.Tool, error) {
	for _, t := range p.c.Tools(p.ctx) {
		if t.Spec().Name == "mcp__suite__"+sanitizeName(name) || t.Spec().Name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("there is no tool %s", name)
}

func (p *clientDriver) call(name, input string) error {
	t, err := p.tool(name)
	if err != nil {
		return err
	}
	return p.use(t, input)
}

func (p *clientDriver) use(t tool.Tool, input string) error {
	for {
		r, err := t.Run(p.ctx, &tool.Call{ID: "u", Input: json.RawMessage(input)})
		switch {
		case err != nil:
			return err
		case !r.IsError:
			return nil
		case !strings.Contains(text(r), "holdfast mcp login"):
			return errors.New(text(r))
		}
		if err := p.login(); err != nil {
			return err
		}
		if err := p.connect(); err != nil {
			return err
		}
	}
}

// readFirst reads a resource and fills a prompt.
func (p *clientDriver) readFirst() error {
	t, err := p.tool(ListResources)
	if err != nil {
		return err
	}
	r, err := t.Run(p.ctx, &tool.Call{Input: json.RawMessage("{}")})
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(text(r), "- ")
	uri, _, _ := strings.Cut(strings.SplitN(rest, "\n", 2)[0], ",")
	if err := p.call(ReadResource, `{"server":"suite","uri":"`+uri+`"}`); err != nil {
		return err
	}
	prompts, err := p.c.Prompts(p.ctx, "suite")
	if err != nil || len(prompts) == 0 {
		return err
	}
	_, err = p.c.Prompt(p.ctx, "suite", prompts[0].Name, nil)
	return err
}
