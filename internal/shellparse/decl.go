package shellparse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// decl handles export, declare, local, readonly and typeset, which are both assignments and
// commands.
func (f *frame) decl(s *scope, c *syntax.DeclClause) output {
	slot := f.reserve()
	name := c.Variant.Value
	words := []word{{text: name, static: true}}
	export, odd, integer := name == "export", name == "readonly", false
	array, isMap := false, false
	for _, a := range c.Args {
		switch {
		case a.Naked && a.Name == nil:
			list := f.words(s, []*syntax.Word{a.Value})
			words = append(words, list...)
			for _, w := range list {
				if !w.static || w.glob {
					f.unclear("cannot determine what " + name + " sets: " + w.text)
					continue
				}
				f.evaluateName(s, &w)
				if flags, ok := strings.CutPrefix(w.text, "-"); ok {
					export = export || strings.ContainsRune(flags, 'x')
					odd = odd || strings.ContainsAny(flags, "ilucraA")
					integer = integer || strings.ContainsRune(flags, 'i')
					array, isMap = array || strings.ContainsAny(flags, "aA"), isMap || strings.ContainsRune(flags, 'A')
					if strings.ContainsRune(flags, 'n') && name != "export" {
						f.unclear("a name that refers to another variable")
					}
					s.exportFun = s.exportFun || export && strings.ContainsRune(flags, 'f')
				} else if n, value, ok := strings.Cut(w.text, "="); ok {
					f.setAttributes(s, name, strings.TrimSuffix(n, "+"), word{text: value, static: !strings.HasSuffix(n, "+")}, export, odd, integer)
				} else {
					f.declareEmpty(s, name, w.text, export, odd, integer)
				}
			}
		case a.Naked:
			words = append(words, word{text: f.sourceOf(a), static: true})
			f.declareMap(s, a.Name.Value, isMap)
			f.declareEmpty(s, name, a.Name.Value, export, odd, integer)
		default:
			f.declareMap(s, a.Name.Value, isMap)
			w := f.assignedValue(s, a)
			if array && a.Array == nil && !w.static && w.shape == "" {
				f.unclear("cannot determine what the array runs that " + name + " sets to " + w.text)
			}
			words = append(words, word{text: a.Name.Value + "=" + w.text, static: w.static, shape: w.shape})
			if odd && w.static {
				f.checkSubstitution(w.text)
			}
			f.setAttributes(s, name, a.Name.Value, w, export, odd, integer)
		}
	}
	f.out.Commands[slot] = f.buildCommand(s, words, strings.TrimSuffix(f.sourceOf(c), ";"), nil, nil, &effects{safe: true})
	printed := printsValues(words[1:])
	f.out.Commands[slot].Safe = !assignsDangerous(c) && !printed
	return output{number: !printed}
}

// printsValues reports whether a declaration prints the values of variables, which may be tokens: it has
// no operands, or an option for printing.
func printsValues(args []word) bool {
	names := false
	for _, w := range args {
		flag := strings.HasPrefix(w.text, "-")
		if flag && strings.ContainsRune(w.text, 'p') {
			return true
		}
		names = names || !flag
	}
	return !names
}

func assignsDangerous(c *syntax.DeclClause) bool {
	for _, a := range c.Args {
		if a.Name == nil && a.Value != nil && strings.IndexByte(a.Value.Lit(), '=') >= 0 || a.Name != nil && isDangerous(a.Name.Value) {
			return true
		}
	}
	return false
}

// declareMap records that the subscripts of a variable are texts, not expressions. If the line has
// set the variable before, that is not certain, because an array with numeric subscripts does not
// change.
func (f *frame) declareMap(s *scope, name string, isMap bool) {
	if !isMap {
		return
	}
	v, changed := s.vars[name]
	v.isMap, v.mayMap = v.isMap || !changed && !s.lost, true
	s.set(name, v)
}

// declareEmpty declares a variable without a value.
func (f *frame) declareEmpty(s *scope, decl, name string, export, odd, integer bool) {
	v := f.lookup(s, name)
	w := word{text: v.text, static: v.known, glob: v.glob, shape: v.shape}
	if _, ok := s.vars[name]; !ok && !s.lost && s.call != nil && decl == "local" {
		w = word{shape: digitsUnknown} // it is not set
	}
	f.setAttributes(s, decl, name, w, export, odd, integer)
}

// setAttributes sets the value and attributes of a declared variable.
func (f *frame) setAttributes(s *scope, decl, name string, w word, export, odd, integer bool) {
	if !syntax.ValidName(name) {
		return
	}
	if decl == "local" && s.call == nil {
		w = word{} // an error in bash, but not in every shell
	}
	if s.call != nil && decl != "export" && decl != "readonly" {
		s.call.locals = append(s.call.locals, name)
	}
	if integer {
		f.recordInteger(false)
		if w.static || w.shape != "" || w.text != "" {
			f.evaluateText(s, &w)
		}
	}
	f.assign(s, name, w, export)
	if odd {
		v := s.vars[name]
		if integer || v.numeric() {
			v.shape = digitsUnknown
		}
		v.odd, v.integer, v.known = true, v.integer || integer, v.known && decl == "readonly"
		s.set(name, v)
	}
}

// assignedValue returns the value that an assignment sets.
func (f *frame) assignedValue(s *scope, a *syntax.Assign) word {
	isMap, integer := s.vars[a.Name.Value].isMap, f.lookup(s, a.Name.Value).integer
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			switch {
			case e.Index != nil && isMap:
				f.scan(s, e.Index)
			case e.Index != nil:
				f.arith(s, e.Index)
			}
			if e.Value != nil {
				f.scan(s, e.Value)
			}
		}
		return word{text: f.sourceOf(a.Array), shape: f.arrayShape(s, a)}
	}
	w := f.expandOne(s, a.Value, true)
	if a.Index != nil {
		if isMap {
			f.scan(s, a.Index)
		} else {
			f.arith(s, a.Index)
		}
		old := f.lookup(s, a.Name.Value)
		if text, ok := w.evaluable(); ok && numeric(text) && old.numeric() {
			return word{text: w.text, shape: digitsUnknown}
		} else if ok && integer {
			f.evaluateText(s, &w)
		}
		return word{text: w.text}
	}
	if a.Append {
		v := f.lookup(s, a.Name.Value)
		if v.integer {
			f.evaluateText(s, &w)
		}
		old, known := v.evaluable()
		text, ok := w.evaluable()
		w.shape = ""
		if known && ok && len(old)+len(text) <= MaxLine && (!v.known || !w.static) {
			w.shape = old + text
		}
		w.static = w.static && v.known && len(v.text)+len(w.text) <= MaxLine
		w.text = v.text + w.text
		f.spend(len(w.text))
	}
	return w
}
