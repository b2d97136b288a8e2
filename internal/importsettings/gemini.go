package importsettings

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// geminiTools maps the tools of Gemini CLI to Holdfast's.
var geminiTools = map[string]string{
	"run_shell_command": "Bash", "ShellTool": "Bash", "read_file": "Read", "ReadFileTool": "Read", "read_many_files": "Read", "write_file": "Write", "WriteFileTool": "Write",
	"replace": "Edit", "EditTool": "Edit", "web_fetch": "WebFetch", "WebFetchTool": "WebFetch", "google_web_search": "WebSearch", "glob": "Glob", "GlobTool": "Glob",
	"search_file_content": "Grep", "grep_search": "Grep", "GrepTool": "Grep", "list_directory": "Glob", "LSTool": "Glob", "write_todos": "TodoWrite",
}

var geminiUnsupported = map[string]string{
	"context.fileName": "AGENTS.md and CLAUDE.md are read; put @GEMINI.md into one of them", "contextFileName": "AGENTS.md and CLAUDE.md are read; put @GEMINI.md into one of them",
	"tools.core": "set the available tools with --tools", "coreTools": "set the available tools with --tools",
	"tools.sandbox": "commands always run in the sandbox", "sandbox": "commands always run in the sandbox",
	"security.auth": "keys are set per provider", "selectedAuthType": "keys are set per provider",
	"mcp.allowed": "only managed settings can restrict servers to a list", "allowMCPServers": "only managed settings can restrict servers to a list",
	"telemetry": "set telemetry with OTEL_ variables", "hooks": "its events have different names and inputs; write Holdfast hooks",
	"tools.discoveryCommand": "tools come from MCP servers", "tools.callCommand": "tools come from MCP servers",
	"security.disableYoloMode": "write permissions.disableBypassPermissionsMode: \"disable\"",
}

var geminiDisplay = []string{"$schema", "ui", "theme", "general", "ide", "privacy", "output", "model", "advanced", "experimental", "context", "security", "tools", "mcp", "admin", "vimMode", "checkpointing", "usageStatisticsEnabled", "hideTips", "hideBanner", "preferredEditor", "accessibility", "fileFiltering", "bugCommand"}

// gemini translates a settings.json of Gemini CLI, in the nested or the older flat form.
func (t *translation) gemini(root jsontree.Node) {
	for _, m := range root.Members {
		nested := m.Value.Kind == jsontree.Object && slices.Contains([]string{"general", "tools", "mcp", "context", "security", "model"}, m.Key)
		if !nested {
			t.geminiKey(m.Key, m)
			continue
		}
		for _, inner := range m.Value.Members {
			t.geminiKey(m.Key+"."+inner.Key, inner)
		}
	}
}

func (t *translation) geminiKey(key string, m jsontree.Member) {
	why, known := geminiUnsupported[key]
	group, _, _ := strings.Cut(key, ".")
	switch {
	case key == "mcpServers":
		t.geminiServers(m)
	case key == "tools.allowed" || key == "allowedTools":
		t.geminiRules(key, "allow", m)
	case key == "tools.exclude" || key == "excludeTools":
		t.geminiRules(key, "deny", m)
	case key == "mcp.excluded" || key == "excludeMCPServers":
		list, _ := texts(&m.Value)
		for _, s := range list {
			t.add("disabledMcpjsonServers", s.Text, s.At)
		}
	case key == "general.defaultApprovalMode":
		mode, ok := map[string]string{"default": "default", "auto_edit": "acceptEdits", "plan": "plan"}[m.Value.Text]
		if !ok {
			t.unsupported(key, m.At, "unknown mode")
			return
		}
		t.put("permissions.defaultMode", text(mode, m.Value.At))
	case key == "model.name" && m.Value.Kind == jsontree.Text:
		t.put("model", text("gemini/"+m.Value.Text, m.Value.At))
	case key == "autoAccept" || key == "tools.autoAccept":
		t.unsupportedSilent(key, m.At, "commands that change nothing need no approval")
	case key == "context.includeDirectories" || key == "includeDirectories":
		list, _ := texts(&m.Value)
		for _, dir := range list {
			t.add("permissions.additionalDirectories", dir.Text, dir.At)
		}
	case known:
		t.unsupported(key, m.At, why)
	case slices.Contains(geminiDisplay, group):
		t.unsupportedSilent(key, m.At, "it only affects Gemini CLI's display or convenience")
	default:
		t.unsupported(key, m.At, "unknown setting")
	}
}

// geminiRules translates tool names to rules: "run_shell_command(git status)".
func (t *translation) geminiRules(key, decision string, m jsontree.Member) {
	list, ok := texts(&m.Value)
	if !ok {
		t.unsupported(key, m.At, "want a list of tools")
		return
	}
	for _, n := range list {
		name, what, bound := strings.Cut(strings.TrimSuffix(n.Text, ")"), "(")
		tool, known := geminiTools[name]
		switch {
		case !known:
			t.unsupported(key, n.At, "unknown tool "+name)
		case bound:
			t.add("permissions."+decision, ruleOf(tool, what+":*"), n.At)
		default:
			t.add("permissions."+decision, tool, n.At)
		}
	}
}

func (t *translation) geminiServers(m jsontree.Member) {
	servers := jsontree.Node{Kind: jsontree.Object, At: m.At}
	for _, s := range m.Value.Members {
		out := jsontree.Node{Kind: jsontree.Object, At: s.At}
		set := func(name string, v jsontree.Node, at int) {
			out.Members = append(out.Members, jsontree.Member{Key: name, At: at, Value: v})
		}
		for _, f := range s.Value.Members {
			switch f.Key {
			case "command", "args", "env", "cwd", "headers", "timeout", "includeTools", "excludeTools", "description":
				set(f.Key, f.Value, f.At)
			case "httpUrl":
				set("type", text("http", f.At), f.At)
				set("url", f.Value, f.At)
			case "url":
				set("type", text("sse", f.At), f.At)
				set("url", f.Value, f.At)
			case "trust":
				if f.Value.Text == "true" {
					t.unsupported(dotted(m.Key, s.Key)+".trust", f.At, "server definitions cannot grant permissions; add to permissions.allow: mcp__"+s.Key)
				}
			default:
				t.unsupportedSilent(dotted(m.Key, s.Key)+"."+f.Key, f.At, "Holdfast's MCP servers do not have this setting")
			}
		}
		servers.Members = append(servers.Members, jsontree.Member{Key: s.Key, At: s.At, Value: out})
	}
	if len(servers.Members) > 0 {
		t.put("mcpServers", servers)
	}
}
