// Package shellparse reads a command line the way bash would and says which
// commands it would run, with which arguments, where, and which paths they would
// read or write. It runs nothing, touches nothing and does no I/O.
//
//	"cd x && sudo rm -rf $D > log"
//	   └► Reading{ Commands: cd · sudo · rm (via sudo, in x) · Paths: write x/log …
//	               Unclear: "$D cannot be known" }
//
//	r := shellread.Parse(line, &shellread.Options{Dir: "/w", Home: "/home/u"})
//	for _, c := range r.Commands { fmt.Println(c.Name, c.Line) }
//
// A word in data position is data: a commit message, a grep pattern and what
// echo prints are never commands. What a program does with a file of code (make,
// ./x.sh, npm test) is not in the line; such a command is Opaque, and only a
// sandbox can hold it.
package shellparse
