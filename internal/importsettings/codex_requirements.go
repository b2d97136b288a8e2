package importsettings

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// requirements translates Codex's requirements.toml, an administrator's restrictions. What has no
// equivalent is skipped and reported.
func (t *translation) requirements(root jsontree.Node) {
	for _, m := range root.Members {
		switch m.Key {
		case "rules":
			t.prefixRules(m.Value)
		case "allowed_approval_policies":
			t.withoutBypass(m, "never")
		case "allowed_sandbox_modes":
			t.withoutBypass(m, "danger-full-access")
		case "mcp_servers":
			t.allowedServers(m)
		case "permissions":
			t.requiredPermissions(m.Value)
		case "hooks":
			t.requiredHooks(m.Value)
		case "features", "enforce_residency":
			t.unsupportedSilent(m.Key, m.At, "Codex features have no equivalent in Holdfast")
		case "allowed_web_search_modes":
			t.unsupported(m.Key, m.At, "to disable it, add WebSearch to permissions.deny")
		default:
			t.unsupported(m.Key, m.At, "unknown setting; check that nothing relies on it")
		}
	}
}

// withoutBypass disables the mode without approvals if a list does not contain the equally
// permissive value.
func (t *translation) withoutBypass(m jsontree.Member, wide string) {
	list, ok := texts(&m.Value)
	if !ok {
		t.refuse(m.Value.At, "%s must be a list of strings", m.Key)
		return
	}
	names := make([]string, len(list))
	for i, n := range list {
		names[i] = n.Text
	}
	if !slices.Contains(names, wide) {
		t.put("permissions.disableBypassPermissionsMode", text("disable", m.Value.At))
	}
	if m.Key == "allowed_sandbox_modes" && !slices.Contains(names, "workspace-write") && !slices.Contains(names, wide) {
		t.add("permissions.deny", "Edit", m.Value.At)
		t.add("permissions.deny", "Write", m.Value.At)
		t.unsupported(m.Key, m.At, "read-only denies Edit and Write; for commands that write, the mode decides")
	}
}

// prefixRules translates rules for commands to deny and ask rules.
func (t *translation) prefixRules(n jsontree.Node) {
	list := n.Member("prefix_rules")
	if list == nil || list.Kind != jsontree.List {
		t.refuse(n.At, "rules.prefix_rules: want a list")
		return
	}
	for _, r := range list.Items {
		key := ""
		switch d := r.Member("decision"); {
		case d == nil:
			t.refuse(r.At, "rules.prefix_rules: a rule has no decision")
			return
		case d.Text == "forbidden":
			key = "permissions.deny"
		case d.Text == "prompt":
			key = "permissions.ask"
		default:
			t.refuse(d.At, "rules.prefix_rules: unknown decision %q", d.Text)
			return
		}
		lines, ok := prefixes(r.Member("pattern"))
		if !ok {
			t.refuse(r.At, "rules.prefix_rules: invalid pattern")
			return
		}
		for _, line := range lines {
			t.add(key, "Bash("+line+":*)", r.At)
		}
	}
}

// maxPrefixes is the maximum number of rules into which one rule is translated.
const maxPrefixes = 256

// prefixes returns the command prefixes of a pattern. A pattern is a list of words, each with one
// or more alternatives.
func prefixes(n *jsontree.Node) ([]string, bool) {
	if n == nil || n.Kind != jsontree.List || len(n.Items) == 0 {
		return nil, false
	}
	lines := []string{""}
	for i := range n.Items {
		words, ok := alternatives(&n.Items[i])
		if !ok || len(lines)*len(words) > maxPrefixes {
			return nil, false
		}
		var longer []string
		for _, line := range lines {
			for _, w := range words {
				longer = append(longer, strings.TrimPrefix(line+" "+w, " "))
			}
		}
		lines = longer
	}
	return lines, true
}

// alternatives returns the alternatives of one word of a pattern.
func alternatives(n *jsontree.Node) (words []string, ok bool) {
	if n.Kind == jsontree.Object {
		if one := n.Member("token"); one != nil {
			n = one
		} else if n = n.Member("any_of"); n == nil {
			return nil, false
		}
	}
	list, ok := texts(n)
	for _, w := range list {
		if w.Text == "" || strings.ContainsAny(w.Text, " \t\n()*\\'\"") { // a rule cannot express this word
			return nil, false
		}
		words = append(words, w.Text)
	}
	return words, ok && len(words) > 0
}

// allowedServers translates the list of the only allowed MCP servers.
func (t *translation) allowedServers(m jsontree.Member) {
	list := jsontree.Node{Kind: jsontree.List, At: m.Value.At}
	for _, s := range m.Value.Members {
		entry := jsontree.Member{Key: "serverName", At: s.At, Value: text(s.Key, s.At)}
		if id := s.Value.Member("identity"); id != nil {
			if u := id.Member("url"); u != nil {
				entry.Key, entry.Value = "serverUrl", *u
			} else {
				t.unsupported(dotted(m.Key, s.Key)+".identity.command", s.At, "servers are compared by name, not by program")
			}
		}
		list.Items = append(list.Items, jsontree.Node{Kind: jsontree.Object, At: s.At, Members: []jsontree.Member{entry}})
	}
	t.put("allowedMcpServers", list)
}

// requiredPermissions denies access to files.
func (t *translation) requiredPermissions(n jsontree.Node) {
	for _, m := range n.Members {
		deny := m.Value.Member("deny_read")
		if m.Key != "filesystem" || deny == nil {
			t.unsupported("permissions."+m.Key, m.At, "unknown setting; check that nothing relies on it")
			continue
		}
		list, ok := texts(deny)
		if !ok {
			t.refuse(deny.At, "permissions.filesystem.deny_read: want a list of paths")
			return
		}
		for _, p := range list {
			t.forbid(p.Text, p.At)
		}
	}
}

// requiredHooks imports hooks in Claude Code's form.
func (t *translation) requiredHooks(n jsontree.Node) {
	out := jsontree.Node{Kind: jsontree.Object, At: n.At}
	for _, m := range n.Members {
		if m.Value.Kind == jsontree.List {
			out.Members = append(out.Members, m)
			continue
		}
		t.unsupportedSilent("hooks."+m.Key, m.At, "a hook's command names its file")
	}
	t.put("hooks", out)
}
