package importsettings

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// openCodeTools maps the tools of opencode to Holdfast's.
var openCodeTools = map[string][]string{
	"bash": {"Bash"}, "edit": {"Edit", "Write"}, "write": {"Write"}, "read": {"Read"}, "webfetch": {"WebFetch"}, "websearch": {"WebSearch"},
	"grep": {"Grep"}, "glob": {"Glob"}, "list": {"Glob"}, "task": {"Task"}, "todowrite": {"TodoWrite"}, "skill": {"Skill"}, "patch": {"Edit"},
}

var openCodeUnsupported = map[string]string{
	"provider": "set providers in Holdfast's settings",
	"agent":    "sub-agent definitions are Markdown files: .claude/agents or .holdfast/agents", "mode": "sub-agent definitions are Markdown files: .claude/agents or .holdfast/agents",
	"command": "commands are Markdown files: .claude/commands", "plugin": "plugins of opencode are programs in TypeScript, which Holdfast does not run",
	"instructions": "name the files in AGENTS.md: @docs/style.md", "formatter": "write a PostToolUse hook", "lsp": "language servers are not supported",
	"disabled_providers": "settings cannot restrict providers", "enabled_providers": "settings cannot restrict providers",
	"share": "sessions are not shared", "autoshare": "sessions are not shared",
}

var openCodeDisplay = []string{"$schema", "theme", "keybinds", "tui", "autoupdate", "username", "layout", "server", "watcher", "snapshot", "experimental", "compaction", "logLevel", "default_agent"}

// openCode translates opencode.json.
func (t *translation) openCode(root jsontree.Node) {
	for _, m := range root.Members {
		switch why, known := openCodeUnsupported[m.Key]; {
		case m.Key == "permission":
			t.openCodePermission(m)
		case m.Key == "tools":
			for _, tool := range m.Value.Members {
				if tool.Value.Text == "false" {
					t.openCodeRule(m.Key, tool.Key, "", "deny", tool.At)
				}
			}
		case m.Key == "model":
			t.put("model", m.Value)
		case m.Key == "small_model":
			t.put("smallModel", m.Value)
		case m.Key == "mcp":
			t.openCodeServers(m)
		case known:
			t.unsupported(m.Key, m.At, why)
		case slices.Contains(openCodeDisplay, m.Key):
			t.unsupportedSilent(m.Key, m.At, "it only affects opencode's display or convenience")
		default:
			t.unsupported(m.Key, m.At, "unknown setting")
		}
	}
}

// openCodePermission translates permissions to rules. In opencode the last matching pattern wins;
// in Holdfast a deny always wins.
func (t *translation) openCodePermission(m jsontree.Member) {
	if m.Value.Kind == jsontree.Text {
		t.unsupported(m.Key, m.At, "use permissions.defaultMode to ask about everything")
		return
	}
	for _, p := range m.Value.Members {
		if p.Value.Kind != jsontree.Object {
			t.openCodeRule(m.Key, p.Key, "", p.Value.Text, p.At)
			continue
		}
		for _, pattern := range p.Value.Members {
			t.openCodeRule(m.Key, p.Key, pattern.Key, pattern.Value.Text, pattern.At)
		}
	}
}

func (t *translation) openCodeRule(key, tool, pattern, decision string, at int) {
	names, known := openCodeTools[tool]
	if !known || !slices.Contains([]string{"allow", "ask", "deny"}, decision) {
		t.unsupported(key+"."+dotted(tool), at, "unknown tool or decision")
		return
	}
	if (pattern == "*" || pattern == "") && decision != "deny" {
		if decision == "allow" {
			t.unsupported(key+"."+dotted(tool), at, "an import does not allow all uses of a tool; to do so, add "+names[0]+" to permissions.allow")
			return
		}
		if pattern == "*" { // in opencode, other patterns override "*"; in Holdfast, an ask overrides every allow
			t.unsupported(key+"."+dotted(tool, pattern), at, "for calls that no rule covers, the mode decides")
			return
		}
	}
	for _, name := range names {
		t.add("permissions."+decision, ruleOf(name, pattern), at)
	}
}

func (t *translation) openCodeServers(m jsontree.Member) {
	servers := jsontree.Node{Kind: jsontree.Object, At: m.At}
	for _, s := range m.Value.Members {
		out := jsontree.Node{Kind: jsontree.Object, At: s.At}
		set := func(name string, v jsontree.Node, at int) {
			out.Members = append(out.Members, jsontree.Member{Key: name, At: at, Value: v})
		}
		for _, f := range s.Value.Members {
			switch {
			case f.Key == "type" && f.Value.Text == "remote":
				set("type", text("http", f.At), f.At)
			case f.Key == "type":
			case f.Key == "command" && f.Value.Kind == jsontree.List && len(f.Value.Items) > 0:
				set("command", f.Value.Items[0], f.At)
				set("args", jsontree.Node{Kind: jsontree.List, At: f.At, Items: f.Value.Items[1:]}, f.At)
			case f.Key == "environment":
				set("env", f.Value, f.At)
			case f.Key == "url" || f.Key == "headers":
				set(f.Key, f.Value, f.At)
			case f.Key == "enabled":
				if f.Value.Text == "false" {
					set("disabled", jsontree.Node{Kind: jsontree.Bool, Text: "true", At: f.At}, f.At)
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
