package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/importsettings"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/policy"
)

// Effective is one setting that is in effect.
type Effective struct {
	Key     string        `json:"key"` // "permissions.deny", "providers.ollama.idleTimeout"
	Value   string        `json:"value"`
	Origin  policy.Origin `json:"origin"`
	Program string        `json:"from,omitempty"`  // the program whose file it is: claude, codex
	State   string        `json:"state,omitempty"` // for hooks and servers
}

// leaf is a scalar value of a source, or an item of a list.
type leaf struct {
	key    string
	value  string
	origin policy.Origin
	from   string
	joined bool // the values of all layers are combined

	path   []string // the parts of the key
	raw    json.RawMessage
	inList bool
}

// mergedKeys are prefixes of keys whose values are combined from all layers.
var mergedKeys = []string{
	"permissions.allow", "permissions.ask", "permissions.deny", "permissions.forbidden", "permissions.additionalDirectories", "sandbox.",
	"deniedMcpServers", "allowedMcpServers", "disabledMcpjsonServers", "claudeMdExcludes", "allowedHttpHookUrls", "httpHookAllowedEnvVars", "secrets.patterns", "plugins",
}

// addSourceValues returns the values of a source. Hooks and servers are listed with their status
// instead.
func (s *parsedSource) addSourceValues(root jsontree.Node) {
	var walk func(path []string, n jsontree.Node)
	note := func(path []string, value string, n jsontree.Node, inList bool) {
		key := strings.Join(path, ".")
		s.values = append(s.values, leaf{
			path: path, raw: json.RawMessage(s.data[n.At:n.End]), inList: inList,
			key: key, value: value, origin: s.origin(n, value), from: string(s.program),
			joined: slices.ContainsFunc(mergedKeys, func(k string) bool { return strings.HasPrefix(key, k) }),
		})
	}
	walk = func(path []string, n jsontree.Node) {
		switch n.Kind {
		case jsontree.Object:
			for _, m := range n.Members {
				if len(path) == 0 && (m.Key == "hooks" || m.Key == "mcpServers" || m.Key == "$schema") {
					continue
				}
				walk(append(slices.Clone(path), m.Key), m.Value)
			}
		case jsontree.List:
			if len(n.Items) == 0 || slices.Equal(path, []string{"compact", "steps"}) { // one value
				note(path, string(s.data[n.At:n.End]), n, false)
				return
			}
			for _, item := range n.Items {
				if item.Kind == jsontree.Object || item.Kind == jsontree.List {
					note(path, string(s.data[item.At:item.End]), item, true)
				} else {
					note(path, item.Text, item, true)
				}
			}
		default:
			note(path, n.Text, n, false)
		}
	}
	walk(nil, root)
}

// Effective lists the settings in effect with their origins, the strongest layer first, including
// flags. Secrets in values are masked as configured.
func (s *Settings) Effective() []Effective {
	var list []Effective
	seen := map[string]bool{}
	for _, v := range s.values {
		if s.hasNoEffect(v) {
			continue
		}
		if !v.joined {
			at := fmt.Sprint(v.key, " ", v.origin.File)
			if _, known := seen[v.key]; known && !seen[at] {
				continue
			}
			seen[v.key], seen[at] = true, true // a list is treated as one value of its layer
		}
		list = append(list, Effective{Key: v.key, Value: v.value, Origin: v.origin, Program: v.from})
	}
	for i := range s.Hooks {
		h := &s.Hooks[i]
		value := HookName(&h.Definition)
		if h.Matcher != "" {
			value = h.Matcher + ": " + value
		}
		list = append(list, Effective{Key: "hooks." + string(h.Event), Value: value, Origin: h.Origin, Program: s.Program(h.Origin.File), State: string(h.Status)})
	}
	for i := range s.MCPServers {
		srv := &s.MCPServers[i]
		value := srv.URL
		if value == "" {
			value = strings.Join(append([]string{srv.Command}, srv.Args...), " ")
		}
		list = append(list, Effective{Key: "mcpServers." + srv.Name, Value: value, Origin: srv.Origin, State: string(srv.Status)})
	}
	if m, err := s.Masker(); err == nil && m != nil {
		for i := range list {
			list[i].Value, _ = m.Text(list[i].Value)
		}
	}
	slices.SortStableFunc(list, func(a, b Effective) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// hasNoEffect reports whether a value is ignored.
func (s *Settings) hasNoEffect(v leaf) bool {
	at := func(o policy.Origin) bool {
		return o.File == v.origin.File && o.Line == v.origin.Line && o.Col == v.origin.Col
	}
	below := func(key string, o policy.Origin) bool {
		return o.File == v.origin.File && (v.key == key || strings.HasPrefix(v.key, key+"."))
	}
	return slices.ContainsFunc(s.Ignored, func(i Ignored) bool { return at(i.Origin) || below(i.Setting, i.Origin) }) ||
		slices.ContainsFunc(s.Foreign, func(f UnsupportedSetting) bool { return at(f.Origin) || below(f.Key, f.Origin) })
}

// Program returns the program whose settings file it is: claude, codex, or "" for Holdfast.
func (s *Settings) Program(file string) string {
	i := slices.IndexFunc(s.Layers, func(l Layer) bool { return l.File == file })
	if i < 0 {
		return ""
	}
	return s.Layers[i].Program
}

// addFlagValues adds leaves for flags.
func (s *parsedSource) addFlagValues() {
	note := func(key, value string, o policy.Origin, joined bool) {
		if value != "" {
			s.values = append(s.values, leaf{key: key, value: value, origin: o, joined: joined})
		}
	}
	for _, r := range s.rules {
		note("permissions."+string(r.Effect), r.Text, ruleOrigin(r), true)
	}
	for _, f := range s.folders {
		note("permissions.additionalDirectories", f.Value, f.Origin, true)
	}
	for _, f := range s.plugins {
		note("plugins", f.Value, f.Origin, true)
	}
	note("permissions.defaultMode", string(s.mode.Value), s.mode.Origin, false)
	note("permissions.onAsk", string(s.onAsk.Value), s.onAsk.Origin, false)
	if s.askTimeout.Value > 0 {
		note("permissions.askTimeout", s.askTimeout.Value.String(), s.askTimeout.Origin, false)
	}
	if s.hooks.off.Value != nil {
		note("disableAllHooks", "true", s.hooks.off.Origin, false)
	}
}

// LayerName returns the display name of a layer.
func LayerName(l *Layer) string {
	if l.Program == "" {
		return l.Layer
	}
	return l.Layer + ", " + importsettings.Program(l.Program).String()
}
