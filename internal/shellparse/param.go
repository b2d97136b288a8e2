package shellparse

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// lookup returns what is known about a variable.
func (f *frame) lookup(s *scope, name string) value {
	if v, ok := s.vars[name]; ok {
		return v
	}
	if s.lost {
		return value{}
	}
	switch name {
	case "HOME":
		if path.IsAbs(f.opts.Home) {
			return value{text: f.opts.Home, known: true, exported: true}
		}
	case "PWD":
		return single(s.dirs)
	case "OLDPWD":
		return single(s.old)
	}
	if text, ok := f.opts.Vars[name]; ok {
		return value{text: text, known: true, exported: true}
	}
	return s.shellNumber(name)
}

func single(dirs []string) value {
	if len(dirs) == 1 {
		return value{text: dirs[0], known: true, exported: true}
	}
	return value{exported: true}
}

// volatileVars are variables whose value changes without an assignment.
var volatileVars = []string{
	"_", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "EPOCHREALTIME", "BASHPID", "BASH_COMMAND",
	"BASH_SUBSHELL", "BASH_REMATCH", "PIPESTATUS", "FUNCNAME", "DIRSTACK", "GROUPS", "HISTCMD", "UID", "EUID", "PPID",
	"OPTIND", "OPTARG", "REPLY", "MAPFILE", "COPROC", "BASH_ARGV0", "SHLVL", "SHELLOPTS", "BASHOPTS", "COLUMNS", "LINES",
}

// assign sets a variable. If it is not certain that the assignment happens, the variable becomes
// unknown.
func (f *frame) assign(s *scope, name string, w word, export bool) {
	old := f.lookup(s, name)
	if _, ok := s.vars[name]; !ok && len(s.vars) >= maxVars {
		f.stop("too many variables in the command line")
	}
	v := value{text: w.text, known: w.static, glob: w.glob, exported: export || old.exported, odd: old.odd, integer: old.integer, isMap: old.isMap, mayMap: old.mayMap}
	evaluated := old.integer || contains(numberVars, name)
	if evaluated {
		evaluated := w
		if w.text == "" {
			evaluated.text = "the value of $" + name
		}
		f.evaluateText(s, &evaluated)
	} else if s.lost && w.unknown() {
		f.recordInteger(true)
	}
	volatile := slices.Contains(volatileVars, name)
	if !w.static || old.odd || volatile {
		v.text, v.known, v.glob = "", false, false
		text, ok := w.evaluable()
		switch {
		case evaluated || ok && numeric(text) && !volatile && (!old.odd || old.numeric()):
			v.shape = digitsUnknown
		case !old.odd && !volatile:
			v.shape = w.shape
		}
	}
	s.set(name, v)
	f.parseCommandVar(s, name, w)
}

// addExpansion adds the value of a part that is neither text nor quotes.
func (e *fields) addExpansion(p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.ParamExp:
		e.addParam(p, quoted)
	case *syntax.CmdSubst:
		if out := e.substitute(e.s, p); out.known {
			text := strings.TrimRight(out.text, "\n")
			if quoted {
				e.add(text)
			} else {
				e.addSplit(text, false)
			}
			return
		} else if out.number {
			e.addNumberShape(digitsUnknown)
			return
		}
		e.dynamic = true
	case *syntax.ArithmExp:
		e.arith(e.s, p.X)
		e.addNumberShape(digitsUnknown)
	case *syntax.ProcSubst:
		e.processSubstitution(e.s, p)
		e.dynamic = true
	case *syntax.ExtGlob:
		if strings.ContainsAny(p.Pattern.Value, "$`<>") {
			e.unclear("the pattern " + e.sourceOf(p) + " may run a command")
		}
		e.dynamic = true
	default:
		e.unclear("part of a word cannot be determined")
		e.dynamic = true
	}
}

// addParam adds the value of a variable.
func (e *fields) addParam(p *syntax.ParamExp, quoted bool) {
	if p.Param == nil || p.Flags != nil || p.NestedParam != nil || p.Excl || p.Length || p.Width || p.IsSet ||
		p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || len(p.Modifiers) > 0 {
		e.scan(e.s, p)
		e.addUnexpanded(p)
		return
	}
	name := p.Param.Value
	if name == "@" || name == "*" {
		e.addAllParams(p, quoted)
		return
	}
	v := e.lookupParameter(name)
	if p.Exp != nil && !e.applyOperator(p, name, &v, quoted) {
		return
	}
	switch {
	case !v.known && v.shape != "":
		e.addNumberShape(v.shape)
	case !v.known:
		e.dynamic = true
	case quoted && !v.glob:
		e.add(v.text)
	case quoted:
		e.buf, e.glob, e.single = append(e.buf, v.text...), true, true
	default:
		e.addSplit(v.text, v.glob)
	}
}

// applyOperator applies ${x:-w} and similar operators to a value. It returns false if nothing is left to add.
func (e *fields) applyOperator(p *syntax.ParamExp, name string, v *value, quoted bool) bool {
	colon, other := false, false
	switch p.Exp.Op {
	case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull, syntax.AlternateUnsetOrNull, syntax.ErrorUnsetOrNull:
		colon = true
	case syntax.DefaultUnset, syntax.AssignUnset, syntax.AlternateUnset, syntax.ErrorUnset:
	default:
		other = true
	}
	unset := !colon && name[0] <= '9' // ${1-w}: it is not tracked whether the parameter is set
	if other || !v.known || v.glob || unset {
		e.scan(e.s, p)
		e.addUnexpanded(p)
		switch p.Exp.Op {
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if syntax.ValidName(name) && !v.numeric() {
				e.s.forget(name)
			}
		}
		return false
	}
	empty := colon && v.text == ""
	var use bool
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if empty {
			return false
		}
		use = true
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if empty {
			*v = value{known: true}
			if p.Exp.Word != nil {
				w := e.expandOne(e.s, p.Exp.Word, true)
				*v = value{text: w.text, known: w.static}
			}
			e.assign(e.s, name, word{text: v.text, static: v.known}, false)
		}
		return true
	default:
		use = empty
	}
	if !use {
		return true
	}
	switch {
	case p.Exp.Word == nil:
	case quoted:
		e.addQuoted(p.Exp.Word.Parts, false)
	case slices.ContainsFunc(p.Exp.Word.Parts, isBlankLit):
		e.scan(e.s, p.Exp.Word)
		e.dynamic = true
	default:
		e.addParts(p.Exp.Word.Parts)
	}
	return false
}

func isBlankLit(p syntax.WordPart) bool {
	l, ok := p.(*syntax.Lit)
	return ok && strings.ContainsAny(l.Value, " \t\n~\\")
}

// lookupParameter looks up a variable or a positional parameter.
func (e *fields) lookupParameter(name string) value {
	return e.parameterValue(e.s, name)
}

// addAllParams adds "$@" and "$*".
func (e *fields) addAllParams(p *syntax.ParamExp, quoted bool) {
	if p.Exp != nil || e.s.params == nil || e.whole {
		e.scan(e.s, p)
		e.addUnexpanded(p)
		return
	}
	params := *e.s.params
	if len(params) > 0 {
		params = params[1:]
	}
	for i, w := range params {
		if i > 0 {
			if quoted && p.Param.Value == "*" {
				if _, changed := e.s.vars["IFS"]; changed || e.s.lost {
					e.dynamic = true
				}
				e.add(" ")
			} else {
				e.flush()
			}
		}
		switch {
		case !w.static:
			e.dynamic = true
		case quoted && !w.glob:
			e.any = true
			e.add(w.text)
		default:
			e.addSplit(w.text, w.glob)
		}
	}
}
