// Package environ picks what commands may know of the environment of this process.
//
//	cmd.Env = environ.ForCommands(os.Environ())
package environ

import (
	"slices"
	"strings"
)

// Last keeps of each variable the last entry.
func Last(all []string) []string {
	at := map[string]int{}
	for i, entry := range all {
		name, _, _ := strings.Cut(entry, "=")
		at[name] = i
	}
	var kept []string
	for i, entry := range all {
		if name, _, _ := strings.Cut(entry, "="); at[name] == i {
			kept = append(kept, entry)
		}
	}
	return slices.Clip(kept)
}

// ForSandbox picks what commands may know of an environment: where programs, tools and the
// home are, who the user is, the language, the terminal, the time zone and the registries that tools
// ask. Keys and tokens are not in it.
func ForSandbox(all []string) []string {
	var kept []string
	for _, entry := range all {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ":
			kept = append(kept, entry)
		default:
			if strings.HasPrefix(name, "LC_") || isToolVariable(name, value) {
				kept = append(kept, entry)
			}
		}
	}
	return kept
}
