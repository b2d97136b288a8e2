package shellparse

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// mayBeBuiltin reports whether a command may be a builtin of the shell: its name contains no folder.
func mayBeBuiltin(c *command) bool { return strings.IndexByte(c.words[0].text, '/') < 0 }

// builtin applies the effects of shell builtins to the shell's state.
func (f *frame) builtin(s *scope, c *command, name string, e *effects) {
	args := c.words[1:]
	for variable, w := range e.sets {
		if name == "unset" {
			w = word{} // unset and empty are different
		}
		if syntax.ValidName(variable) {
			f.assign(s, variable, w, name == "export")
			if v := s.vars[variable]; v.isMap && name == "unset" && !slices.ContainsFunc(e.evals, func(w word) bool { return strings.HasPrefix(w.text, variable+"[") }) {
				v.isMap = false
				s.set(variable, v)
			}
		}
	}
	if e.chdir != nil {
		if last := len(args) - 1; last >= 0 && args[last].static && args[last].text == "" {
			return // cd "" does not change the folder
		}
		f.chdir(s, e.chdir)
		return
	}
	if slices.Contains(evaluators, name) {
		f.evaluateArguments(s, name, args, e.evals)
	}
	switch name {
	case "getopts":
		if len(args) > 1 {
			f.assign(s, args[1].text, word{}, false)
		}
		s.forget("OPTARG")
	case "shopt":
		if slices.ContainsFunc(args, func(w word) bool { return !w.static || w.text == "lastpipe" || w.text == "localvar_inherit" }) {
			f.unclear("shopt changes which commands set variables")
		}
	case "exit", "return", "break", "continue":
		if _, ok := s.aliases[name]; !ok {
			s.leave(name, len(args) > 0)
		}
	case "shift", "set":
		if name == "shift" || len(args) > 0 {
			s.params = shifted(s, name, args)
			s.newVersion()
		}
	case "alias":
		for _, a := range args {
			if n, text, ok := strings.Cut(a.text, "="); a.static && ok {
				s.alias(n, text)
			} else if !a.static {
				f.unclear("cannot determine what alias defines: " + a.text)
			}
		}
	case "source", ".": // may set any variable; the file that it runs is not parsed
		for v := range s.vars {
			s.forget(v)
		}
	case "exec":
		if len(args) == 0 && c.in.kind != stdinNone {
			s.fed = true
		}
	case "enable":
		if slices.ContainsFunc(args, func(w word) bool { return !w.static || strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "n") }) {
			f.unclear("enable changes which commands are shell builtins")
		}
	}
}

// evaluators are builtins that get the names of variables and evaluate the subscripts in them.
var evaluators = []string{
	"test", "[", "printf", "read", "unset", "declare", "typeset", "local", "export", "readonly", "wait", "mapfile", "readarray", "getopts", "let",
}

// leave ends a loop, a function or the shell at this point.
func (s *scope) leave(name string, counted bool) {
	s.settle()
	at := s.loop
	switch name {
	case "return":
		at = s.call
	case "exit":
		at = nil
	}
	if at == nil && name != "exit" {
		return // there is no loop or function to leave: the shell reports an error and continues
	}
	for ; at != nil; at = at.outer {
		at.scopes = append(at.scopes, s.fork())
		if !counted || name == "return" {
			break
		}
	}
	s.ended = true
	s.dirs, s.fail = []string{}, []string{}
}

// shifted returns the parameters after the builtins set and shift.
func shifted(s *scope, name string, args []word) *[]word {
	static := !slices.ContainsFunc(args, func(w word) bool { return !w.static || w.glob })
	if name == "set" {
		if static && len(args) > 0 && args[0].text == "--" {
			params := append([]word{{}}, args[1:]...)
			return &params
		}
		if static && len(args) == 1 && len(args[0].text) > 1 && strings.IndexByte("-+", args[0].text[0]) >= 0 && args[0].text != "--" {
			return s.params
		}
		return nil
	}
	if s.params == nil || len(args) > 0 || len(*s.params) < 2 {
		return nil
	}
	params := append([]word{(*s.params)[0]}, (*s.params)[2:]...)
	return &params
}

// chdir changes the shell's folder. The change may fail; in that case the folder remains the same.
func (f *frame) chdir(s *scope, to *word) {
	from := s.dirs
	if _, ok := s.vars["CDPATH"]; (ok || s.lost) && to.static && to.text != "" && !path.IsAbs(to.text) && !strings.HasPrefix(to.text, ".") {
		to = &word{}
	}
	switch {
	case !to.static || to.glob || to.text == "-":
		s.dirs = nil
	case to.text == "":
		s.dirs = nil
		if home := f.lookup(s, "HOME"); home.known && path.IsAbs(home.text) {
			s.dirs = []string{path.Clean(home.text)}
		}
	default:
		s.dirs = movedDirs(from, to)
	}
	s.fail, s.old = from, from
	for _, name := range []string{"PWD", "OLDPWD"} {
		if _, ok := s.vars[name]; ok {
			s.forget(name)
		}
	}
}
