package shellparse

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdfast-dev/holdfast/internal/environ"
)

// value is the known information about a variable.
type value struct {
	text     string
	known    bool
	glob     bool // text is a pattern; the value is one of its matches
	exported bool
	odd      bool // read-only, or its attributes change each value that it is set to
	integer  bool // what it is set to is evaluated as an expression
	isMap    bool // its subscripts are texts, not expressions
	mayMap   bool // isMap, perhaps

	shape string // for an unknown value: its text if only numbers in it are unknown, see digitsUnknown
}

// function is a function that is defined, or that may be defined.
type function struct {
	bodies []*syntax.Stmt
	maybe  bool // the function may also be undefined; then its name is that of a program
}

// scope is the state of a shell at one point of the line. For each command, the folders after
// success and the folders after failure are tracked separately.
type scope struct {
	dirs []string // folders in which the shell may be, the most likely first; nil: unknown; empty: not reachable
	fail []string // the folders if the last command failed
	old  []string // $OLDPWD

	vars    map[string]value
	funcs   map[string]function
	aliases map[string]string
	params  *[]word  // $0, $1 …; nil: unknown
	tainted []string // names of the variables assigned so far that change the behavior of programs
	lasting []string // the same for other variables that a rule does not allow to set
	loop    *jumps   // of the innermost loop
	call    *jumps   // of the function that is being parsed

	version    int  // version number of everything except the folders; within one reading, two different states never have the same number
	clock      *int // the last version assigned
	sharedVars bool // copy vars before writing
	sharedFun  bool // copy funcs and aliases before writing
	lost       bool // no variable is known, not even those in Options.Vars
	exportFun  bool // functions are exported
	ended      bool // after exit, return or break: the following commands cannot be reached from here
	inner      bool // of a shell that the line starts
	fed        bool // standard input comes from a file or command in the line (exec <f)
}

// jumps collects the scopes from which the line leaves a loop or a function early.
type jumps struct {
	scopes []*scope
	outer  *jumps   // of a loop in a loop
	locals []string // of a function
}

func (s *scope) fork() *scope {
	s.sharedVars, s.sharedFun = true, true
	c := *s
	return &c
}

// subshell returns the scope of a part that runs in a separate process, and whose changes are
// therefore discarded.
func (s *scope) subshell() *scope {
	c := s.fork()
	c.loop, c.call = nil, nil
	return c
}

func (s *scope) newVersion() {
	*s.clock++
	s.version = *s.clock
}

func (s *scope) set(name string, v value) {
	switch {
	case s.vars == nil:
		s.vars = map[string]value{}
	case s.sharedVars:
		s.vars = maps.Clone(s.vars)
	}
	s.sharedVars = false
	s.vars[name] = v
	s.newVersion()
	switch {
	case isDangerous(name):
		s.tainted = add(s.tainted, name)
	case environ.Dangerous(name):
		s.lasting = add(s.lasting, name)
	}
}

// add returns the names, together with the elements of more that they do not contain.
func add(names []string, more ...string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(slices.Clip(names), name)
		}
	}
	return names
}

// forget makes a variable unknown.
func (s *scope) forget(name string) {
	v := s.vars[name]
	v.text, v.known, v.glob, v.shape = "", false, false, ""
	s.set(name, v)
}

// forgetAll makes every variable and the folder unknown.
func (s *scope) forgetAll() {
	s.vars, s.sharedVars, s.lost, s.params = nil, false, true, nil
	s.dirs, s.fail, s.old = nil, nil, nil
	s.newVersion()
}

func (s *scope) define(name string, f function) {
	if s.funcs == nil {
		s.funcs = map[string]function{}
	} else if s.sharedFun {
		s.funcs = maps.Clone(s.funcs)
		s.aliases = maps.Clone(s.aliases)
	}
	s.sharedFun = false
	s.funcs[name] = f
	s.newVersion()
}

func (s *scope) alias(name, text string) {
	if s.aliases == nil {
		s.aliases = map[string]string{}
	} else if s.sharedFun {
		s.funcs = maps.Clone(s.funcs)
		s.aliases = maps.Clone(s.aliases)
	}
	s.sharedFun = false
	s.aliases[name] = text
	s.newVersion()
}

// settle forgets whether the last command succeeded.
func (s *scope) settle() {
	s.dirs = eitherDir(s.dirs, s.fail)
	if s.dirs != nil && len(s.dirs) == 0 {
		s.ended, s.dirs = true, nil
	}
	s.fail = s.dirs
}

// inFolder starts a command in one of the folders.
func (s *scope) inFolder(dirs []string) *scope {
	if dirs != nil && len(dirs) == 0 {
		s.ended, dirs = true, nil
	}
	s.dirs, s.fail = dirs, dirs
	return s
}

// join sets s to what is known if either a or b is the state. Both are settled.
func (s *scope) join(a, b *scope) {
	loop, call := s.loop, s.call
	switch {
	case a.ended:
		*s = *b
	case b.ended:
		*s = *a
	default:
		dirs := eitherDir(a.dirs, b.dirs)
		merged := *a
		if a.version != b.version {
			merged.merge(b)
		}
		*s = merged
		s.dirs, s.fail = dirs, dirs
		if !slices.Equal(a.old, b.old) {
			s.old = nil
		}
	}
	s.loop, s.call = loop, call
}

// merge keeps only the variables, functions and parameters that have the same value in b.
func (s *scope) merge(b *scope) {
	s.newVersion()
	vars := map[string]value{}
	for name, v := range s.vars {
		if w, ok := b.vars[name]; !ok || v != w {
			v = value{
				exported: v.exported || w.exported, odd: v.odd || w.odd, integer: v.integer || w.integer,
				isMap: v.isMap && w.isMap, mayMap: v.mayMap || w.mayMap, shape: mergedShape(&v, &w),
			}
		}
		vars[name] = v
	}
	for name, w := range b.vars {
		if _, ok := s.vars[name]; !ok {
			vars[name] = value{exported: w.exported, odd: w.odd, integer: w.integer, mayMap: w.mayMap}
		}
	}
	s.vars, s.sharedVars = vars, false

	funcs := map[string]function{}
	for _, m := range []map[string]function{s.funcs, b.funcs} {
		for name, f := range m {
			g, ok := funcs[name]
			if !ok {
				_, inA := s.funcs[name]
				_, inB := b.funcs[name]
				g.maybe = !inA || !inB
			}
			for _, body := range f.bodies {
				if !slices.Contains(g.bodies, body) {
					g.bodies = append(slices.Clip(g.bodies), body)
				}
			}
			g.maybe = g.maybe || f.maybe
			funcs[name] = g
		}
	}
	aliases := maps.Clone(s.aliases)
	if aliases == nil {
		aliases = map[string]string{}
	}
	for name, text := range b.aliases {
		if have, ok := aliases[name]; ok && have != text {
			text = aliasUnknown
		}
		aliases[name] = text
	}
	s.funcs, s.aliases, s.sharedFun = funcs, aliases, false
	if s.params != b.params {
		s.params = nil
	}
	s.tainted, s.lasting = add(s.tainted, b.tainted...), add(s.lasting, b.lasting...)
	s.lost = s.lost || b.lost
	s.fed = s.fed || b.fed
	s.exportFun = s.exportFun || b.exportFun
}

// sameAs reports whether everything that s knows is also known in b. The folders of s may be some
// of the folders of b.
func (s *scope) sameAs(b *scope) bool {
	if s.version != b.version && (!maps.Equal(s.vars, b.vars) || !maps.Equal(s.aliases, b.aliases) ||
		!maps.EqualFunc(s.funcs, b.funcs, func(f, g function) bool { return f.maybe == g.maybe && slices.Equal(f.bodies, g.bodies) }) ||
		s.params != b.params || s.lost != b.lost || s.exportFun != b.exportFun || !slices.Equal(s.tainted, b.tainted) || !slices.Equal(s.lasting, b.lasting)) {
		return false
	}
	if !slices.Equal(s.old, b.old) {
		return false
	}
	return (s.dirs == nil) == (b.dirs == nil) && len(s.dirs) == len(b.dirs) && !slices.ContainsFunc(s.dirs, func(d string) bool { return !slices.Contains(b.dirs, d) })
}

// child returns the scope of a new shell: it has the exported variables and functions.
func (s *scope) child() *scope {
	c := &scope{clock: s.clock, version: s.version, dirs: s.dirs, fail: s.dirs, tainted: s.tainted, lasting: s.lasting, lost: s.lost, exportFun: s.exportFun, fed: s.fed, inner: true}
	for name, v := range s.vars {
		if !v.exported {
			v = value{}
		}
		v.isMap, v.mayMap = false, false
		c.set(name, v)
	}
	if s.exportFun {
		for name, f := range s.funcs {
			f.maybe = true
			c.define(name, f)
		}
	}
	return c
}

const maxDirs = 8

// eitherDir returns the union of two sets of folders; if there would be too many folders, they are
// unknown.
func eitherDir(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	out := a
	for _, d := range b {
		if !slices.Contains(out, d) {
			out = append(slices.Clip(out), d)
		}
	}
	if len(out) > maxDirs {
		return nil
	}
	return out
}
