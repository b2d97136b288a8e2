// Package shellparse parses a command line in the same way as bash. It returns the commands that
// the line would run, with their arguments and folders, and the paths that the commands would read
// or write. It runs nothing and does no I/O.
//
//	"cd x && sudo rm -rf $D > log"
//	   └► Reading{ Commands: cd · sudo · rm (via sudo, in x) · Paths: write x/log …
//	               Unclear: "$D cannot be known" }
//
//	r := shellparse.Parse(line, &shellparse.Options{Dir: "/w", Home: "/home/u"})
//	for _, c := range r.Commands { fmt.Println(c.Name, c.Line) }
//
// Words that are data, such as a commit message, a grep pattern or the output of echo, are never
// commands. If a program runs a file of code (make, ./x.sh, npm test), its effects are not visible
// in the command line. Such a command is Opaque, and only a sandbox can confine it.
package shellparse
