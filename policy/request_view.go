package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// requestView is a request together with the results that all links share. Its command is parsed
// only once, its paths are resolved only once, and the lines that rules compare are built only
// once.
type requestView struct {
	Request

	reading *shellparse.Reading // the parsed command; nil for other requests
	read    shellparse.Options  // the options of the parse
	paths   []requestPath       // paths that the request, or the command in it, would touch
	lines   [][]string          // for each command, the lines that deny and ask rules are compared with
	params  *params             // fields of the input; nil until they are first used
}

// requestPath is a path that a request would touch.
type requestPath struct {
	path    string // absolute and clean path, as the request names it; "" if it cannot be determined
	real    string // the path with links resolved; parts that do not exist keep their names
	arg     string // the path as written in the command
	pattern string // absolute pattern of a glob, if only its matches are touched
	access  shellparse.Access
	from    shellparse.PathSource // "" if the request is about the path itself
	tree    bool                  // true if everything below the path is also touched
	command int                   // the index of the command that names the path, or -1
}

// builtinPolicy is a policy of this package: it uses the parsed command, never blocks and never
// panics.
type builtinPolicy interface {
	judge(s *requestView) Verdict
}

// newRequestView prepares a request. home and resolve are the fields of [Config]; resolve may be
// nil.
func newRequestView(r Request, home string, resolve func(string) string) *requestView {
	s := &requestView{Request: r}
	if line := r.command(); line != "" || r.Operation == OpCommand {
		s.read = shellparse.Options{Dir: r.Cwd, Home: home}
		s.reading = shellparse.Parse(line, &s.read)
		s.findPaths(resolve)
		s.lines = linesOf(s.reading)
	}
	if access := accessOf(r); access != 0 {
		p := requestPath{path: absolute(r.Resource, r.Cwd), access: access, command: -1}
		p.real = resolved(throughProc(p.path, r.Cwd), resolve)
		if named := absolute(r.NamedPath, r.Cwd); named != "" {
			p.path = named
		}
		if s.reading != nil {
			p.command = 0 // the resource is the program of the first command
		}
		s.paths = append(s.paths, p)
	}
	return s
}

// command returns the command line if the request runs one, or "".
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

func (s *requestView) findPaths(resolve func(string) string) {
	n := 0
	for i := range s.reading.Commands {
		n += len(s.reading.Commands[i].Paths)
	}
	if n == 0 {
		return
	}
	s.paths = make([]requestPath, 0, n)
	for i := range s.reading.Commands {
		for _, p := range s.reading.Commands[i].Paths {
			named := p.Path
			if p.Raw != "" && resolve != nil {
				named = p.Raw // ".." is applied after resolving a link
			}
			s.paths = append(s.paths, requestPath{
				path: p.Path, real: resolved(throughProc(named, s.reading.Commands[i].Dir), resolve), arg: p.Arg, pattern: p.Pattern,
				access: p.Access, from: p.Source, tree: p.Tree, command: i,
			})
		}
	}
}

// accessOf returns how a request other than a command accesses its resource, or 0 if the resource
// is not a path.
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

// serverTool returns a tool name for a request that an MCP server sends to the user, so that rules
// about the server apply to the request. It returns "" for other requests and for the server's own
// tools. The resource begins with the server's name, as it is written in rules.
func (s *requestView) serverTool() string {
	server, _, ok := strings.Cut(s.Resource, "/")
	if s.Operation != OpMCP || !ok || strings.HasPrefix(s.Tool, mcpPrefix) {
		return ""
	}
	return mcpPrefix + server + "__" + s.Tool
}

// absolute makes a resource absolute and clean; it returns "" if that is not possible.
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

// linesOf returns, for each command, every line that a deny or ask rule may match: the canonical
// one, its plain words, its source, the program without its folder, the line without the options
// before a subcommand (git -C x push), and without unknown words at the end. An allow rule is
// compared only with the first line.
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
	if known := len(c.Args); known > 0 && !c.Args[known-1].Static { // an unknown argument may be empty
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

// afterOptions returns the arguments from each word on that may be the subcommand after leading
// options. A word directly after an option may be the value of that option. Therefore, these words
// are all words that follow an option, and the first word that follows another word.
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

// maxSubcommands limits the number of words that afterOptions returns: "git -a 1 -b 2 -c 3 …".
const maxSubcommands = 8

func isOption(s string) bool { return len(s) > 1 && (s[0] == '-' || s[0] == '+') }
