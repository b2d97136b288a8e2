package importsettings_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/importsettings"
)

// unsupportedKeys are the keys without an equal, quiet ones in brackets.
func unsupportedKeys(f *importsettings.File) string {
	var list []string
	for _, n := range f.Unsupported {
		name := n.Key
		if n.Silent {
			name = "(" + name + ")"
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name    string
		program importsettings.Program
		kind    importsettings.Kind
		text    string
		json    string
		left    string
	}{
		{"nothing", importsettings.Claude, importsettings.Settings, "", "", ""},
		{"no rules", importsettings.Codex, importsettings.Rules, "# none\n", "", ""},
		{"codex's rules", importsettings.Codex, importsettings.Rules, `prefix_rule(
    pattern = ["git", ["push", 'fetch']], # several
    decision = "prompt",
    justification = """why
not""",
    match = ["git push x"], not_match = [["git", "status"]],
)
prefix_rule(pattern=["rm"], decision="forbidden"); prefix_rule(pattern=["ls"])
prefix_rule(pattern=["bash", "-lc", "a | b"], decision="allow")
host_executable(name="git", paths=["/usr/bin/git"])
network_rule(host="x.example", protocol="https", decision="forbidden")
network_rule(host="y.example", protocol="https", decision="prompt")
network_rule(host="z.example", protocol="https", decision="allow")
`,
			`{"permissions":{"ask":["Bash(git push:*)","Bash(git fetch:*)","WebFetch(domain:y.example)"],"deny":["Bash(rm:*)"],"allow":["Bash(ls:*)"]},"sandbox":{"network":{"deniedDomains":["x.example"]}}}`,
			"(prefix_rule) host_executable network_rule"},
		{"claude's rules", importsettings.Claude, importsettings.Settings, `{"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Read(.env)"], "defaultMode": "plan"}}`,
			`{"permissions":{"allow":["Bash(ls:*)"],"deny":["Read(.env)"],"defaultMode":"plan"}}`, ""},
		{"comments", importsettings.Claude, importsettings.Settings, "\ufeff{\n// why\n\"permissions\": {\"deny\": [\"Read(//etc/x)\", /* and */ \"Read(a/*b)\",],},\n}",
			`{"permissions":{"deny":["Read(//etc/x)","Read(a/*b)"]}}`, ""},
		{"claude's looks", importsettings.Claude, importsettings.Settings, `{"attribution": {}, "statusLine": {"type": "command", "command": "x"}, "apiKeyHelper": "x", "brandNew": 1, "permissions": {"whatever": 1}}`,
			`{"statusLine":{"type":"command","command":"x"},"permissions":{}}`, "(attribution) apiKeyHelper brandNew permissions.whatever"},
		{"claude's model", importsettings.Claude, importsettings.Settings, `{"model": "opus[1m]", "env": {"A": "1"}, "outputStyle": "Explanatory"}`,
			`{"model":"anthropic/claude-opus-4-6","env":{"A":"1"},"outputStyle":"Explanatory"}`, ""},
		{"claude's model, elsewhere", importsettings.Claude, importsettings.Settings, `{"model": "us.anthropic.claude-x"}`, ``, "(model)"},
		{"codex's model", importsettings.Codex, importsettings.Settings, "model = \"gpt-5\"\n[shell_environment_policy]\nset = {A = \"1\"}", `{"model":"openai/gpt-5","env":{"A":"1"}}`, ""},
		{"codex's provider", importsettings.Codex, importsettings.Settings, "model = \"x\"\nmodel_provider = \"corp\"", ``, "(model)"},
		{"models of others", importsettings.OpenCode, importsettings.Settings, `{"model": "anthropic/x", "small_model": "openai/y"}`, `{"model":"anthropic/x","smallModel":"openai/y"}`, ""},
		{"gemini's model", importsettings.Gemini, importsettings.Settings, `{"model": {"name": "gemini-2.5-pro"}}`, `{"model":"gemini/gemini-2.5-pro"}`, ""},
		{"claude's sandbox, off", importsettings.Claude, importsettings.Settings, `{"sandbox": {"network": {"allowedDomains": ["a.example"]}}}`, "", "(sandbox)"},
		{"claude's sandbox, on", importsettings.Claude, importsettings.Settings, `{"sandbox": {"enabled": true, "filesystem": {"denyRead": ["~/x"]}}}`,
			`{"sandbox":{"enabled":true,"filesystem":{"denyRead":["~/x"]}}}`, ""},
		{"managed", importsettings.Claude, importsettings.Managed, `{"allowManagedHooksOnly": true}`, `{"allowManagedHooksOnly":true}`, ""},
		{"managed, elsewhere", importsettings.Claude, importsettings.Settings, `{"allowManagedHooksOnly": true}`, ``, "(allowManagedHooksOnly)"},

		{"codex asks", importsettings.Codex, importsettings.Settings, "approval_policy = \"untrusted\"\nsandbox_mode = \"workspace-write\"\n", `{"permissions":{"defaultMode":"default"}}`, ""},
		{"codex edits", importsettings.Codex, importsettings.Settings, "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nwritable_roots = [\"/data\"]\nnetwork_access = true\n",
			`{"permissions":{"defaultMode":"acceptEdits","additionalDirectories":["/data"]}}`, "sandbox_workspace_write.network_access"},
		{"codex never asks", importsettings.Codex, importsettings.Settings, "approval_policy = 'never'\nsandbox_mode = 'read-only'", ``, "(approval_policy)"},
		{"codex without a sandbox", importsettings.Codex, importsettings.Settings, "sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"", ``, "sandbox_mode"},
		{"codex's servers", importsettings.Codex, importsettings.Settings, "[mcp_servers.docs]\ncommand = \"docs\"\nargs = [\"-x\"]\nstartup_timeout_sec = 1_0\n[mcp_servers.docs.env]\nA = \"b\"\n[mcp_servers.web]\nurl = \"https://mcp.example.com\"\nbearer_token_env_var = \"TOKEN\"\nenabled = false\n",
			`{"mcpServers":{"docs":{"command":"docs","args":["-x"],"env":{"A":"b"}},"web":{"type":"http","url":"https://mcp.example.com","disabled":true,"headers":{"Authorization":"Bearer ${TOKEN}"}}}}`,
			"(mcp_servers.docs.startup_timeout_sec)"},
		{"codex's profile", importsettings.Codex, importsettings.Settings, "default_permissions = \"work\"\n[permissions.work.filesystem]\n\"/srv/keys\" = \"deny\"\n\"/data\" = \"write\"\n[permissions.work.filesystem.\":workspace_roots\"]\n\"**/*.pem\" = \"none\"\n[permissions.work.network.domains]\n\"evil.example\" = \"deny\"\n[permissions.other.filesystem]\n\"/x\" = \"deny\"\n",
			`{"permissions":{"forbidden":["/srv/keys","/srv/keys/**","**/*.pem","**/*.pem/**"],"additionalDirectories":["/data"],"deny":["WebFetch(domain:evil.example)"]}}`, "(permissions.other)"},
		{"codex's hooks", importsettings.Codex, importsettings.Settings, "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"./a\"\n[[hooks.PreToolUse]]\nmatcher = \"Edit\"\nhooks = [{type = \"command\", command = \"./b\"}]\n",
			`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./a"}]},{"matcher":"Edit","hooks":[{"type":"command","command":"./b"}]}]}}`, ""},
		{"requirements", importsettings.Codex, importsettings.Requirements, "allowed_approval_policies = [\"untrusted\", \"on-request\"]\n[rules]\nprefix_rules = [\n {pattern = [{token = \"git\"}, {any_of = [\"push\", \"fetch\"]}], decision = \"prompt\"},\n {pattern = [{token = \"rm\"}], decision = \"forbidden\", justification = \"no\"},\n]\n[mcp_servers.docs.identity]\nurl = \"https://mcp.example.com/*\"\n[permissions.filesystem]\ndeny_read = [\"./secrets\"]\n",
			`{"permissions":{"disableBypassPermissionsMode":"disable","ask":["Bash(git push:*)","Bash(git fetch:*)"],"deny":["Bash(rm:*)"],"forbidden":["secrets","secrets/**"]},"allowedMcpServers":[{"serverUrl":"https://mcp.example.com/*"}]}`, ""},
		{"read-only required", importsettings.Codex, importsettings.Requirements, "allowed_sandbox_modes = [\"read-only\"]",
			`{"permissions":{"disableBypassPermissionsMode":"disable","deny":["Edit","Write"]}}`, "allowed_sandbox_modes"},

		{"opencode", importsettings.OpenCode, importsettings.Settings, `{"permission": {"edit": "ask", "bash": {"*": "ask", "git push *": "deny", "git status": "allow"}, "webfetch": "allow"}, "theme": "x", "plugin": [],
			"mcp": {"docs": {"type": "local", "command": ["docs", "-x"], "enabled": true}}}`,
			`{"permissions":{"ask":["Edit","Write"],"deny":["Bash(git push *)"],"allow":["Bash(git status)"]},"mcpServers":{"docs":{"command":"docs","args":["-x"]}}}`,
			"permission.bash.\"*\" permission.webfetch (theme) plugin"},
		{"gemini", importsettings.Gemini, importsettings.Settings, `{"tools": {"allowed": ["run_shell_command(git status)"], "exclude": ["web_fetch", "magic"], "core": []}, "ui": {"theme": "x"}, "general": {"defaultApprovalMode": "auto_edit"},
			"mcpServers": {"docs": {"httpUrl": "https://mcp.example.com", "trust": true}}}`,
			`{"permissions":{"allow":["Bash(git status:*)"],"deny":["WebFetch"],"defaultMode":"acceptEdits"},"mcpServers":{"docs":{"type":"http","url":"https://mcp.example.com"}}}`,
			"tools.exclude tools.core (ui) mcpServers.docs.trust"},
		{"gemini, flat", importsettings.Gemini, importsettings.Settings, `{"excludeTools": ["ShellTool"], "autoAccept": true}`, `{"permissions":{"deny":["Bash"]}}`, "(autoAccept)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := importsettings.Read(tt.program, tt.kind, []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if string(f.JSON) != tt.json {
				t.Errorf("ours is\n%s, want\n%s", f.JSON, tt.json)
			}
			if got := unsupportedKeys(f); got != tt.left {
				t.Errorf("left %q, want %q", got, tt.left)
			}
			if len(f.JSON) > 0 && !json.Valid(f.JSON) {
				t.Error("not JSON")
			}
		})
	}
}

// Every value has the place that it has in the file.
func TestPosition(t *testing.T) {
	for _, tt := range []struct {
		program   importsettings.Program
		text      string
		what      string
		line, col int
	}{
		{importsettings.Claude, "{\n  \"permissions\": {\n    \"deny\": [\n      \"Read(.env)\"]}}", `"Read(.env)"`, 4, 7},
		{importsettings.Codex, "# why\nsandbox_mode = \"read-only\"\n", `"default"`, 2, 16},
		{importsettings.Codex, "model = \"x\"\n[sandbox_workspace_write]\nwritable_roots = [\n  \"/a\",\n  \"/b\"]\n", `"/b"`, 5, 3},
	} {
		f, err := importsettings.Read(tt.program, importsettings.Settings, []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		line, col := f.Position(strings.Index(string(f.JSON), tt.what))
		if line != tt.line || col != tt.col {
			t.Errorf("%s of %s: %d:%d, want %d:%d", tt.what, f.JSON, line, col, tt.line, tt.col)
		}
	}
}

// What cannot be read, and may forbid something, is an error with its place.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		program importsettings.Program
		kind    importsettings.Kind
		text    string
		want    string // line:col what
	}{
		{importsettings.Claude, importsettings.Settings, "{\n \"permissions\"", "2:14 not JSON"},
		{importsettings.Claude, importsettings.Settings, "[]", "1:1 the file is a list"},
		{importsettings.Claude, importsettings.Settings, "{\"permissions\": []}", "1:17 permissions is a list"},
		{importsettings.Claude, importsettings.Settings, "{\"sandbox\": 1}", "1:13 sandbox is"},
		{importsettings.Claude, importsettings.Settings, "{} /* never ends", "1:4 not JSON"},
		{importsettings.Codex, importsettings.Settings, "a = 1\nb = ", "2:"},
		{importsettings.Codex, importsettings.Settings, "a = 1\na = 2", "2:1 not TOML"},
		{importsettings.Codex, importsettings.Settings, "default_permissions = \"w\"\n[permissions.w.filesystem]\n\":tmpdir\" = \"deny\"", "3:13 permissions.w.filesystem.\":tmpdir\": cannot determine"},
		{importsettings.Codex, importsettings.Requirements, "allowed_approval_policies = 1", "1:29 allowed_approval_policies must be a list of strings"},
		{importsettings.Codex, importsettings.Requirements, "[rules]\nprefix_rules = [{pattern = [{token = \"rm\"}], decision = \"allow\"}]", "2:57 rules.prefix_rules: unknown decision \"allow\""},
		{importsettings.Codex, importsettings.Requirements, "[rules]\nprefix_rules = [{pattern = [{token = \"a b\"}], decision = \"prompt\"}]", "invalid pattern"},
		{importsettings.Codex, importsettings.Requirements, "[rules]\nx = 1", "1:2 rules.prefix_rules: want a list"},
		{importsettings.Codex, importsettings.Rules, "prefix_rule(pattern = [\"a\"], decision = \"never\")", `1:1 unknown decision "never"`},
		{importsettings.Codex, importsettings.Rules, "\nprefix_rule(pattern = [\"a b\"], decision = \"forbidden\")", "2:1 prefix_rule: invalid pattern"},
		{importsettings.Codex, importsettings.Rules, "prefix_rule(decision = \"prompt\")", "invalid pattern"},
		{importsettings.Codex, importsettings.Rules, "prefix_rule([\"a\"])", "1:13 missing name"},
		{importsettings.Codex, importsettings.Rules, "x = [\"a\"]", "1:3 missing ("},
		{importsettings.Codex, importsettings.Rules, "prefix_rule(pattern = [\"a\"] + x)", "1:29 missing )"},
		{importsettings.Codex, importsettings.Rules, "prefix_rule(pattern = [\"a\"], pattern = [\"b\"])", "duplicate argument pattern"},
		{importsettings.Codex, importsettings.Rules, "prefix_rule(pattern = [\"a)", "unterminated string"},
		{importsettings.Codex, importsettings.Rules, "prefix_rule(pattern = [\"\\x41\"])", `unknown escape \x in a string`},
		{importsettings.Codex, importsettings.Rules, "load(\"x\")", "1:6 missing name"},
		{importsettings.Codex, importsettings.Rules, "other_rule(x = \"y\")", "unknown function other_rule"},
		{importsettings.Codex, importsettings.Rules, "network_rule(decision = \"deny\")", "the host is missing"},
		{importsettings.Codex, importsettings.Rules, "prefix_rule(pattern = " + strings.Repeat("[", 20), "nested too deeply"},
	} {
		_, err := importsettings.Read(tt.program, tt.kind, []byte(tt.text))
		e, ok := errors.AsType[*importsettings.Error](err)
		if !ok {
			t.Errorf("%q: %v is no error of a file", tt.text, err)
			continue
		}
		if got := fmt.Sprintf("%d:%d %s", e.Line, e.Col, e.Detail); !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"permissions": {"deny": ["Bash"]}, "sandbox": {"enabled": true}} // x`)
	f.Add("[a.b]\nc = [1, {d = 0x1F, e = inf}]\n[[f]]\n[[f.g]]\nh = 1979-05-27T07:32:00Z\n[mcp_servers.x]\nargs = []")
	f.Add("[rules]\nprefix_rules = [{pattern = [{any_of = [\"a\"]}], decision = \"prompt\"}]\n[permissions.filesystem]\ndeny_read = [\"\"]")
	f.Add("prefix_rule(pattern=[\"a\", ['b', \"c\"]], decision=\"prompt\")\nnetwork_rule(host=\"h\", decision=\"deny\") # x")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range importsettings.Programs {
			for _, k := range []importsettings.Kind{importsettings.Settings, importsettings.Requirements, importsettings.Rules} {
				file, err := importsettings.Read(p, k, []byte(text))
				if err != nil {
					continue
				}
				if len(file.JSON) > 0 && !json.Valid(file.JSON) {
					t.Fatalf("%s makes %s of %q", p, file.JSON, text)
				}
				for at := range file.JSON {
					if line, col := file.Position(at); line < 1 || col < 1 {
						t.Fatalf("%d:%d", line, col)
					}
				}
			}
		}
	})
}
