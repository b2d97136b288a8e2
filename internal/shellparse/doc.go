// Package shellparse parses a command line as bash would and returns the commands that it
// would run, with their arguments and folders, and the paths that they would read or write. It
// runs nothing and does no I/O.
//
//	"cd x && sudo rm -rf $D > log"
//	   └► Reading{ Commands: cd · sudo · rm (via sudo, in x) · Paths: write x/log …
//	               Unclear: "$D cannot be known" }
//
//	r := shellparse.Parse(line, &shellparse.Options{Dir: "/w", Home: "/home/u"})
//	for _, c := range r.Commands { fmt.Println(c.Name, c.Line) }
//
// Words that are data are never commands: a commit message, a grep pattern, the output of echo.
// The effects of a program that runs a file of code (make, ./x.sh, npm test) are not visible in
// the command line; such a command is Opaque, and only a sandbox can confine it.
package shellparse
