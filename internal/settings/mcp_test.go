package settings_test

import (
	"encoding/json"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// serverStates returns what became of each server: "name status".
func serverStates(s *settings.Settings) []string {
	var list []string
	for _, srv := range s.MCPServers {
		list = append(list, srv.Name+" "+string(srv.Status))
	}
	return list
}

func wantServers(t *testing.T, s *settings.Settings, want ...string) {
	t.Helper()
	if got := serverStates(s); !slices.Equal(got, want) {
		t.Errorf("servers %q, want %q", got, want)
	}
}

func (p testHome) trustList() *settings.Trust {
	p.t.Helper()
	list, err := settings.OpenTrust(p.path("home"))
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

func (p testHome) decide(name string, yes bool) {
	p.t.Helper()
	s := p.load()
	if err := p.trustList().DecideServer(s, s.FindMCP(name), yes, time.Now()); err != nil {
		p.t.Fatal(err)
	}
}

func TestMCPServersOfAllLayers(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"mcpServers": {"user": {"command": "u"}, "all": {"command": "from-user"}}}`)
	p.write("project/.mcp.json", `{"mcpServers": {"file": {"command": "f", "args": ["-x", ""], "env": {"A": "${B}", "N": 5}}, "all": {"command": "from-file"}}}`)
	p.write("project/.holdfast/settings.json", `{"mcpServers": {"project": {"type": "http", "url": "https://h.example/mcp"}, "all": {"command": "from-project"}}}`)
	p.write("project/.holdfast/settings.local.json", `{"mcpServers": {"all": {"command": "from-local"}}}`)
	s := p.load()
	wantServers(t, s, "all pending", "file pending", "project pending", "user approved")
	if got := s.FindMCP("all").Command; got != "from-local" {
		t.Errorf("of four servers with one name, got %s", got)
	}
	list := settings.MCPNotices(s.Project, s.MCPServers)
	if len(list) != 1 || !strings.Contains(list[0].Text, "all, file, project") || list[0].Hint != "review it, then run: holdfast mcp approve all file project" {
		t.Errorf("notices %q", list)
	}

	p.write("etc/settings.json", `{"mcpServers": {"all": {"command": "from-managed"}}}`)
	o := p.options()
	o.MCP = []string{`{"mcpServers": {"user": {"command": "given-first"}}}`, `{"mcpServers": {"user": {"command": "given"}, "new": {"type": "sse", "url": "http://h/"}}}`}
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	wantServers(t, s, "all approved", "file pending", "new approved", "project pending", "user approved")
	if s.FindMCP("all").Command != "from-managed" || s.FindMCP("user").Command != "given" {
		t.Error("the stronger layer does not count")
	}
	o.StrictMCP = true
	if s, err = settings.Load(o); err != nil {
		t.Fatal(err)
	}
	wantServers(t, s, "new approved", "user approved")
}

// What was approved is one definition: any change of it asks again, and nothing else does.
func TestMCPApprovalDefinition(t *testing.T) {
	p := newTestHome(t)
	write := func(def string) { p.write("project/.mcp.json", `{"mcpServers": {"s": `+def+`}}`) }
	base := `{"command": "c", "args": ["a"], "env": {"E": "1"}}`
	write(base)
	wantServers(t, p.load(), "s pending")
	p.decide("s", true)
	wantServers(t, p.load(), "s approved")
	for _, same := range []string{
		`{"args": ["a"], "env": {"E": "1"}, "command": "c"}`,
		`{"type": "stdio", "command": "c", "args": ["a"], "env": {"E": "1"}, "description": "new words", "timeout": 2000}`,
	} {
		write(same)
		wantServers(t, p.load(), "s approved")
	}
	for _, other := range []string{
		`{"command": "d", "args": ["a"], "env": {"E": "1"}}`,
		`{"command": "c", "args": ["a", ""], "env": {"E": "1"}}`,
		`{"command": "c", "args": ["a"], "env": {"E": "2"}}`,
		`{"command": "c", "args": ["a"], "env": {"E": "1", "LD_PRELOAD": "x"}}`,
		`{"command": "c", "args": ["a"], "env": {"E": "1"}, "cwd": "sub"}`,
		`{"command": "c", "args": ["a"], "env": {"E": "1"}, "excludeTools": []}`,
		`{"command": "c a", "env": {"E": "1"}}`,
		`{"type": "http", "url": "https://c/a"}`,
		`{"type": "http", "url": "https://c/a", "headers": {"X": "${SECRET}"}}`,
	} {
		write(other)
		if got := p.load().FindMCP("s").Status; got != settings.MCPChanged && !strings.Contains(other, `"excludeTools": []`) {
			t.Errorf("%s: %s", other, got)
		}
	}
	write(base)
	wantServers(t, p.load(), "s approved")
	p.decide("s", false)
	wantServers(t, p.load(), "s rejected")
	if list := settings.MCPNotices("", p.load().MCPServers); len(list) != 0 {
		t.Errorf("a rejected server is asked about again: %s", list)
	}
	if ok, err := p.trustList().ForgetServer(p.path("project"), "s"); !ok || err != nil {
		t.Error(ok, err)
	}
	wantServers(t, p.load(), "s pending")
	if ok, err := p.trustList().ForgetServer(p.path("project"), "s"); ok || err != nil {
		t.Error("it was forgotten twice", err)
	}
}

// To trust a folder approves what its settings name, and not what .mcp.json does; and an
// approval trusts nothing else of the folder.
func TestMCPAndTrustOfTheFolder(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.mcp.json", `{"mcpServers": {"file": {"command": "f"}}}`)
	p.write("project/.holdfast/settings.json", `{"permissions": {"allow": ["Bash"]}, "mcpServers": {"own": {"command": "o"}}}`)
	p.decide("own", true)
	if s := p.load(); len(s.Ignored) == 0 {
		t.Error("with a server the folder's rules were trusted")
	}
	p.decide("file", false)
	if ok, err := p.trustList().Add(p.load(), time.Now()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	wantServers(t, p.load(), "file rejected", "own approved")
	if ok, err := p.trustList().Revoke(p.path("project")); !ok || err != nil {
		t.Fatal(ok, err)
	}
	wantServers(t, p.load(), "file pending", "own pending")
}

func TestMCPOfTheAdministrator(t *testing.T) {
	for _, tt := range []struct{ managed, want string }{
		{`{"deniedMcpServers": [{"serverName": "git"}]}`, "git denied, npx approved, web approved"},
		{`{"deniedMcpServers": [{"serverCommand": ["npx", "-y", "pkg"]}]}`, "git approved, npx denied, web approved"},
		{`{"deniedMcpServers": [{"serverUrl": "https://*.example.com/*"}]}`, "git approved, npx approved, web denied"},
		{`{"deniedMcpServers": [{"serverUrl": "https://*.other.com/*"}]}`, "git approved, npx approved, web approved"},
		{`{"allowedMcpServers": []}`, "git denied, npx denied, web denied"},
		{`{"allowedMcpServers": [{"serverName": "git"}, {"serverName": "web"}]}`, "git approved, npx denied, web approved"},
		{`{"allowedMcpServers": [{"serverName": "git"}, {"serverCommand": ["npx", "-y", "pkg"]}]}`, "git denied, npx approved, web denied"},
		{`{"allowedMcpServers": [{"serverUrl": "https://mcp.example.com/*"}]}`, "git denied, npx denied, web approved"},
		{`{"allowedMcpServers": [{"serverUrl": "https://*/mcp.example.com/*"}]}`, "git denied, npx denied, web denied"},
		{`{"allowedMcpServers": [{"serverName": "git"}], "deniedMcpServers": [{"serverName": "git"}]}`, "git denied, npx denied, web denied"},
		{`{"allowManagedMcpServersOnly": true}`, "git approved, npx approved, web approved"},
	} {
		p := newTestHome(t)
		p.write("etc/settings.json", tt.managed)
		p.write("home/settings.json", `{"mcpServers": {"git": {"command": "git"}, "npx": {"command": "npx", "args": ["-y", "pkg"]}, "web": {"type": "http", "url": "https://mcp.example.com/x"}}}`)
		if got := strings.Join(serverStates(p.load()), ", "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.managed, got, tt.want)
		}
	}
}

// A variable cannot carry a server past the administrator's settings.
func TestMCPExpand(t *testing.T) {
	p := newTestHome(t)
	p.write("etc/settings.json", `{"deniedMcpServers": [{"serverUrl": "https://evil.example/*"}, {"serverCommand": ["evil"]}]}`)
	p.write("home/settings.json", `{"mcpServers": {
		"run": {"command": "${TOOL:-tool}", "args": ["$TOOL", "${EMPTY}", "${EMPTY:-full}", "${ODD-NAME}", "${OPEN"], "env": {"K": "a${KEY}b"}, "cwd": "sub"},
		"web": {"type": "http", "url": "${URL}", "headers": {"Authorization": "Bearer ${KEY}"}, "oauth": {"clientId": "${KEY}", "scopes": "a b", "callbackPort": 4000}}}}`)
	s := p.load()
	open := func(name string, env map[string]string) (settings.MCPServer, error) {
		return s.ExpandMCP(s.FindMCP(name), func(v string) (string, bool) { text, ok := env[v]; return text, ok })
	}
	got, err := open("run", map[string]string{"KEY": "${KEY}", "EMPTY": ""})
	if err != nil || got.Command != "tool" || got.Env["K"] != "a${KEY}b" || got.Dir != p.path("project/sub") ||
		!slices.Equal(got.Args, []string{"$TOOL", "", "full", "${ODD-NAME}", "${OPEN"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if reads := s.FindMCP("run").EnvReads(); !slices.Equal(reads, []string{"EMPTY", "KEY", "TOOL"}) {
		t.Errorf("it reads %q", reads)
	}
	if web, err := open("web", map[string]string{"KEY": "k", "URL": "https://ok.example/"}); err != nil || web.Headers["Authorization"] != "Bearer k" || web.OAuth.ClientID != "k" {
		t.Errorf("%+v, %v", web, err)
	}
	for name, env := range map[string]map[string]string{
		"KEY is not set":          {"URL": "https://ok.example/"},
		"deniedMcpServers":        {"KEY": "k", "URL": "https://evil.example/x"},
		"valid server URL":        {"KEY": "k", "URL": "file:///etc/passwd"},
		"contains a line break":   {"KEY": "k\r\nX: y", "URL": "https://ok.example/"},
		"denied once more: https": {"KEY": "k", "URL": "https://evil.example./x"},
	} {
		name, _, _ = strings.Cut(name, ": ")
		if _, err := open("web", env); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(name, "denied once more")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := open("run", map[string]string{"TOOL": "evil", "KEY": ""}); err == nil {
		t.Error("the command came in by a variable")
	}
}

// In the file that belongs to others too, what is wrong keeps out one server; in our own
// settings it keeps everything from starting.
func TestMCPRefused(t *testing.T) {
	for def, want := range map[string]string{
		`{"command": "c", "comand": "d"}`:                                       `unknown key "mcpServers.s.comand"`,
		`{"command": 5}`:                                                        "a number, want a text",
		`{}`:                                                                    "it has no command",
		`{"url": "https://h/"}`:                                                 `add "type": "http"`,
		`{"type": "ws", "url": "wss://h/"}`:                                     `unknown transport "ws"`,
		`{"type": "http"}`:                                                      "it has no url",
		`{"type": "http", "url": "ftp://h/"}`:                                   "invalid server URL",
		`{"type": "http", "url": "https://u:p@h/"}`:                             "invalid server URL",
		`{"type": "http", "url": "https://h/", "args": []}`:                     "has no command",
		`{"type": "http", "url": "https://h/", "env": {}}`:                      "write headers",
		`{"command": "c", "headers": {}}`:                                       "write env",
		`{"command": "c", "env": {"A=B": "x"}}`:                                 "invalid variable name",
		`{"command": "c", "timeout": 30}`:                                       "write milliseconds",
		`{"command": "c", "envFile": ".env"}`:                                   "use env",
		`{"httpUrl": "https://h/"}`:                                             `write "type": "http"`,
		`{"type": "http", "url": "https://h/", "headersHelper": "x"}`:           "use headers",
		`{"type": "http", "url": "https://h/", "headers": {"A b": "x"}}`:        "invalid header name",
		`{"type": "http", "url": "https://h/", "headers": {"A": "x\r\nB: y"}}`:  "a character",
		`{"type": "http", "url": "https://h/", "oauth": {"callbackPort": "x"}}`: "invalid port",
		`[]`: "a list, want an object",
	} {
		p := newTestHome(t)
		p.write("project/.mcp.json", `{"mcpServers": {"good": {"command": "g"}, "s": `+def+`}}`)
		s := p.load()
		wantServers(t, s, "good pending", "s invalid")
		if why := s.FindMCP("s").Reason; !strings.Contains(why, want) || !strings.Contains(why, ".mcp.json:1:") {
			t.Errorf("%s: %s, want %s", def, why, want)
		}
		if _, err := s.ExpandMCP(s.FindMCP("s"), os.LookupEnv); err == nil {
			t.Errorf("%s is started", def)
		}
		p.write("home/settings.json", `{"mcpServers": {"s": `+def+`}}`)
		if _, err := settings.Load(p.options()); err == nil {
			t.Errorf("%s: the settings were loaded", def)
		}
		o := newTestHome(t).options()
		o.MCP = []string{`{"mcpServers": {"s": ` + def + `}}`}
		if _, err := settings.Load(o); err == nil || !strings.Contains(err.Error(), "--mcp-config:1:") {
			t.Errorf("%s: --mcp-config was loaded: %v", def, err)
		}
	}
}

func TestMCPInvalidNames(t *testing.T) {
	for _, name := range []string{"", "a b", "a__b", "ä", "a/b", "_a", "a_", strings.Repeat("x", 65)} {
		p := newTestHome(t)
		key, _ := json.Marshal(name)
		p.write("project/.mcp.json", `{"mcpServers": {`+string(key)+`: {"command": "c"}}}`)
		if got := p.load().MCPServers[0].Status; got != settings.MCPInvalid {
			t.Errorf("%q is %s", name, got)
		}
	}
}

// What other programs write into the file is understood: what restricts counts, what would
// open does not and is told.
func TestMCPFieldsOfOthers(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.mcp.json", `{"$schema": "x", "mcpServers": {
		"off": {"command": "c", "disabled": true},
		"some": {"command": "c", "includeTools": ["a"], "disabledTools": ["b"], "alwaysAllow": ["a"], "trust": true, "autoApprove": [], "description": "d", "timeout": 60000},
		"alias": {"type": "streamable-http", "url": "https://h/"}}}`)
	s := p.load()
	wantServers(t, s, "alias pending", "off disabled", "some pending")
	some := s.FindMCP("some")
	if !slices.Equal(some.IncludeTools, []string{"a"}) || !slices.Equal(some.ExcludeTools, []string{"b"}) || some.Timeout != time.Minute || s.FindMCP("alias").Type != settings.MCPHTTP {
		t.Errorf("%+v", some)
	}
	var said []string
	for _, w := range s.Warnings {
		said = append(said, w.String())
	}
	if len(said) != 2 || !strings.Contains(strings.Join(said, "\n"), "alwaysAllow is ignored") || !strings.Contains(strings.Join(said, "\n"), "trust is ignored") {
		t.Errorf("warnings %q", said)
	}
}

func TestInvalidMCPFile(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcpServers": {`:                   "not JSON",
		`{"servers": {}}`:                    `unknown key "servers"`,
		`{}`:                                 "mcpServers is missing",
		`[]`:                                 "a list, want an object",
		`{"mcpServers": {}, "inputs": []}`:   `unknown key "inputs"`,
		`{"mcpServers": {"a":{},"a":{}}}`:    "duplicate key",
		"\ufeff" + `{"mcpServers": {}}`:      "byte order mark",
		`{"filesystem": {"command": "npx"}}`: `unknown key "filesystem"`,
	} {
		p := newTestHome(t)
		p.write("project/.mcp.json", text)
		s := p.load()
		if len(s.MCPServers) != 0 || len(s.Warnings) == 0 || !strings.Contains(s.Warnings[0].String()+s.Warnings[0].Hint, want) {
			t.Errorf("%s: %v, %v", text, s.MCPServers, s.Warnings)
		}
		o := p.options()
		o.MCP = []string{p.path("project/.mcp.json")}
		if _, err := settings.Load(o); err == nil {
			t.Errorf("%s: --mcp-config was loaded", text)
		}
	}
}

// Approval by name alone is no approval of what runs.
func TestMCPKeysOfClaudeCode(t *testing.T) {
	for _, text := range []string{
		`{"enableAllProjectMcpServers": true}`, `{"enabledMcpjsonServers": ["github"]}`,
		`{"allowedMcpServers": []}`, `{"allowManagedMcpServersOnly": true}`, `{"deniedMcpServers": [{"serverUrl": "evil"}]}`,
		`{"deniedMcpServers": [{"serverName": "a", "serverUrl": "https://x/"}]}`, `{"deniedMcpServers": [{}]}`,
	} {
		p := newTestHome(t)
		p.write("home/settings.json", text)
		if _, err := settings.Load(p.options()); err == nil {
			t.Errorf("%s was loaded", text)
		}
	}
	p := newTestHome(t)
	p.write("project/.mcp.json", `{"mcpServers": {"s": {"command": "c"}}}`)
	p.decide("s", true)
	p.write("project/.holdfast/settings.json", `{"enableAllProjectMcpServers": false, "enabledMcpjsonServers": [], "disabledMcpjsonServers": ["s"]}`)
	wantServers(t, p.load(), "s disabled")
}

// A placeholder that a sandbox puts where there is no such file is no file.
func TestMCPPlaceholderOfASandbox(t *testing.T) {
	p := newTestHome(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", p.path("project/.mcp.json"))
	if err != nil {
		t.Skip("no unix sockets here: ", err)
	}
	defer l.Close()
	if err := os.Chmod(p.path("project/.mcp.json"), 0); err != nil {
		t.Fatal(err)
	}
	wantServers(t, p.load())
}

// Who takes back what was decided about the last server still trusts the rest of the folder.
func TestRevokeOneServer(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.mcp.json", `{"mcpServers": {"s": {"command": "c"}}}`)
	p.decide("s", true)
	list := p.trustList()
	if err := list.AddTexts(p.load(), "", time.Now()); err != nil {
		t.Fatal(err)
	}
	if ok, err := list.ForgetServer(p.load().Project, "s"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	wantServers(t, p.load(), "s pending")
	if trust, err := p.load().TrustedTexts(); err != nil || !trust.Folder {
		t.Errorf("%+v, %v", trust, err)
	}
}

// Servers of sub-agents are judged as the run's, and what is decided about one is about no other.
func TestSubagentServersStatus(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"mcpServers": {"taken": {"command": "c"}}}`)
	p.write("etc/settings.json", `{"deniedMcpServers": [{"serverCommand": ["evil"]}]}`)
	p.write("project/.holdfast/settings.local.json", `{"disabledMcpjsonServers": ["off"]}`)
	def := `{"own": {"command": "c"}, "taken": {"command": "c"}, "evil": {"command": "evil"}, "off": {"command": "c"}, "bad": {"comand": "c"}}`
	list := func(o *settings.Options, kind string, layer string) (out []string) {
		t.Helper()
		n, err := jsontree.Parse([]byte(def))
		if err != nil {
			t.Fatal(err)
		}
		servers, notes := settings.KindServers("a.md", []byte(def), &n)
		for i := range servers {
			servers[i].Kind, servers[i].Origin.Layer = kind, layer
		}
		s, err := settings.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetServerStatus(servers); err != nil || len(notes) > 0 {
			t.Fatal(err, notes)
		}
		for _, srv := range servers {
			out = append(out, srv.Name+" "+string(srv.Status))
			if srv.Status == settings.MCPPending && srv.Name == "own" {
				if err := p.trustList().DecideServer(s, &srv, true, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
		}
		return out
	}
	check := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check(list(p.options(), "a", layernames.Project), "own pending", "taken invalid", "evil denied", "off disabled", "bad invalid")
	check(list(p.options(), "a", layernames.Project), "own approved", "taken invalid", "evil denied", "off disabled", "bad invalid")
	check(list(p.options(), "b", layernames.Project)[:1], "own pending")
	check(list(p.options(), "c", layernames.User), "own approved", "taken invalid", "evil denied", "off approved", "bad invalid")
	p.write("project/.mcp.json", `{"mcpServers": {"own": {"command": "c"}}}`)
	if got := p.load().FindMCP("own").Status; got != settings.MCPPending {
		t.Errorf("the folder's own is %s", got)
	}
	o := p.options()
	o.StrictMCP = true
	check(list(o, "a", layernames.Project)[:2], "own disabled", "taken disabled")
	check(list(o, "a", layernames.Flag)[:2], "own approved", "taken approved")
	def = strings.Replace(def, `"c"}`, `"c", "args": ["x"]}`, 1)
	p.write("project/.mcp.json", `{"mcpServers": {}}`)
	check(list(p.options(), "a", layernames.Project)[:1], "own changed")
}

// One server that cannot be understood does not hide that another waits for a yes.
func TestMCPNoticesAllServers(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.mcp.json", `{"mcpServers": {"bad": {"url": "http://h/"}, "worse": {}, "file": {"command": "f"}}}`)
	list := settings.MCPNotices("p", p.load().MCPServers)
	if len(list) != 3 || list[0].Hint != "holdfast mcp get bad" || list[1].Hint != "holdfast mcp get worse" || !strings.HasSuffix(list[2].Hint, "mcp approve file") {
		t.Errorf("notices %q", list)
	}
}
