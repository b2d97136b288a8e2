package plugin

import (
	"slices"
	"strings"
)

// information are keys of the manifest that only inform readers.
var information = []string{"$schema", "displayName", "author", "homepage", "repository", "license", "keywords", "category", "tags"}

// unused are the parts of Claude Code's plugins that Holdfast has no equivalent for, by their key in
// the manifest. Each has its default path in the folder and the reason.
var unused = map[string]struct {
	path, reason string
	quiet        bool
}{
	"outputStyles": {"output-styles", "copy its files to ~/.claude/output-styles", true},
	"themes":       {"themes", "choose the colors with terminal.theme in the settings", true},
	"lspServers":   {".lsp.json", "Holdfast has no language servers", true},
	"monitors":     {"monitors", "Holdfast does not watch programs in the background", false},
	"workflows":    {"workflows", "Holdfast has strategies instead: docs/reference/strategies.md", false},
	"channels":     {"channels", "Holdfast has no channels", false},
	"settings":     {"settings.json", "copy what you want to your own settings", false},
	"userConfig":   {"", "Holdfast asks for no values; ${user_config.…} is not replaced", false},
	"dependencies": {"", "name the other plugin's folder, too", false},
	"experimental": {"", "experimental parts are not used", false},
	"bin":          {"bin", "its programs are not on the PATH of commands", false},
	"SKILL.md":     {"SKILL.md", "move it to skills/NAME/SKILL.md", false},
}

func (r *reader) unsupported(part, reason string) {
	r.p.Unsupported = append(r.p.Unsupported, Unsupported{Part: part, Reason: reason})
}

// otherKey reports a key of the manifest that is not used.
func (r *reader) otherKey(key string) {
	u, known := unused[key]
	switch {
	case slices.Contains(information, key):
	case known:
		r.addUnused(key, u.reason, u.quiet)
	default:
		r.unsupported(key, "unknown key")
	}
}

func (r *reader) addUnused(key, reason string, quiet bool) {
	if !slices.ContainsFunc(r.p.Unsupported, func(u Unsupported) bool { return u.Part == key }) {
		r.p.Unsupported = append(r.p.Unsupported, Unsupported{Part: key, Reason: reason, Quiet: quiet})
	}
}

// findUnsupported reports the parts at their default paths.
func (r *reader) findUnsupported() {
	for key, u := range unused {
		if u.path != "" && r.exists(u.path) {
			r.addUnused(key, u.reason, u.quiet)
		}
	}
	slices.SortFunc(r.p.Unsupported, func(a, b Unsupported) int { return strings.Compare(a.Part, b.Part) })
}
