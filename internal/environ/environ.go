// Package environ picks what commands may know of the environment of this process.
//
//	cmd.Env = environ.ForCommands(os.Environ())
package environ

import "strings"

// ForCommands picks what commands may know of an environment: where programs and the
// home are, who the user is, the language, the terminal and the time zone. Keys and
// tokens are not in it.
func ForCommands(all []string) []string {
	var kept []string
	for _, entry := range all {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ":
			kept = append(kept, entry)
		default:
			if strings.HasPrefix(name, "LC_") {
				kept = append(kept, entry)
			}
		}
	}
	return kept
}
