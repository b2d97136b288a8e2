package shellparse

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// nestedFrame returns a frame for the commands that another command runs.
func (f *frame) nestedFrame(via string) *frame {
	return &frame{reader: f.reader, src: f.src, via: append(slices.Clip(f.via), via)}
}

// substitute parses $( ) or backquotes.
func (f *frame) substitute(s *scope, c *syntax.CmdSubst) output {
	return f.nestedFrame("$()").stmts(s.subshell(), c.Stmts, &stdin{})
}

// process parses <( ) or >( ).
func (f *frame) process(s *scope, p *syntax.ProcSubst) {
	in, via := &stdin{}, "<()"
	if p.Op != syntax.CmdIn {
		in, via = &stdin{kind: stdinUnknown}, ">()"
	}
	f.nestedFrame(via).stmts(s.subshell(), p.Stmts, in)
}

// nested parses a text as a separate line.
func (f *frame) nested(s *scope, via, line string, in *stdin, params *[]word) output {
	if f.depth++; f.depth > maxDepth {
		f.stop("shells are nested too deeply")
	}
	defer func() { f.depth-- }()
	if f.stopped {
		return output{}
	}
	if params != nil {
		s.params = params
	}
	inner := f.nestedFrame(via)
	inner.src = line
	return inner.line(s, in)
}

// scan parses the substitutions anywhere in a node whose own value does not matter or is unknown.
func (f *frame) scan(s *scope, node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if f.stopped {
			return false
		}
		switch n := n.(type) {
		case *syntax.CmdSubst:
			f.substitute(s, n)
			return false
		case *syntax.ProcSubst:
			f.process(s, n)
			return false
		case *syntax.ExtGlob:
			if strings.ContainsAny(n.Pattern.Value, "$`<>") {
				f.unclear("the pattern " + f.written(n) + " may run a command")
			}
		case *syntax.ParamExp:
			f.expansionEffects(s, n)
		}
		return true
	})
}

// expansionEffects records the side effects of a parameter expansion.
func (f *frame) expansionEffects(s *scope, p *syntax.ParamExp) {
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.OtherParamOps:
			if p.Exp.Word == nil || p.Exp.Word.Lit() == "P" {
				f.unclear("${…@P} runs commands in the value")
			}
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if p.Param != nil && syntax.ValidName(p.Param.Value) {
				f.assign(s, p.Param.Value, word{}, false)
			}
		}
	}
	if p.Param != nil && p.Excl {
		f.subscript(s, p.Param.Value)
	}
	if p.Index != nil {
		f.evaluate(s, p.Index)
	}
	if p.Slice != nil {
		f.evaluate(s, p.Slice.Offset)
		f.evaluate(s, p.Slice.Length)
	}
}

// arith parses an arithmetic expression: its substitutions run, and its assigned variables are unknown
// afterwards.
func (f *frame) arith(s *scope, x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	f.scan(s, x)
	f.evaluate(s, x)
}

// evaluate records the side effects of an expression other than substitutions. The shell evaluates the
// values of its variables as expressions again.
func (f *frame) evaluate(s *scope, x syntax.Node) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.BinaryArithm:
			if w, ok := n.X.(*syntax.Word); ok && assigns(n.Op) {
				if n.Op != syntax.Assgn {
					f.evaluate(s, w)
				}
				f.target(s, w)
			}
		case *syntax.UnaryArithm:
			if w, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.Inc || n.Op == syntax.Dec) {
				f.evaluate(s, w)
				f.target(s, w)
			}
		case *syntax.ParamExp:
			if n.Param != nil {
				f.subscript(s, n.Param.Value)
			}
		case *syntax.Lit:
			f.expression(s, n.Value)
		case *syntax.SglQuoted:
			f.expression(s, n.Value)
		}
		return true
	})
}

func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn, syntax.AndAssgn,
		syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return strings.HasSuffix(op.String(), "=") && !slices.Contains([]string{"==", "!=", "<=", ">="}, op.String())
}

// target forgets the variable that an arithmetic word names.
func (f *frame) target(s *scope, w *syntax.Word) {
	if len(w.Parts) == 0 {
		return
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		name, _, _ := strings.Cut(p.Value, "[")
		if syntax.ValidName(name) {
			f.assign(s, name, word{}, false)
		}
	case *syntax.ParamExp:
		if p.Param != nil && syntax.ValidName(p.Param.Value) {
			f.assign(s, p.Param.Value, word{}, false)
		}
	}
}

// subscript records a variable or a parameter whose value would run a command when it
// is evaluated.
func (f *frame) subscript(s *scope, name string) {
	switch {
	case syntax.ValidName(name):
		f.expression(s, f.lookup(s, name).text)
	case s.params == nil:
	case name == "@" || name == "*":
		for _, w := range *s.params {
			f.expression(s, w.text)
		}
	default:
		if n, used := digits(name, 10, 4); used == len(name) && int(n) < len(*s.params) {
			f.expression(s, (*s.params)[n].text)
		}
	}
}

// expression records that text would run a command when it is evaluated as an
// arithmetic expression. The shell evaluates the values of the variables in it, and
// the variables in those.
func (f *frame) expression(s *scope, text string) {
	f.substituting(text)
	if len(s.vars) > 0 && text != "" {
		f.references(s, text, map[string]bool{})
	}
}

func (f *frame) references(s *scope, text string, seen map[string]bool) {
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isNameRune(r) }) {
		if v, ok := s.vars[name]; ok && v.text != "" && !seen[name] {
			seen[name] = true
			f.substituting(v.text)
			f.references(s, v.text, seen)
		}
	}
}

func isNameRune(r rune) bool { return r < 0x80 && isNameByte(byte(r)) }

func (f *frame) substituting(text string) {
	if strings.Contains(text, "$(") || strings.IndexByte(text, '`') >= 0 || strings.Contains(text, "${") {
		f.unclear("a value that is evaluated again would run a command: " + text)
	}
}

// test parses [[ … ]].
func (f *frame) test(s *scope, x syntax.TestExpr) {
	f.scan(s, x)
	var paths []Path
	look := func(x syntax.TestExpr) {
		if w, ok := x.(*syntax.Word); ok {
			paths = f.resolve(paths, s.dirs, use{path: f.one(s, w, true), access: Read, from: FromArgument})
		}
	}
	defer func() {
		if len(paths) > 0 && !f.stopped {
			f.out.Commands[f.reserve()] = Command{Name: ":", Program: ":", Line: ":", Source: f.written(x), Dir: likely(s), Wrappers: f.via, Paths: paths, Safe: true}
		}
	}()
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
				look(n.X)
				look(n.Y)
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				f.evaluate(s, n.X)
				f.evaluate(s, n.Y)
			case syntax.TsReMatch:
				s.forget("BASH_REMATCH")
			}
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				f.evaluate(s, n.X)
			} else if n.Op >= syntax.TsExists && n.Op <= syntax.TsUsrOwn || n.Op == syntax.TsModif {
				look(n.X)
			}
		}
		return true
	})
}
