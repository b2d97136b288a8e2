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
	out := f.nestedFrame("$()").stmts(s.subshell(), c.Stmts, &stdin{})
	if f.outs == nil {
		f.outs = map[*syntax.CmdSubst]output{}
	}
	f.outs[c] = out
	return out
}

// processSubstitution parses <( ) or >( ).
func (f *frame) processSubstitution(s *scope, p *syntax.ProcSubst) {
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
	return inner.parseText(s, in)
}

// scan parses the substitutions anywhere in a node. The value of the node itself does not matter or
// is unknown.
func (f *frame) scan(s *scope, node syntax.Node) {
	var params []*syntax.ParamExp
	syntax.Walk(node, func(n syntax.Node) bool {
		if f.stopped {
			return false
		}
		switch n := n.(type) {
		case *syntax.ArithmExp:
			f.arith(s, n.X)
			return false
		case *syntax.CmdSubst:
			f.substitute(s, n)
			return false
		case *syntax.ProcSubst:
			f.processSubstitution(s, n)
			return false
		case *syntax.ExtGlob:
			if strings.ContainsAny(n.Pattern.Value, "$`<>") {
				f.unclear("the pattern " + f.sourceOf(n) + " may run a command")
			}
		case *syntax.ParamExp:
			params = append(params, n)
		}
		return true
	})
	for _, p := range slices.Backward(params) {
		f.expansionEffects(s, p)
	}
}

// expansionEffects records the side effects of a parameter expansion, such as assignments.
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
	if p.Param != nil && p.Excl && p.Names == 0 && !everyIndex(p.Index) {
		v := f.parameterValue(s, p.Param.Value)
		f.evaluateName(s, &word{text: f.sourceOf(p), static: false, shape: v.name()})
	}
	if p.Index != nil && !everyIndex(p.Index) && (p.Param == nil || !s.vars[p.Param.Value].isMap || !p.Dollar.IsValid()) {
		f.evaluate(s, p.Index)
	}
	if p.Slice != nil {
		f.evaluate(s, p.Slice.Offset)
		f.evaluate(s, p.Slice.Length)
	}
}

// test parses [[ … ]].
func (f *frame) test(s *scope, x syntax.TestExpr) {
	f.scan(s, x)
	var paths []Path
	look := func(x syntax.TestExpr) {
		if w, ok := x.(*syntax.Word); ok {
			paths = f.resolve(paths, s.dirs, use{path: f.expandOne(s, w, true), access: Read, from: FromArgument})
		}
	}
	defer func() {
		if len(paths) > 0 && !f.stopped {
			f.out.Commands[f.reserve()] = Command{Name: ":", Program: ":", Line: ":", Source: f.sourceOf(x), Dir: likelyDir(s), Wrappers: f.via, Paths: paths, Safe: true}
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
				f.evaluateOperand(s, n.X)
				f.evaluateOperand(s, n.Y)
			case syntax.TsReMatch:
				s.forget("BASH_REMATCH")
			}
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				if w, ok := n.X.(*syntax.Word); ok {
					name := word{text: f.sourceOf(w)}
					if text, ok := f.shape(s, w.Parts); ok {
						name.shape = text + nameEnd
					}
					f.evaluateName(s, &name)
				}
			} else if n.Op >= syntax.TsExists && n.Op <= syntax.TsUsrOwn || n.Op == syntax.TsModif {
				look(n.X)
			}
		}
		return true
	})
}
