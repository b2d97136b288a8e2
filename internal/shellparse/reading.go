package shellparse

// MaxLine is the maximum length in bytes of a line that is parsed; a longer one is unclear.
const MaxLine = 64 << 10

// Options describe where a line would run. With the zero value, "~", "$HOME" and relative paths are
// unclear.
type Options struct {
	Dir  string            // the current folder, absolute and without links
	Home string            // of the user
	Vars map[string]string // known variables other than HOME and PWD
}

// Reading describes what a line would do.
type Reading struct {
	// Commands are the simple commands that may run, in the order in which they are in the line. A
	// command that is run through others (sudo, sh -c, xargs, a substitution) comes after them in
	// the list and has them in its Wrappers.
	Commands []Command
	// Unclear contains the reasons why Commands may be incomplete, or why a command cannot be
	// determined. Empty: the reading is static.
	Unclear []string
}

// Static reports whether every command that the line itself runs is known.
func (r *Reading) Static() bool { return len(r.Unclear) == 0 }

// Safe reports whether the line certainly changes nothing and runs nothing unknown: it is static,
// each of its commands is Safe, and it writes no file.
func (r *Reading) Safe() bool {
	if !r.Static() || len(r.Commands) == 0 {
		return false
	}
	for i := range r.Commands {
		if !r.Commands[i].Safe {
			return false
		}
	}
	return true
}

// Command is one simple command.
type Command struct {
	Name     string   // the program without its folder: "rm"; "" if it is unknown
	Program  string   // as it would be looked up: "/usr/bin/rm", "./x.sh"
	Args     []Arg    // without the program
	Line     string   // program and arguments in canonical form, see [Canonical]; rules are compared with this text
	Source   string   // as written in the line, without assignments and redirects
	Assigns  []string // names of variables that are set for it: "PATH"
	Dir      string   // the folder in which it would run if each cd before it succeeded, absolute; "" if unknown
	Wrappers []string // the commands through which it is run, outermost first: "sudo", "bash -c", "$()", "find -exec", "python code"
	Paths    []Path   // the paths that it would access, including redirects; a relative path is listed once for each folder in which the command may run

	// Safe means that it changes nothing with exactly these arguments (ls, git status), and writes none of
	// its paths.
	Safe bool
	// Wrapper means that the program only runs other commands, which have it in their Wrappers.
	Wrapper bool
	// Opaque is the reason why the line does not show its effects, such as "runs ./x.sh", "runs
	// commands from the project's files" or "unknown flag --frob of cp"; otherwise "".
	Opaque string
}

// Arg is one argument.
type Arg struct {
	Text   string // its value, or its source text if it is not static
	Static bool
}

// Access is a set of bits: how a path is accessed.
type Access uint8

// The accesses.
const (
	Read  Access = 1 << iota
	Write        // create, change, remove
	Exec         // run as a program, or load as code
)

// PathSource is how a path was found.
type PathSource string

// The origins of a path.
const (
	FromArgument PathSource = "argument" // the program's row in the table says that it is a path
	FromRedirect PathSource = "redirect"
	FromCode     PathSource = "code"  // a literal in a program's code, or in a list of files
	FromSyntax   PathSource = "shape" // an argument of an unknown program that looks like a path
	FromGuess    PathSource = "guess" // a plain word of an unknown program, which may be a file's name
)

// Path is a path that a command would access.
type Path struct {
	Path   string // absolute and without . and .. elements; "" if unknown
	Raw    string // if Path had a "..": Path before "." and ".." were removed, because a kernel resolves ".." after links
	Arg    string // as written
	Access Access
	Source PathSource
	Tree   bool // with everything below it (rm -r, a folder given to grep -r, a glob)
	// Pattern is the absolute pattern of a glob, if only its matches are accessed: Path is then the folder
	// above them.
	Pattern string
}

// Parse parses a line. It never returns an error: parts that cannot be parsed are in Unclear. o may
// be nil.
func Parse(line string, o *Options) *Reading {
	if o == nil {
		o = &Options{}
	}
	return read(line, o)
}
