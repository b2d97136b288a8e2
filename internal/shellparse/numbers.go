package shellparse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// digitsUnknown stands, in a shape, for a number whose digits are unknown. The unknown text may
// also be empty or several numbers.
const digitsUnknown = "\x01"

// numberBytes are bytes that are safe in any order: the shell can evaluate a text of these bytes
// without running anything, because the text contains no name, no subscript and no expansion.
const numberBytes = "0123456789+-.,:/% \t\n" + digitsUnknown

// numeric reports whether a shape is always a number, or a text that is evaluated like a number.
func numeric(shape string) bool { return strings.Trim(shape, numberBytes) == "" }

// evaluable returns the text of a word, in which digitsUnknown replaces the unknown numbers. It
// returns false if another part of the word is unknown.
func (w *word) evaluable() (string, bool) {
	if w.static {
		return w.text, !w.glob
	}
	return w.shape, w.shape != ""
}

func (v *value) evaluable() (string, bool) {
	if v.known {
		return v.text, !v.glob
	}
	return v.shape, v.shape != ""
}

func (v *value) numeric() bool {
	text, ok := v.evaluable()
	return ok && numeric(text)
}

// numberVars are variables whose values are always numbers. If a line assigns another text to one
// of them, the shell evaluates that text as an arithmetic expression.
const numberVars = "RANDOM SRANDOM SECONDS LINENO EPOCHSECONDS BASHPID BASH_SUBSHELL PPID HISTCMD SHLVL OPTIND"

// shellNumber returns the value of a variable that the shell sets to a number unless the line sets it.
func (s *scope) shellNumber(name string) value {
	if contains(numberVars, name) || !s.inner && contains("UID EUID PIPESTATUS", name) { // a shell accepts these variables from its environment
		return value{shape: digitsUnknown}
	}
	return value{}
}

// setPassed sets the variables that a wrapper, such as env, sets for the command that it runs.
func (s *scope) setPassed(args []word) {
	for _, w := range args {
		name, text, ok := strings.Cut(w.text, "=")
		if name = strings.TrimLeft(name, `"`); ok && syntax.ValidName(name) && !isDangerous(name) {
			s.set(name, value{text: text, known: w.static && !w.glob, exported: true})
		}
	}
}

// parameterValue is what is known about the value of a variable, a positional parameter or a
// special parameter.
func (f *frame) parameterValue(s *scope, name string) value {
	switch {
	case syntax.ValidName(name):
		return f.lookup(s, name)
	case name == "#" || name == "?" || name == "$" || name == "!":
		return value{shape: digitsUnknown}
	case s.params == nil:
	case name == "@" || name == "*":
		params := *s.params
		var texts []string
		for i := range params[min(1, len(params)):] {
			text, ok := params[i+1].evaluable()
			if !ok {
				return value{}
			}
			texts = append(texts, text)
		}
		f.spend(len(texts))
		return value{shape: digitsUnknown + strings.Join(texts, " ")}
	default:
		if n, used := parseDigits(name, 10, 4); used == len(name) && int(n) < len(*s.params) {
			w := (*s.params)[n]
			return value{text: w.text, known: w.static, glob: w.glob, shape: w.shape}
		} else if used == len(name) {
			return value{known: true}
		}
	}
	return value{}
}

// shape returns the text of the parts of a word, without word splitting. The substitutions in it
// have been parsed before.
func (f *frame) shape(s *scope, parts []syntax.WordPart) (string, bool) {
	var b strings.Builder
	for _, p := range parts {
		text, ok := "", true
		switch p := p.(type) {
		case *syntax.Lit:
			text = strings.ReplaceAll(p.Value, "\\\n", "")
		case *syntax.SglQuoted:
			if text = p.Value; p.Dollar {
				text = unescapeANSI(p.Value)
			}
		case *syntax.DblQuoted:
			text, ok = f.shape(s, p.Parts)
		case *syntax.ParamExp:
			text, ok = f.paramShape(s, p)
		case *syntax.CmdSubst:
			out := f.outs[p]
			switch {
			case out.known:
				text = strings.TrimRight(out.text, "\n")
			case out.number:
				text = digitsUnknown
			default:
				ok = false
			}
		case *syntax.ArithmExp:
			text = digitsUnknown
		default:
			ok = false
		}
		if !ok || b.Len()+len(text) > MaxLine {
			return "", false
		}
		b.WriteString(text)
		f.spend(len(text))
	}
	return b.String(), true
}

// paramShape returns the text of an expansion.
func (f *frame) paramShape(s *scope, p *syntax.ParamExp) (string, bool) {
	switch {
	case p.Param == nil || p.Flags != nil || p.NestedParam != nil || p.Width || p.IsSet || p.Names != 0 || len(p.Modifiers) > 0:
		return "", false
	case p.Length && !p.Excl:
		return digitsUnknown, true
	}
	name := p.Param.Value
	if p.Excl {
		_, changed := s.vars[name]
		if everyIndex(p.Index) && !s.lost && (!changed || !s.vars[name].mayMap) {
			return digitsUnknown, true // the indexes of an array
		}
		return "", false
	}
	v := f.parameterValue(s, name)
	text, ok := v.evaluable()
	number := ok && numeric(text)
	if p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil {
		return text, ok
	}
	if p.Exp == nil && p.Repl == nil {
		return digitsUnknown, number
	}
	var w *syntax.Word
	if p.Exp != nil {
		w = p.Exp.Word
	} else {
		w = p.Repl.With
	}
	other, known := "", true
	if w != nil {
		other, known = f.shape(s, w.Parts)
	}
	known = known && numeric(other)
	if p.Exp == nil {
		return digitsUnknown, number && known
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return digitsUnknown, number && known
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return digitsUnknown, known
	case syntax.OtherParamOps:
		return "", false
	}
	return digitsUnknown, number // an error, or a part of it
}

// everyIndex reports whether a subscript is [@] or [*].
func everyIndex(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// addNumberShape adds text whose numbers are unknown.
func (e *fields) addNumberShape(shape string) {
	e.number = true
	e.buf = append(e.buf, shape...)
	e.spend(len(shape))
}

// addUnexpanded adds the value of an expansion that is not parsed further. If only numbers in the value are
// unknown, it adds the shape of the value; otherwise the word becomes unknown.
func (e *fields) addUnexpanded(p *syntax.ParamExp) {
	if shape, ok := e.paramShape(e.s, p); ok && strings.Contains(shape, digitsUnknown) {
		e.addNumberShape(shape)
		return
	}
	e.dynamic = true
}

// mayBeSeveralWords reports whether a quoted expansion may become any number of words.
func mayBeSeveralWords(p syntax.WordPart) bool {
	x, ok := p.(*syntax.ParamExp)
	if !ok || x.Length {
		return false
	}
	if x.Param != nil && x.Param.Value == "@" || x.Names != 0 {
		return true
	}
	w, ok := x.Index.(*syntax.Word)
	return ok && w.Lit() == "@"
}

// mergedShape returns the shape of a variable that has one of two values.
func mergedShape(v, w *value) string {
	switch {
	case v.numeric() && w.numeric():
		return digitsUnknown
	case !v.known && !w.known && v.shape == w.shape:
		return v.shape
	}
	return ""
}

// arrayShape is the shape of a variable that is set to an array.
func (f *frame) arrayShape(s *scope, a *syntax.Assign) string {
	if old := f.lookup(s, a.Name.Value); a.Append && !old.numeric() {
		return ""
	}
	for _, e := range a.Array.Elems {
		if e.Value == nil {
			continue
		}
		if text, ok := f.shape(s, e.Value.Parts); !ok || !numeric(text) {
			return ""
		}
	}
	return digitsUnknown
}
