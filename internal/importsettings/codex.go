package importsettings

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// codexUnsupported maps keys of Codex's config.toml that have no equivalent to what to use instead.
var codexUnsupported = map[string]string{
	"projects":               "trust a folder with: holdfast trust",
	"profiles":               "profiles are not read; use --settings FILE for additional settings of one run",
	"profile":                "profiles are not read; use --settings FILE for additional settings of one run",
	"notify":                 "write a hook of the event Notification or Stop",
	"model_providers":        "set providers in Holdfast's settings",
	"model_reasoning_effort": "use --effort",
	"web_search":             "set webSearch in Holdfast's settings",
	"tools":                  "set the available tools with --tools and rules",
	"otel":                   "set telemetry with OTEL_ variables",
	"features":               "Codex features have no equivalent in Holdfast",
	"auto_review":            "the user answers approval requests",
	"approvals_reviewer":     "the user answers approval requests",
	"plugins":                "plugins are not downloaded here; name the folder of a plugin in plugins in Holdfast's settings",
	"marketplaces":           "plugins are not downloaded here",
	"apps":                   "ChatGPT connectors are not supported",
	"agents":                 "sub-agent definitions are Markdown files: .claude/agents or .holdfast/agents",
	"skills":                 "skills are read from .claude/skills and .holdfast/skills",
	"instructions":           "write AGENTS.md",
	"developer_instructions": "write AGENTS.md, or use --append-system-prompt",
	"experimental_network":   "allow hosts with sandbox.network.allowedDomains",
	"openai_base_url":        "set providers in Holdfast's settings",
	"chatgpt_base_url":       "login at ChatGPT is not supported",
}

// codexDisplay are keys that only affect Codex's display and convenience.
var codexDisplay = []string{
	"tui", "history", "file_opener", "hide_agent_reasoning", "show_raw_agent_reasoning", "model_reasoning_summary", "model_verbosity",
	"check_for_update_on_startup", "notice", "disable_paste_burst", "personality", "analytics", "feedback", "cli_auth_credentials_store",
	"project_doc_max_bytes", "project_doc_fallback_filenames", "project_root_markers", "suppress_unstable_features_warning", "log_dir", "sqlite_home",
	"preferred_auth_method", "model_context_window", "model_auto_compact_token_limit", "tool_output_token_limit", "windows", "windows_wsl_setup_acknowledged",
	"oss_provider", "review_model", "service_tier", "plan_mode_reasoning_effort", "commit_attribution", "background_terminal_max_timeout", "desktop",
}

// codex translates Codex's config.toml.
func (t *translation) codex(root jsontree.Node) {
	t.codexMode(&root)
	for _, m := range root.Members {
		switch why, known := codexUnsupported[m.Key]; {
		case m.Key == "approval_policy", m.Key == "sandbox_mode", m.Key == "default_permissions", m.Key == "permissions":
			// handled by codexMode
		case m.Key == "model":
			t.codexModel(m, root.Member("model_provider"))
		case m.Key == "model_provider":
			// handled by codexModel
		case m.Key == "shell_environment_policy":
			if set := m.Value.Member("set"); set != nil {
				t.put("env", *set)
			}
			if len(m.Value.Members) > 1 || m.Value.Member("set") == nil {
				t.unsupportedSilent(m.Key, m.At, "commands get only a few variables that contain no secrets, and those in env")
			}
		case m.Key == "sandbox_workspace_write":
			t.codexWorkspace(m)
		case m.Key == "mcp_servers":
			t.codexServers(m)
		case m.Key == "hooks":
			t.put("hooks", m.Value)
		case known && slices.Contains([]string{"projects", "model_reasoning_effort", "features", "profiles"}, m.Key):
			t.unsupportedSilent(m.Key, m.At, why)
		case known:
			t.unsupported(m.Key, m.At, why)
		case slices.Contains(codexDisplay, m.Key):
			t.unsupportedSilent(m.Key, m.At, "it only affects Codex's display or convenience")
		default:
			t.unsupported(m.Key, m.At, "unknown setting")
		}
	}
}

// codexProviders maps Codex's names of providers to Holdfast's.
var codexProviders = map[string]string{"": "openai", "openai": "openai", "ollama": "ollama", "lmstudio": "lmstudio", "openrouter": "openrouter", "groq": "groq", "mistral": "mistral", "deepseek": "deepseek", "xai": "xai"}

// codexModel adds the provider to a model's name.
func (t *translation) codexModel(m jsontree.Member, provider *jsontree.Node) {
	name := ""
	if provider != nil {
		name = provider.Text
	}
	known, ok := codexProviders[name]
	if !ok || m.Value.Kind != jsontree.Text {
		t.unsupportedSilent(m.Key, m.At, "its provider is unknown; add it to providers in Holdfast's settings")
		return
	}
	t.put("model", text(known+"/"+m.Value.Text, m.Value.At))
}

// codexMode derives the mode from the approval policy and the sandbox mode. Holdfast has one
// setting for both.
func (t *translation) codexMode(root *jsontree.Node) {
	approval, box := root.Member("approval_policy"), root.Member("sandbox_mode")
	profile := root.Member("default_permissions")
	name := func(n *jsontree.Node) string {
		if n == nil {
			return ""
		}
		return n.Text
	}
	if box == nil && profile != nil {
		box = profile // profiles such as ":read-only" mean the same as sandbox modes
	}
	what := strings.TrimPrefix(name(box), ":")
	at := 0
	if approval != nil {
		at = approval.At
	} else if box != nil {
		at = box.At
	}
	mode := ""
	switch {
	case approval != nil && approval.Kind != jsontree.Text:
		t.unsupported("approval_policy", approval.At, "approvals are required by rules: permissions.ask")
	case what == "danger-full-access":
		t.unsupported("sandbox_mode", box.At, "commands always run in the sandbox; --no-sandbox disables it for one run")
	case name(approval) == "never":
		t.unsupportedSilent("approval_policy", approval.At, "calls that neither rules nor the mode allow require approval; --permission-mode dontAsk denies them instead")
	case name(approval) == "untrusted" || what == "read-only":
		mode = "default"
	case approval != nil && (what == "workspace-write" || what == "workspace"), approval == nil && what == "workspace-write":
		mode = "acceptEdits"
	case approval != nil:
		mode = "default"
	}
	if mode != "" {
		t.put("permissions.defaultMode", text(mode, at))
	}
	t.codexProfile(root, profile)
}

// codexProfile translates the active permission profile. Codex ignores the others.
func (t *translation) codexProfile(root, name *jsontree.Node) {
	all := root.Member("permissions")
	if all == nil {
		return
	}
	if all.Kind != jsontree.Object {
		t.refuse(all.At, "permissions is %s, want a table", all.Show())
		return
	}
	for _, p := range all.Members {
		key := dotted("permissions", p.Key)
		if name == nil || p.Key != name.Text {
			t.unsupportedSilent(key, p.At, "default_permissions does not name this profile")
			continue
		}
		for _, m := range p.Value.Members {
			switch m.Key {
			case "filesystem":
				t.codexFiles(key+".filesystem", "", m.Value)
			case "network":
				t.codexNetwork(key+".network", m.Value)
			default:
				t.unsupported(key+"."+m.Key, m.At, "unknown setting")
			}
		}
	}
}

// codexFiles translates the entries of a profile: files that cannot be read, can only be read, or
// can be written.
func (t *translation) codexFiles(key, root string, n jsontree.Node) {
	if n.Kind != jsontree.Object {
		t.refuse(n.At, "%s is %s, want a table", key, n.Show())
		return
	}
	for _, m := range n.Members {
		path := m.Key
		if strings.HasPrefix(path, ":") && m.Value.Kind == jsontree.Object {
			if path != ":workspace_roots" && path != ":project_roots" {
				t.unsupported(key+"."+dotted(path), m.At, "unknown setting")
				continue
			}
			t.codexFiles(key+"."+dotted(path), ".", m.Value)
			continue
		}
		at := key + "." + dotted(path)
		switch access := m.Value.Text; {
		case (access == "deny" || access == "none") && !strings.HasPrefix(path, ":"):
			t.forbid(path, m.Value.At)
		case access == "deny" || access == "none":
			t.refuse(m.Value.At, "%s: cannot determine which files these are", at)
		case access == "write" && !strings.HasPrefix(path, ":") && root == "" && !strings.ContainsAny(path, "*?["):
			t.add("permissions.additionalDirectories", path, m.Value.At)
		default:
			t.unsupportedSilent(at, m.At, "set readable and writable paths with sandbox.additionalWritePaths and sandbox.protectedPaths")
		}
	}
}

// forbid denies access to a file, or to everything below a folder.
func (t *translation) forbid(path string, at int) {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "./"), "/")
	if path == "" {
		path = "**"
	}
	t.add("permissions.forbidden", path, at)
	if !strings.HasSuffix(path, "**") {
		t.add("permissions.forbidden", path+"/**", at)
	}
}

func (t *translation) codexNetwork(key string, n jsontree.Node) {
	domains := n.Member("domains")
	if domains == nil {
		t.unsupportedSilent(key, n.At, "allow hosts with sandbox.network.allowedDomains")
		return
	}
	for _, m := range domains.Members {
		switch m.Value.Text {
		case "deny", "none":
			t.add("permissions.deny", ruleOf("WebFetch", "domain:"+m.Key), m.Value.At)
		default:
			t.unsupportedSilent(key+".domains."+dotted(m.Key), m.At, "allow hosts with sandbox.network.allowedDomains")
		}
	}
}

func (t *translation) codexWorkspace(m jsontree.Member) {
	for _, w := range m.Value.Members {
		key := m.Key + "." + w.Key
		switch w.Key {
		case "writable_roots":
			list, ok := texts(&w.Value)
			if !ok {
				t.unsupported(key, w.At, "want a list of folders")
			}
			for _, dir := range list {
				t.add("permissions.additionalDirectories", dir.Text, dir.At)
			}
		case "network_access":
			if w.Value.Text == "true" {
				t.unsupported(key, w.At, "allow hosts individually: holdfast sandbox allow --host HOST")
			} else {
				t.unsupportedSilent(key, w.At, "only hosts in the settings can be reached")
			}
		default:
			t.unsupportedSilent(key, w.At, "each command has its own /tmp")
		}
	}
}

// codexServers translates MCP servers.
func (t *translation) codexServers(m jsontree.Member) {
	for _, s := range m.Value.Members {
		key := dotted(m.Key, s.Key)
		if s.Value.Kind != jsontree.Object {
			t.unsupported(key, s.At, "want a table")
			continue
		}
		out := jsontree.Node{Kind: jsontree.Object, At: s.At}
		set := func(name string, v jsontree.Node, at int) {
			out.Members = append(out.Members, jsontree.Member{Key: name, At: at, Value: v})
		}
		headers := jsontree.Node{Kind: jsontree.Object, At: s.At}
		for _, f := range s.Value.Members {
			switch f.Key {
			case "command", "args", "env", "cwd":
				set(f.Key, f.Value, f.At)
			case "url":
				set("type", text("http", f.At), f.At)
				set("url", f.Value, f.At)
			case "enabled":
				if f.Value.Text == "false" {
					set("disabled", jsontree.Node{Kind: jsontree.Bool, Text: "true", At: f.At}, f.At)
				}
			case "enabled_tools":
				set("includeTools", f.Value, f.At)
			case "disabled_tools":
				set("excludeTools", f.Value, f.At)
			case "bearer_token_env_var":
				headers.Members = append(headers.Members, jsontree.Member{Key: "Authorization", At: f.At, Value: text("Bearer ${"+f.Value.Text+"}", f.Value.At)})
			case "http_headers":
				headers.Members = append(headers.Members, f.Value.Members...)
			case "env_http_headers":
				for _, h := range f.Value.Members {
					headers.Members = append(headers.Members, jsontree.Member{Key: h.Key, At: h.At, Value: text("${"+h.Value.Text+"}", h.Value.At)})
				}
			default:
				t.unsupportedSilent(key+"."+f.Key, f.At, "Holdfast's MCP servers do not have this setting")
			}
		}
		if len(headers.Members) > 0 {
			set("headers", headers, s.At)
		}
		if find(&t.out, "mcpServers") == nil {
			t.put("mcpServers", jsontree.Node{Kind: jsontree.Object, At: m.At})
		}
		servers := find(&t.out, "mcpServers")
		servers.Members = append(servers.Members, jsontree.Member{Key: s.Key, At: s.At, Value: out})
	}
}
