package shellparse

import (
	"path"
	"slices"
	"strings"
)

// command is a simple command after expansion.
type command struct {
	words  []word
	set    []assignment
	in     *stdin
	paths  []Path // of its redirects
	slot   int    // its index in the list of commands
	source string // as written in the line; "" if it is not in the line
	shell  bool   // it is written in a line, so it may be a function
}

// invoke determines what a command would do, and follows the commands that it runs.
func (f *frame) invoke(s *scope, c *command) output {
	program := c.words[0]
	name := base(program.text)
	switch {
	case !program.static:
		f.unclear("cannot determine the program: " + program.text)
	case openFileNumber(program.text) != "":
		f.unclear("the program is the content of an open file: " + program.text)
	case program.glob:
		f.unclear("the program is a pattern: " + program.text)
	case name == "" || name == "." && program.text != "." || name == "..":
		f.unclear("not the name of a program: " + Canonical(program.text))
	default:
		return f.invokeKnown(s, c, name)
	}
	s.fail = s.dirs
	f.prefixedScope(s, c)
	f.out.Commands[c.slot] = f.buildCommand(s, c.words, c.source, c.set, c.paths, &effects{})
	f.out.Commands[c.slot].Name = ""
	return output{}
}

// invokeKnown is invoke for a program with a known name.
func (f *frame) invokeKnown(s *scope, c *command, name string) output {
	perhaps := false // a function
	if fn, ok := s.funcs[c.words[0].text]; ok && c.shell {
		slot := len(f.out.Commands)
		unset := f.withVariables(s, c.set)
		out, only := f.callFunction(s, fn, c.words, c.in)
		unset()
		if only {
			f.passRedirects(s, c, slot)
			return out
		}
		s.settle()
		perhaps = true
	}
	inv := invocation{name: name, program: c.words[0], args: c.words[1:], in: *c.in}
	if s.fed && inv.in.kind == stdinNone {
		inv.in.kind = stdinUnknown
	}
	for _, a := range c.set {
		inv.assigns = append(inv.assigns, a.name)
	}
	e := effectsOf(&inv)
	if e.unclear != "" {
		f.unclear(e.unclear)
	}
	if (len(c.set) > 0 || len(s.tainted) > 0) && !contains(stateless, name) {
		f.varPaths(s, c.set, &e)
	}
	f.out.Commands[c.slot] = f.buildCommand(s, c.words, c.source, c.set, c.paths, &e)
	scope := s
	if len(c.set) > 0 {
		scope = f.prefixedScope(s, c)
	}
	f.follow(s, scope, c, name, &e)
	out := output{}
	if e.output != nil {
		out = output{text: *e.output, known: true}
	} else if e.names != nil {
		out.below = e.names
	} else if name == "pwd" && len(inv.args) == 0 && len(s.dirs) == 1 {
		out = output{text: s.dirs[0] + "\n", known: true}
	}
	out.number = !out.known && !perhaps && printsNumbers(s, c, name)
	if mayBeBuiltin(c) {
		f.builtin(s, c, name, &e)
	}
	return out
}

// passRedirects adds the redirects of a function call to the first command of the function.
func (f *frame) passRedirects(s *scope, c *command, slot int) {
	if len(c.paths) > 0 && slot < len(f.out.Commands) {
		first := &f.out.Commands[slot]
		first.Paths = append(first.Paths, c.paths...)
		first.Safe = first.Safe && !anyWritten(c.paths)
	} else if len(c.paths) > 0 {
		f.out.Commands[c.slot] = Command{Name: ":", Program: ":", Line: ":", Source: c.source, Dir: likelyDir(s), Wrappers: f.via, Paths: c.paths, Safe: !anyWritten(c.paths)}
		return
	}
	f.drop(c.slot)
}

// prefixedScope returns the scope for the commands that a command runs, with the variables that are set
// for it.
func (f *frame) prefixedScope(s *scope, c *command) *scope {
	inner := s.fork()
	for _, a := range c.set {
		f.assign(inner, a.name, a.word, true)
	}
	return inner
}

// withVariables sets variables in the shell itself while a function or an eval runs. After that
// they are unknown, because shells restore them in different ways.
func (f *frame) withVariables(s *scope, set []assignment) (unset func()) {
	for _, a := range set {
		f.assign(s, a.name, a.word, true)
	}
	return func() {
		for _, a := range set {
			s.forget(a.name)
		}
	}
}

// buildCommand converts the command to its reported form.
func (f *frame) buildCommand(s *scope, words []word, source string, set []assignment, redirects []Path, e *effects) Command {
	program := words[0].text
	c := Command{
		Name: base(program), Program: program, Source: source, Dir: likelyDir(s), Wrappers: f.via, Opaque: e.opaque, Wrapper: e.wrapper,
	}
	if len(words) > 1 {
		c.Args = make([]Arg, len(words)-1)
		for i, w := range words[1:] {
			c.Args[i] = Arg{Text: w.text, Static: w.static && !w.glob}
		}
	}
	c.Line = lineOf(words, source)
	if source == "" {
		c.Source = c.Line
	}
	for _, a := range set {
		c.Assigns = append(c.Assigns, a.name)
	}
	c.Assigns = add(add(c.Assigns, s.tainted...), s.lasting...)
	dirs := movedDirs(s.dirs, e.moveTo)
	if n := len(e.paths) + len(redirects); n > 0 {
		c.Paths = make([]Path, 0, n+1)
	}
	if strings.IndexByte(program, '/') >= 0 {
		c.Paths = f.resolve(c.Paths, s.dirs, use{path: words[0], access: Exec, from: FromArgument})
	}
	for _, u := range e.paths {
		c.Paths = f.resolve(c.Paths, dirs, u)
	}
	c.Paths = append(c.Paths, redirects...)
	c.Safe = e.safe && len(s.tainted) == 0 && !anyWritten(c.Paths) &&
		!slices.ContainsFunc(set, func(a assignment) bool { return isDangerous(a.name) })
	return c
}

// base returns a program's name without its folder.
func base(program string) string { return program[strings.LastIndexByte(program, '/')+1:] }

// movedDirs returns the folder of a command that changes its own working folder.
func movedDirs(dirs []string, to *word) []string {
	switch {
	case to == nil || to.static && to.text == "":
		return dirs
	case !to.static || to.glob:
		return nil
	case path.IsAbs(to.text):
		return []string{path.Clean(to.text)}
	case dirs == nil:
		return nil
	}
	out := make([]string, len(dirs))
	for i, d := range dirs {
		out[i] = join(d, to.text)
	}
	return out
}

// follow parses the commands that a command runs.
func (f *frame) follow(s, prefixed *scope, c *command, name string, e *effects) {
	for i := range e.runs {
		r := &e.runs[i]
		if f.stopped {
			return
		}
		var inner *scope
		switch {
		case name == "trap": // it runs later, when the state may be completely different
			inner = s.subshell()
			inner.forgetAll()
		case mayBeBuiltin(c) && (r.here || name == "eval" || name == "command" || name == "builtin"):
			inner = s
		case r.argv != nil:
			inner = prefixed.fork()
			inner.setPassed(c.words[1:])
		default:
			inner = prefixed.child()
		}
		for _, name := range e.taints {
			if !slices.Contains(inner.tainted, name) {
				inner.tainted = append(slices.Clip(inner.tainted), name)
			}
		}
		if e.moveTo != nil {
			dirs := movedDirs(inner.dirs, e.moveTo)
			if inner == s {
				inner = s.fork()
			}
			inner.dirs, inner.fail = dirs, dirs
		}
		unset := func() {}
		if inner == s {
			unset = f.withVariables(s, c.set)
		}
		switch {
		case r.argv != nil:
			f.runWords(inner, c, r)
		case r.code && !looksLikeCommand(r.line):
		default:
			var params *[]word
			if r.args != nil {
				params = &r.args
			} else if inner != s {
				inner.params = nil
			}
			f.nested(inner, r.via, r.line, &r.in, params)
		}
		unset()
		if inner == s && i < len(e.runs)-1 {
			s.settle()
		}
	}
}

// runWords parses a command that another command runs.
func (f *frame) runWords(s *scope, c *command, r *run) {
	if f.depth++; f.depth > maxDepth {
		f.stop("commands are nested too deeply")
	}
	defer func() { f.depth-- }()
	if !f.step() || len(r.argv) == 0 {
		return
	}
	slot := f.reserve()
	if f.stopped {
		return
	}
	f.nestedFrame(r.via).invoke(s, &command{words: r.argv, in: &r.in, slot: slot, set: c.set})
}

// looksLikeCommand reports whether a literal in code looks like a command line.
func looksLikeCommand(line string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(line, " \t\n"), " ")
	return first != "" && strings.Trim(first, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-;&|(){}'\"\\$`=<>\n\t") == ""
}
