package shellparse

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// In an arithmetic expression, the shell also evaluates the value of each variable as an
// expression, and so on recursively: if x is "a[$(cmd)]", ((x)) runs cmd. An expression is clear
// only if each text that is evaluated is known or is a number.

// arith parses an arithmetic expression. The substitutions in it run, and the variables that it
// assigns are numbers afterwards.
func (f *frame) arith(s *scope, x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	f.scan(s, x)
	f.evaluate(s, x)
}

// evaluate records what an expression evaluates and assigns. The substitutions in it have been
// parsed before.
func (f *frame) evaluate(s *scope, x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.ParenArithm:
		f.evaluate(s, x.X)
	case *syntax.UnaryArithm:
		f.evaluate(s, x.X)
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			f.assignNumber(s, x.X)
		}
	case *syntax.BinaryArithm:
		if assigns(x.Op) {
			if x.Op != syntax.Assgn {
				f.evaluate(s, x.X)
			}
			f.evaluate(s, x.Y)
			f.assignNumber(s, x.X)
			return
		}
		f.evaluate(s, x.X)
		if x.Op == syntax.AndArit || x.Op == syntax.OrArit || x.Op == syntax.TernQuest || x.Op == syntax.TernColon {
			f.perhaps++
			defer func() { f.perhaps-- }()
		}
		f.evaluate(s, x.Y)
	case *syntax.Word:
		text, ok := f.shape(s, x.Parts)
		if !ok {
			f.unclear(cannotEvaluate + f.sourceOf(x))
			return
		}
		f.expression(s, text)
	default:
		f.unclear(cannotEvaluate + f.sourceOf(x))
	}
}

// evaluateOperand does the same as evaluate, for an operand of [[ -eq ]].
func (f *frame) evaluateOperand(s *scope, x syntax.TestExpr) {
	if w, ok := x.(*syntax.Word); ok {
		f.evaluate(s, w)
	} else {
		f.unclear(cannotEvaluate + f.sourceOf(x))
	}
}

const cannotEvaluate = "cannot determine what the shell runs when it evaluates "

func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn, syntax.AndAssgn,
		syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return strings.HasSuffix(op.String(), "=") && !slices.Contains([]string{"==", "!=", "<=", ">="}, op.String())
}

// assignNumber records that the variable in an arithmetic word becomes an unknown number.
func (f *frame) assignNumber(s *scope, x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) == 0 {
		return
	}
	name, element := "", false
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		name, _, element = strings.Cut(p.Value, "[")
	case *syntax.ParamExp:
		if p.Param != nil {
			name, element = p.Param.Value, p.Index != nil
		}
	}
	if !syntax.ValidName(name) {
		return
	}
	number := word{shape: digitsUnknown}
	if old := f.lookup(s, name); (element || f.perhaps > 0) && !old.numeric() {
		number = word{}
	}
	f.assign(s, name, number, false)
}

// evaluateText records that the shell evaluates a word as an expression.
func (f *frame) evaluateText(s *scope, w *word) {
	text, ok := w.evaluable()
	if !ok {
		f.unclear(cannotEvaluate + w.text)
		return
	}
	f.expression(s, text)
}

// nameEnd is the suffix of a shape if the shape is the name of a variable.
const nameEnd = digitsUnknown

// name returns the value as the name of a variable, which may have a subscript.
func (v *value) name() string {
	text, ok := v.evaluable()
	if !ok {
		return ""
	}
	return text + nameEnd
}

// evaluateName records that the shell evaluates the subscript of a word that is the name of a variable.
func (f *frame) evaluateName(s *scope, w *word) {
	text := w.shape
	if w.static {
		text = w.text
	}
	if text == "" && !w.static || w.open && !w.static || (w.glob || !w.static) && strings.ContainsAny(text, "*?") {
		f.unclear("cannot determine which subscript the shell evaluates in " + w.text)
		return
	}
	name, subscript, ok := strings.Cut(text, "[")
	if !ok || !syntax.ValidName(strings.ReplaceAll(name, digitsUnknown, "0")) {
		return
	}
	subscript, _, _ = strings.Cut(subscript, "]=")
	if s.vars[name].isMap {
		f.checkSubstitution(subscript)
		return
	}
	f.expression(s, strings.TrimSuffix(strings.TrimSuffix(subscript, nameEnd), "]"))
}

// expression records that the shell evaluates a text as an arithmetic expression.
func (f *frame) expression(s *scope, text string) {
	if !numeric(text) && !f.evaluatesOnlyKnown(s, text, map[string]bool{}) {
		f.unclear(cannotEvaluate + strings.ReplaceAll(text, digitsUnknown, "…"))
	}
}

// evaluatesOnlyKnown reports whether all texts that the shell evaluates for an expression are known.
func (f *frame) evaluatesOnlyKnown(s *scope, text string, seen map[string]bool) bool {
	f.checkSubstitution(text)
	if strings.ContainsAny(text, "`\\'\"") {
		return false
	}
	for i := 0; i < len(text); {
		start := i
		switch c := text[i]; {
		case c == '$':
			if i++; i == len(text) || !isNameByte(text[i]) || text[i] >= '0' && text[i] <= '9' {
				return false
			}
		case c >= '0' && c <= '9' || c == digitsUnknown[0]:
			for i < len(text) && (isNameByte(text[i]) || strings.IndexByte("#@"+digitsUnknown, text[i]) >= 0) {
				i++
			}
			if number := text[start:i]; strings.Contains(number, digitsUnknown) && !numeric(number) {
				return false
			}
		case isNameByte(c):
			for i < len(text) && isNameByte(text[i]) {
				i++
			}
			name, rest := text[start:i], text[i:]
			if strings.HasPrefix(rest, digitsUnknown) {
				return false
			}
			rest = strings.TrimLeft(rest, " \t\n")
			if seen[name] || strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==") {
				continue
			}
			seen[name] = true
			v := f.lookup(s, name)
			if value, ok := v.evaluable(); !ok || !numeric(value) && !f.evaluatesOnlyKnown(s, value, seen) {
				return false
			}
		default:
			if c == '<' || c == '>' {
				if i+1 < len(text) && text[i+1] == '(' {
					return false
				}
			}
			i++
		}
	}
	return true
}

func (f *frame) checkSubstitution(text string) {
	if strings.Contains(text, "$(") || strings.IndexByte(text, '`') >= 0 || strings.Contains(text, "${") {
		f.unclear("a value that is evaluated again would run a command: " + text)
	}
}

// evaluateArguments records the texts that a builtin evaluates in its arguments.
func (f *frame) evaluateArguments(s *scope, name string, args []word, names []word) {
	for i := range names {
		f.evaluateName(s, &names[i])
	}
	switch name {
	case "let":
		for i := range args {
			f.evaluateText(s, &args[i])
		}
	case "declare", "typeset", "local", "export", "readonly":
		for i := range args {
			if strings.HasPrefix(args[i].text, "-") && strings.ContainsAny(args[i].text, "inaA") {
				f.unclear("cannot determine what the variables of " + name + " evaluate")
			}
			f.evaluateName(s, &args[i])
		}
	case "wait":
		if slices.ContainsFunc(args, func(w word) bool { return strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "p") }) {
			for i := range args {
				f.evaluateName(s, &args[i])
			}
		}
	case "printf":
		if len(args) > 0 && (len(args) > 1 || args[0].open) && args[0].unknown() && strings.IndexByte("$`", (strings.TrimLeft(args[0].text, `"'`) + "$")[0]) >= 0 {
			f.unclear("cannot determine whether the format of printf is an option: " + args[0].text)
		}
	case "test", "[":
		f.testArguments(s, args)
	}
}

// matchesOption reports whether the pattern matches -v.
func matchesOption(pattern string) bool {
	ok, err := path.Match(pattern, "-v")
	return ok || err != nil
}

// assignText records which variable the text of a word assigns: let "x = 1".
func (f *frame) assignText(s *scope, w *syntax.Word) {
	text, ok := f.shape(s, w.Parts)
	if !ok {
		return
	}
	end := 0
	for end < len(text) && isNameByte(text[end]) {
		end++
	}
	rest := strings.TrimLeft(text[end:], " \t")
	for _, op := range []string{"=", "+=", "-=", "*=", "/=", "%=", "++", "--"} {
		if strings.HasPrefix(rest, op) && !strings.HasPrefix(rest, "==") && syntax.ValidName(text[:end]) {
			f.assign(s, text[:end], word{shape: digitsUnknown}, false)
			return
		}
	}
}

// recordInteger records that a variable has the attribute integer, or that a trap sets a variable to
// unknown text. If both are the same variable, the shell evaluates the text.
func (f *frame) recordInteger(later bool) {
	f.ints, f.later = f.ints || !later, f.later || later
	if f.ints && f.later {
		f.unclear("cannot determine what the shell evaluates in a trap")
	}
}

func (w *word) unknown() bool { _, ok := w.evaluable(); return !ok && !w.static }

// testArguments records the subscripts that the shell evaluates because of test -v NAME[SUBSCRIPT].
// An unknown argument may be the option -v.
func (f *frame) testArguments(s *scope, args []word) {
	for i := range args {
		w := &args[i]
		switch {
		case w.static && w.glob && w.open && matchesOption(w.text):
			f.unclear("cannot determine whether a name that matches " + w.text + " is -v")
		case w.open && !w.static:
			f.unclear("cannot determine whether the unquoted argument of test is -v: " + w.text)
		case i > 0 && args[i-1].static && (args[i-1].text == "-v" || args[i-1].text == "-R"):
			f.evaluateName(s, w)
		case i > 0 && w.unknown() && args[i-1].unknown():
			f.unclear("cannot determine whether an argument of test is -v: " + args[i-1].text)
		}
	}
}
