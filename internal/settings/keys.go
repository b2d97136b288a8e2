package settings

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// claudeKeys are keys of Claude Code's settings that have no meaning here, with a hint. Ignoring
// one silently could allow what it restricts.
var claudeKeys = map[string]string{
	"apiKeyHelper":    `write {"providers": {"anthropic": {"apiKey": "command:PROGRAM ARGUMENTS"}}}`,
	"disableAutoMode": "write deny rules for what auto mode must not do",
	"autoMode":        "holdfast policy show lists what auto mode denies",
	"allowedTools":    "write permissions.allow",
	"disallowedTools": "write permissions.deny",

	"includeCoAuthoredBy": noEffect, "attribution": noEffect,
	"alwaysThinkingEnabled": noEffect, "spinnerTipsEnabled": noEffect, "autoUpdatesChannel": noEffect, "language": noEffect,
	"enabledPlugins":         `write the folders of plugins: "plugins": ["~/kit"]`,
	"extraKnownMarketplaces": noEffect, "fileSuggestion": noEffect,
}

const noEffect = "this Claude Code key has no effect in Holdfast"

// keyHint returns the hint for an unknown key.
func keyHint[T any](path, key string, known map[string]T) string {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if strings.EqualFold(name, key) {
			return "write it as " + name
		}
	}
	if why, ok := claudeKeys[key]; ok {
		return "remove it: " + why
	}
	if path == "" && slices.Contains(permissionKeys, key) {
		return "move it into permissions"
	}
	if path == "" && slices.Contains(sandboxKeys, key) {
		return "move it into sandbox"
	}
	return spelling.Hint(key, slices.Sorted(maps.Keys(known)), "the settings are")
}

var permissionKeys = []string{"allow", "ask", "deny", "defaultMode", "additionalDirectories", "forbidden", "onAsk", "askTimeout", "askToOverride"}

var sandboxKeys = []string{
	"allowedReadPaths", "allowedWritePaths", "deniedPaths", "protectedPaths", "deniedCommands", "allowedCommands", "excludedCommands",
	"autoAllowBashIfSandboxed", "filesystem", "network", "limits",
}
