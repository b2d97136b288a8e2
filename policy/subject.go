package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// requestView is a request as the links of a chain look at it: its command is read
// once, its paths are resolved once, and what rules are compared with is written
// down once.
type requestView struct {
	Request

	reading *shellparse.Reading // of a command; nil of everything else
	read    shellparse.Options  // that it was made with
	places  []requestPath       // what the request, or its command, would touch
	lines   [][]string          // by command: what a deny or ask rule is compared with
	params  *params             // of the input; nil until somebody asks
}

// requestPath is a path that a request would touch.
type requestPath struct {
	path    string // absolute and clean, as it is named; "" when it cannot be known
	real    string // the same without links; what does not exist keeps its name
	arg     string // as a command writes it
	pattern string // absolute, of a glob when nothing but its matches is touched
	access  shellparse.Access
	from    shellparse.PathSource // "" when the request is about the path itself
	tree    bool                  // with everything below
	command int                   // the index of the command that names it; -1 when there is none
}

// builtinPolicy is a built-in policy: it does not read a command that has been read,
// never blocks and never panics.
type builtinPolicy interface {
	judge(s *requestView) Verdict
}

// newSubject prepares a request. home and resolve are those of [Config]; resolve may be nil.
func newSubject(r Request, home string, resolve func(string) string) *requestView {
	s := &requestView{Request: r}
	if line := r.command(); line != "" || r.Operation == OpCommand {
		s.read = shellparse.Options{Dir: r.Cwd, Home: home}
		s.reading = shellparse.Parse(line, &s.read)
		s.readPlaces(resolve)
		s.lines = linesOf(s.reading)
	}
	if access := accessOf(r); access != 0 {
		p := requestPath{path: absolute(r.Resource, r.Cwd), access: access, command: -1}
		p.real = resolved(throughProc(p.path, r.Cwd), resolve)
		if named := absolute(r.NamedPath, r.Cwd); named != "" {
			p.path = named
		}
		if s.reading != nil {
			p.command = 0 // which it is
		}
		s.places = append(s.places, p)
	}
	return s
}

// command is the command line of a request that runs one; "" of others.
func (r *Request) command() string {
	switch r.Operation {
	case OpCommand:
		return r.Resource
	case OpExec:
		return r.Line
	case OpRead, OpWrite, OpConnect, OpMCP, OpSecret:
	}
	return ""
}

func (s *requestView) readPlaces(resolve func(string) string) {
	n := 0
	for i := range s.reading.Commands {
		n += len(s.reading.Commands[i].Paths)
	}
	if n == 0 {
		return
	}
	s.places = make([]requestPath, 0, n)
	for i := range s.reading.Commands {
		for _, p := range s.reading.Commands[i].Paths {
			named := p.Path
			if p.Raw != "" && resolve != nil {
				named = p.Raw // ".." is taken after a link
			}
			s.places = append(s.places, requestPath{
				path: p.Path, real: resolved(throughProc(named, s.reading.Commands[i].Dir), resolve), arg: p.Arg, pattern: p.Pattern,
				access: p.Access, from: p.Source, tree: p.Tree, command: i,
			})
		}
	}
}

// accessOf says how a request that is not a command touches its resource; 0 when
// its resource is not a path.
func accessOf(r Request) shellparse.Access {
	switch r.Operation {
	case OpRead:
		return shellparse.Read
	case OpWrite:
		return shellparse.Write
	case OpExec:
		return shellparse.Exec
	case OpSecret:
		if path.IsAbs(r.Resource) {
			return shellparse.Read
		}
	case OpCommand, OpConnect, OpMCP:
	}
	return 0
}

// ofServer is the name that a tool would have as one of the MCP server that it asks, so
// that what forbids the server holds for it too; "" for others and for the server's own. Its
// resource begins with the server as rules name it.
func (s *requestView) ofServer() string {
	server, _, ok := strings.Cut(s.Resource, "/")
	if s.Operation != OpMCP || !ok || strings.HasPrefix(s.Tool, mcpPrefix) {
		return ""
	}
	return mcpPrefix + server + "__" + s.Tool
}

// absolute makes a resource absolute and clean; "" when that cannot be done.
func absolute(p, cwd string) string {
	switch {
	case p == "" || strings.ContainsRune(p, 0):
		return ""
	case path.IsAbs(p):
		return path.Clean(p)
	case path.IsAbs(cwd):
		return path.Join(cwd, p)
	}
	return ""
}

func resolved(p string, resolve func(string) string) string {
	if resolve == nil || p == "" {
		return p
	}
	return path.Clean(resolve(p))
}

// linesOf writes down, for each command, every line that a deny or ask rule may
// know it by: the canonical one, its plain words, its source, the program without
// its folder, the line without the options that stand before a subcommand (git -C x
// push), and without the words at the end that are not known. An allow rule is compared with the first only.
func linesOf(reading *shellparse.Reading) [][]string {
	out := make([][]string, len(reading.Commands))
	all := make([]string, 0, 2*len(reading.Commands))
	for i := range reading.Commands {
		start := len(all)
		all = appendLines(all, &reading.Commands[i])
		out[i] = all[start:len(all):len(all)]
	}
	return out
}

func appendLines(out []string, c *shellparse.Command) []string {
	start := len(out)
	add := func(line string) {
		if !slices.Contains(out[start:], line) {
			out = append(out, line)
		}
	}
	out = append(out, c.Line)
	if c.Source != "" {
		add(c.Source)
	}
	if strings.ContainsAny(c.Line, `'"\$`) {
		add(plain(c.Program, c.Args))
	}
	if c.Name != "" && c.Name != c.Program {
		add(plain(c.Name, c.Args))
	}
	for _, rest := range afterOptions(c.Args) {
		add(plain(c.Name, rest))
	}
	if known := len(c.Args); known > 0 && !c.Args[known-1].Static { // what is not known may be nothing
		for known > 0 && !c.Args[known-1].Static {
			known--
		}
		add(plain(c.Name, c.Args[:known]))
	}
	return out
}

func plain(program string, args []shellparse.Arg) string {
	if len(args) == 0 {
		return program
	}
	n := len(program)
	for i := range args {
		n += 1 + len(args[i].Text)
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(program)
	for i := range args {
		b.WriteByte(' ')
		b.WriteString(args[i].Text)
	}
	return b.String()
}

// afterOptions returns the arguments from each word on that may be the
// subcommand behind leading options: the first word that is none, and the one
// behind it, since the first may be an option's value.
func afterOptions(args []shellparse.Arg) [][]shellparse.Arg {
	if len(args) == 0 || !isOption(args[0].Text) {
		return nil
	}
	var out [][]shellparse.Arg
	for i := range args {
		if isOption(args[i].Text) {
			continue
		}
		out = append(out, args[i:])
		if !isOption(args[i-1].Text) || len(out) == maxSubcommands {
			break
		}
	}
	return out
}

// maxSubcommands bounds the guesses of afterOptions: "git -a 1 -b 2 -c 3 …".
const maxSubcommands = 8

func isOption(s string) bool { return len(s) > 1 && (s[0] == '-' || s[0] == '+') }
