// Package environ selects the environment variables that commands receive.
//
//	cmd.Env = environ.ForCommands(os.Environ())
package environ

import (
	"slices"
	"strings"
)

// Last keeps only the last entry of each variable.
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

// ForSandbox returns the variables of an environment that sandboxed commands receive: the locations of
// programs, tools and the home folder, the user, the language, the terminal, the time zone and the registries
// of tools. Keys and tokens are not included.
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
