package shellparse

// This file is the seam between the reader, which knows the shell's language, and
// the tables, which know programs. The reader hands a command's words to study and
// follows what comes back.

// word is one word of a command after expansion.
type word struct {
	text   string // its value when static, else its source
	static bool
	glob   bool // holds an unquoted *, ? or [ (text then has the pattern)

	// below are folders in one of which the file lies that the word, not known
	// otherwise, stands for: the {} of find -exec.
	below *[]word
}

// stdin is what a command reads from standard input.
type stdin struct {
	kind  stdinKind
	text  string  // when known
	below *[]word // NUL-separated names of files below these folders, otherwise unknown (find -print0)
	words []word  // of a pipe whose writer prints a list of known words, one per line (for xargs)
}

type stdinKind uint8

const (
	stdinNone    stdinKind = iota // nothing said: the line's own
	stdinKnown                    // text is all of it: a here-document, a here-string, echo and printf of static words
	stdinUnknown                  // a pipe or file whose content is not in the line
)

// invocation is a command as the tables get it.
type invocation struct {
	name    string // without its folder
	program word
	args    []word
	assigns []string // names set in front
	in      stdin
}

// effects are what the tables know about an invocation.
type effects struct {
	runs    []run           // what it would run
	wrapper bool            // it does nothing but that
	paths   []use           // what it would touch
	chdir   *word           // cd, pushd: the commands after it run there; "" is home, "-" is unclear
	moveTo  *word           // git -C, make -C, tar -C, env -C: its own paths and runs are relative to this
	safe    bool            // certainly changes nothing with these arguments
	opaque  string          // see Command.Opaque
	unclear string          // what it runs cannot be known: the reading is not static
	output  *string         // what it certainly prints (echo, printf), for a pipe into a shell or xargs
	names   *[]word         // it prints names of files below these, each ended by a NUL
	sets    map[string]word // variables that it sets (export, read makes them unknown, printf -v)
}

// run is something that a program would run.
type run struct {
	via  string // how a person would name it: "sudo", "bash -c", "find -exec", "git alias"
	argv []word // words, or
	line string // a shell line (argv is then nil)
	in   stdin
	args []word // of a line: $0, $1 … (bash -c LINE NAME ARG…); nil: not known
	here bool   // the line runs in the very same shell: eval, trap, source; its variables, functions and cd stay
	code bool   // line is a literal out of some language's code: read it only if it looks like a command
}

// use is a path that a program would touch.
type use struct {
	path   word   // the path itself, without "--file=", "@" or "if="
	arg    string // as written
	access Access
	from   PathSource
	tree   bool
}
