package shellparse

// This file is the interface between the parser, which knows the shell's language, and the tables, which
// know programs. The parser passes a command's words to effectsOf and follows the result.

// word is one word of a command after expansion.
type word struct {
	text   string // its value if static, otherwise its source
	static bool
	glob   bool // contains an unquoted *, ? or [ (text then has the pattern)

	shape string // of a word that is not static: its text if only numbers in it are unknown, see digitsUnknown
	open  bool   // not quoted, and not static or a pattern: it may be any number of words

	// below are folders, one of which contains the file of an otherwise unknown word: the {} of find
	// -exec.
	below *[]word
}

// stdin is the standard input of a command.
type stdin struct {
	kind  stdinKind
	text  string  // if known
	below *[]word // NUL-separated names of files below these folders, otherwise unknown (find -print0)
	words []word  // from a pipe whose writer prints a list of known words, one per line (for xargs)
}

type stdinKind uint8

const (
	stdinNone    stdinKind = iota // the command has the standard input of the whole line
	stdinKnown                    // text is the complete input: a here-document, a here-string, or echo and printf with static words
	stdinUnknown                  // a pipe or file whose content the line does not show
)

// invocation is a command as the tables receive it.
type invocation struct {
	name    string // without its folder
	program word
	args    []word
	assigns []string // names of variables set for it
	in      stdin
}

// effects are what the tables know about an invocation.
type effects struct {
	runs    []run           // the commands that it would run
	wrapper bool            // it only runs them
	paths   []use           // the paths that it would access
	chdir   *word           // cd, pushd: the following commands run there; "" is home, "-" is unclear
	moveTo  *word           // git -C, make -C, tar -C, env -C: its own paths and commands are relative to this
	safe    bool            // certainly changes nothing with these arguments
	opaque  string          // see Command.Opaque
	unclear string          // why its commands cannot be determined: the reading is not static
	output  *string         // its certain output (echo, printf), for a pipe to a shell or xargs
	names   *[]word         // it prints names of files below these folders, each terminated by a NUL
	taints  []string        // names of dangerous variables that it sets for the commands that it runs
	evals   []word          // names of variables whose subscripts the shell evaluates
	sets    map[string]word // variables that it sets (export, printf -v; read makes them unknown)
}

// run is a command that a program would run.
type run struct {
	via  string // its name for the user: "sudo", "bash -c", "find -exec", "git alias"
	argv []word // words, or
	line string // a shell line (argv is then nil)
	in   stdin
	args []word // of a line: $0, $1 … (bash -c LINE NAME ARG…); nil: unknown
	here bool   // the line runs in the same shell: eval, trap, source; its variables, functions and cd remain
	code bool   // line is a literal from code of a language: parse it only if it looks like a command
}

// use is a path that a program would access.
type use struct {
	path   word   // the path itself, without "--file=", "@" or "if="
	arg    string // as written
	access Access
	from   PathSource
	tree   bool
}
