package shellparse

// MaxLine is the longest line in bytes that is read; a longer one is unclear.
const MaxLine = 64 << 10

// Options say what is known about where a line would run. The zero value knows
// nothing: then "~", "$HOME" and relative paths are unclear.
type Options struct {
	Dir  string            // the current folder, absolute and without links
	Home string            // of the user
	Vars map[string]string // variables whose values are known, besides HOME and PWD
}

// Reading is what a line would do.
type Reading struct {
	// Commands are the simple commands that may run, in the order of the line. A
	// command that is run through others (sudo, sh -c, xargs, a substitution)
	// stands after them, and they are in it as Via.
	Commands []Command
	// Unclear says why Commands may lack one, or why a command cannot be known.
	// Empty: the reading is static.
	Unclear []string
}

// Static reports whether everything that the line runs by itself is known.
func (r *Reading) Static() bool { return len(r.Unclear) == 0 }

// Safe reports whether the line certainly changes nothing and runs nothing that
// is not known: it is static, every command is Safe, and it writes no file.
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
	Name     string   // the program without its folder: "rm"; "" when it cannot be known
	Program  string   // as it would be looked up: "/usr/bin/rm", "./x.sh"
	Args     []Arg    // after the program
	Line     string   // program and arguments in canonical form, see [Canonical]; what rules match
	Source   string   // as it stands in the line, without assignments and redirects
	Assigns  []string // names of variables that are set for it: "PATH"
	Dir      string   // where it would run if each cd before it worked, absolute; "" when it cannot be known
	Wrappers []string // what it is run through, outermost first: "sudo", "bash -c", "$()", "find -exec", "python code"
	Paths    []Path   // what it would touch, redirects included; relative ones once for each folder it may run in

	// Safe: known to change nothing with exactly these arguments (ls, git status),
	// and none of its paths is written.
	Safe bool
	// Wrapper: it does nothing but run the commands that have it in Via.
	Wrapper bool
	// Opaque says why its effects are not in the line, or is "": "runs ./x.sh",
	// "runs the code of a Makefile", "cp does not have the flag --frob".
	Opaque string
}

// Arg is one argument.
type Arg struct {
	Text   string // its value, or its source text when it is not static
	Static bool
}

// Access is what is done to a path: a set of bits.
type Access uint8

// The accesses.
const (
	Read  Access = 1 << iota
	Write        // create, change, remove
	Exec         // run as a program, or load as code
)

// PathSource says how a path was found.
type PathSource string

// The origins of a path.
const (
	FromArgument PathSource = "argument" // the program's table says that it is one
	FromRedirect PathSource = "redirect"
	FromCode     PathSource = "code"  // a literal in a program's code, or in a list of files
	FromSyntax   PathSource = "shape" // an argument of an unknown program that looks like a path
	FromGuess    PathSource = "guess" // a plain word of an unknown program, which may be a file's name
)

// Path is a path that a command would touch.
type Path struct {
	Path   string // absolute and lexically clean; "" when it cannot be known
	Raw    string // Path before "." and ".." were taken away, when it had ".."; a kernel takes them after links
	Arg    string // as written
	Access Access
	Source PathSource
	Tree   bool // with everything below it (rm -r, a folder given to grep -r, a glob)
	// Pattern is the absolute pattern of a glob, when nothing but its matches is
	// touched: Path is then the folder below which they lie.
	Pattern string
}

// Parse reads a line. It never fails: what cannot be read is Unclear. o may be nil.
func Parse(line string, o *Options) *Reading {
	if o == nil {
		o = &Options{}
	}
	return read(line, o)
}
