package shellparse

import (
	"path"
	"slices"
	"strings"
)

// systemFolders are where a name without a folder is expected to be found.
var systemFolders = []string{
	"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin",
}

// IsSystemProgram reports whether a program is the system's own of that name: "git", "/usr/bin/git".
// The path is absolute.
func IsSystemProgram(program string) bool {
	return !strings.Contains(program, "/") || slices.Contains(systemFolders, path.Dir(path.Clean(program)))
}

// LineByName is Line with the program's bare name in place of its path, where that is the
// system's: "git status" of "/usr/bin/git status". Otherwise it is Line.
func (c *Command) LineByName() string {
	if c.Name == c.Program || c.Name == "" || !path.IsAbs(c.Program) || !IsSystemProgram(c.Program) {
		return c.Line
	}
	rest, ok := strings.CutPrefix(c.Line, c.Program)
	if !ok { // quoted
		return c.Line
	}
	return c.Name + rest
}
