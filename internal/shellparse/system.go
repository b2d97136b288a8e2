package shellparse

import (
	"path"
	"slices"
	"strings"
)

// systemFolders are the folders in which a name without a folder is expected.
var systemFolders = []string{
	"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin",
}

// IsSystemProgram reports whether a program is the system's own program with that name, such as
// "git" or "/usr/bin/git". It is false for a path with "..", because links before it may lead
// elsewhere.
func IsSystemProgram(program string) bool {
	return !strings.Contains(program, "/") || slices.Contains(systemFolders, path.Dir(program)) && !hasDotDot(program)
}

// isSystemPath reports whether a program is named by its clean path in a system folder.
func isSystemPath(program string) bool {
	return slices.Contains(systemFolders, path.Dir(program)) && path.Clean(program) == program
}

// LineByName returns Line, but for a system program with the program's name instead of its path:
// "git status" for "/usr/bin/git status". Otherwise it returns Line.
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
