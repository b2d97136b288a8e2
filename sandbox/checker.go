package sandbox

import (
	"github.com/holdfast-dev/holdfast/policy"
)

// Op is what is done to a path.
type Op string

// The operations on paths.
const (
	OpRead  Op = "read"
	OpWrite Op = "write"
)

// Options adjusts [NewChecker].
type Options struct {
	Home string            // for "~"; default the user's home folder
	Vars map[string]string // variables with known values, for commands
}

// Checker compares paths and commands with settings. It is safe for concurrent
// use. It is a [policy.Policy] for the limits of a guard: it denies or has no
// opinion.
type Checker struct{ checker }

// Denial refuses a path or a command. Its text is seed 000's; it says which
// setting refused.
type Denial struct {
	Tool    string // "Read", "Write" or "Bash", derived from the operation as in the seed
	What    string // the path or the command, as it was given
	Path    string // the canonical path, when it is about one
	Reason  string // "command 'rm' is denied by sandbox policy"
	Setting string // "deniedCommands", "allowedReadPaths", …
	Rule    string // the entry that decided, or ""
}

func (d *Denial) Error() string { return "Permission denied for " + d.Tool + ": " + d.Reason }

// NewChecker checks the settings and compiles them. A setting that cannot work is
// an error that names it; none is ignored.
func NewChecker(s *Settings, o *Options) (*Checker, error) { return newChecker(s, o) }

// CheckPath returns nil or a *[Denial]. The path may be relative to cwd, start
// with "~", hold dots, and pass links; a missing component keeps its name.
func (c *Checker) CheckPath(path, cwd string, op Op) error { return c.checkPath(path, cwd, op) }

// IsPathAllowed is CheckPath as a yes or no.
func (c *Checker) IsPathAllowed(path, cwd string, op Op) bool {
	return c.CheckPath(path, cwd, op) == nil
}

// CheckCommand returns nil or a *[Denial] for a command line that would start in cwd.
func (c *Checker) CheckCommand(line, cwd string) error { return c.checkCommand(line, cwd) }

// IsCommandAllowed is CheckCommand as a yes or no.
func (c *Checker) IsCommandAllowed(line, cwd string) bool { return c.CheckCommand(line, cwd) == nil }

// Evaluate denies what the settings forbid and has no opinion on the rest.
func (c *Checker) Evaluate(r policy.Request) policy.Verdict { return c.evaluate(r) }

// Normalize makes a path absolute and canonical: "~", dots, "//", a trailing "/"
// and links in every part are taken away, ".." after a part that does not exist
// takes that part away. "" stays "". It is idempotent.
func Normalize(path, cwd, home string) (string, error) { return normalize(path, cwd, home) }
