package shellparse

// This file is the interface between the parser and the tables: the parser knows the language of
// the shell, the tables know the programs. The parser passes the words of a command to effectsOf,
// and follows the effects that it returns.

// word is one word of a command after expansion.
type word struct {
	text   string // its value if it is static, otherwise its source
	static bool
	glob   bool // contains an unquoted *, ? or [ (text is then the pattern)

	shape string // for a word that is not static: its text if only numbers in it are unknown, see digitsUnknown
	open  bool   // not quoted, and either not static or a pattern: it may become any number of words

	// below are folders. The file that the word names is below one of them and otherwise unknown,
	// as for the {} of find -exec.
	below *[]word
}

// stdin is the standard input of a command.
type stdin struct {
	kind  stdinKind
	text  string  // if known
	below *[]word // names of files below these folders, separated by NUL and otherwise unknown (find -print0)
	words []word  // from a pipe whose writer prints a list of known words, one per line; xargs needs them
}

type stdinKind uint8

const (
	stdinNone    stdinKind = iota // the command has the same standard input as the whole line
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

// effects are the facts that the tables contain about an invocation.
type effects struct {
	runs    []run           // the commands that it would run
	wrapper bool            // it only runs them
	paths   []use           // the paths that it would access
	chdir   *word           // cd, pushd: the following commands run there; "" is the home folder, "-" is unclear
	moveTo  *word           // git -C, make -C, tar -C, env -C: the paths and commands of the program are relative to this folder
	safe    bool            // never changes anything with these arguments
	opaque  string          // see Command.Opaque
	unclear string          // the reason why its commands cannot be determined: the reading is not static
	output  *string         // its output (echo, printf), if that is certain; it is needed for a pipe to a shell or xargs
	names   *[]word         // it prints names of files below these folders, each terminated by a NUL
	taints  []string        // dangerous variables that it sets for the commands that it runs, by name
	evals   []word          // names of variables whose subscripts the shell evaluates
	sets    map[string]word // variables that it sets (export, printf -v; read makes them unknown)
}

// run is a command that a program would run.
type run struct {
	via  string // its name as the user sees it: "sudo", "bash -c", "find -exec", "git alias"
	argv []word // words, or
	line string // a shell line (argv is then nil)
	in   stdin
	args []word // of a line: $0, $1 … (bash -c LINE NAME ARG…); nil: unknown
	here bool   // the line runs in the same shell (eval, trap, source): the changes of variables, functions and the folder remain
	code bool   // line is a literal from the code of a language: it is parsed only if it looks like a command
}

// use is a path that a program would access.
type use struct {
	path   word   // the path itself, without a prefix such as "--file=", "@" or "if="
	arg    string // as written
	access Access
	from   PathSource
	tree   bool
}
