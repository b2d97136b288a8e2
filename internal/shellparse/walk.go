package shellparse

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// output is the certain output of a command, if known.
type output struct {
	text   string
	known  bool
	number bool    // unknown, but only numbers
	below  *[]word // unknown, except that it consists of names of files below these folders, each terminated by a NUL
}

// numeric reports whether the output consists only of numbers.
func (o output) numeric() bool { return o.number || o.known && numeric(o.text) }

// stmts parses a list of statements in order.
func (f *frame) stmts(s *scope, list []*syntax.Stmt, in *stdin) output {
	out := f.parseStmts(s, list, in)
	s.settle()
	return out
}

// parseStmts parses a list like stmts, but does not call settle after the last statement.
func (f *frame) parseStmts(s *scope, list []*syntax.Stmt, in *stdin) output {
	if len(list) > 1 && in.kind == stdinKnown {
		in = &stdin{kind: stdinUnknown} // the first may use a part of it
	}
	all := output{known: true, number: true}
	for i, st := range list {
		if i > 0 {
			s.settle()
		}
		out := f.stmt(s, st, in)
		all.number = all.number && out.numeric()
		all.known = all.known && out.known && !st.Background
		all.text += out.text
		if f.stopped {
			break
		}
	}
	return all
}

// stmt parses one statement. The caller has called settle for s. Afterwards, s has separate folders
// for success and for failure.
func (f *frame) stmt(s *scope, st *syntax.Stmt, in *stdin) output {
	if !f.step() {
		return output{}
	}
	if f.nesting++; f.nesting > maxNesting {
		f.stop("the command line is nested too deeply")
	}
	defer func() { f.nesting-- }()
	if st.Background || st.Coprocess || st.Disown {
		s = s.subshell()
	}
	if call, ok := st.Cmd.(*syntax.CallExpr); ok {
		out := f.simple(s, st, call, in)
		f.negate(s, st)
		return out
	}
	if st.Cmd == nil || len(st.Redirs) > 0 {
		out := f.parseRedirected(s, st, in)
		f.negate(s, st)
		return out
	}
	out := f.compound(s, st.Cmd, in)
	f.negate(s, st)
	return out
}

func (f *frame) negate(s *scope, st *syntax.Stmt) {
	if st.Negated {
		s.dirs, s.fail = s.fail, s.dirs
	}
}

// compound parses a command that is not a simple one.
func (f *frame) compound(s *scope, cmd syntax.Command, in *stdin) (out output) {
	switch c := cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			return f.list(s, c, in)
		}
		return f.pipeline(s, c, in)
	case *syntax.Subshell:
		return f.stmts(s.subshell(), c.Stmts, in)
	case *syntax.Block:
		return f.parseStmts(s, c.Stmts, in)
	case *syntax.IfClause:
		f.ifClause(s, c, in)
	case *syntax.WhileClause:
		f.loop(s, func(s *scope) {
			f.parseStmts(s, c.Cond, sharedInput(in))
			if c.Until {
				s.dirs, s.fail = s.fail, s.dirs
			}
			after := s.fork().inFolder(s.fail)
			s.inFolder(s.dirs)
			f.stmts(s, c.Do, sharedInput(in))
			s.join(s.fork(), after)
		})
	case *syntax.ForClause:
		f.forClause(s, c, in)
	case *syntax.CaseClause:
		f.caseClause(s, c, in)
	case *syntax.FuncDecl:
		if c.Body != nil {
			if _, ok := c.Body.Cmd.(*syntax.BinaryCmd); ok {
				return f.stmt(s, fixFuncDecl(c, c.Body), in)
			}
		}
		f.declare(s, c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return f.stmt(s, trimTimeDashes(c.Stmt), in)
		}
	case *syntax.CoprocClause:
		f.stmt(s.subshell(), c.Stmt, &stdin{kind: stdinUnknown})
		if c.Name != nil {
			f.scan(s, c.Name)
		}
		s.forget("COPROC")
	case *syntax.ArithmCmd:
		f.arith(s, c.X)
		return output{number: true}
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			f.arith(s, x)
			if w, ok := x.(*syntax.Word); ok {
				f.assignText(s, w)
			}
		}
		return output{number: true}
	case *syntax.TestClause:
		f.test(s, c.X)
		return output{number: true}
	case *syntax.DeclClause:
		return f.decl(s, c)
	default:
		f.unclear("unsupported syntax: " + f.sourceOf(cmd))
	}
	return output{}
}

// trimTimeDashes removes a "--" after the keyword time, where it ends the options of time. The parser treats
// it as the name of a command.
func trimTimeDashes(st *syntax.Stmt) *syntax.Stmt {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) < 2 || call.Args[0].Lit() != "--" {
		return st
	}
	bare, inner := *st, *call
	inner.Args = call.Args[1:]
	bare.Cmd = &inner
	return &bare
}

// sharedInput returns the input of a command that shares its input with other commands.
func sharedInput(in *stdin) *stdin {
	if in.kind == stdinNone {
		return in
	}
	return &stdin{kind: stdinUnknown}
}

// flattenBinary converts a && b || c, which the parser nests on the left side, to a list.
func flattenBinary(c *syntax.BinaryCmd, same func(syntax.BinCmdOperator) bool) (elems []*syntax.Stmt, ops []syntax.BinCmdOperator) {
	for {
		elems, ops = append(elems, c.Y), append(ops, c.Op)
		x, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || !same(x.Op) || c.X.Negated || c.X.Background || len(c.X.Redirs) > 0 {
			elems = append(elems, c.X)
			break
		}
		c = x
	}
	slices.Reverse(elems)
	slices.Reverse(ops)
	return elems, ops
}

// list parses a && b || c.
func (f *frame) list(s *scope, c *syntax.BinaryCmd, in *stdin) output {
	elems, ops := flattenBinary(c, func(op syntax.BinCmdOperator) bool { return op == syntax.AndStmt || op == syntax.OrStmt })
	if in.kind == stdinKnown {
		in = &stdin{kind: stdinUnknown}
	}
	numbers := f.stmt(s, elems[0], in).numeric()
	for i, op := range ops {
		next := s.fork()
		if op == syntax.AndStmt {
			missed := s.fail
			next.inFolder(s.dirs)
			numbers = f.stmt(next, elems[i+1], in).numeric() && numbers
			s.pass(next)
			s.fail = eitherDir(next.fail, missed)
			s.dirs = next.dirs
		} else {
			passed := s.dirs
			next.inFolder(s.fail)
			numbers = f.stmt(next, elems[i+1], in).numeric() && numbers
			s.pass(next)
			s.dirs = eitherDir(passed, next.dirs)
			s.fail = next.fail
		}
	}
	return output{number: numbers}
}

// pass copies the changes of a command that may have run. It keeps the folders of next for the case
// that the command ran.
func (s *scope) pass(next *scope) {
	if next.ended {
		next.dirs, next.fail = []string{}, []string{}
		return
	}
	if next.version != s.version {
		s.merge(next)
	}
	if !slices.Equal(s.old, next.old) {
		s.old = nil
	}
}

// pipeline parses a | b; each part runs in its own shell.
func (f *frame) pipeline(s *scope, c *syntax.BinaryCmd, in *stdin) output {
	elems, _ := flattenBinary(c, func(op syntax.BinCmdOperator) bool { return op != syntax.AndStmt && op != syntax.OrStmt })
	var out output
	for i, st := range elems {
		if i > 0 {
			in = pipeInput(out)
		}
		out = f.stmt(s.subshell(), st, in)
		if f.stopped {
			break
		}
	}
	return out
}

// pipeInput returns the input of the right side of a pipe.
func pipeInput(out output) *stdin {
	if !out.known {
		return &stdin{kind: stdinUnknown, below: out.below}
	}
	return &stdin{kind: stdinKnown, text: out.text, words: xargsWords(out.text)}
}

func (f *frame) ifClause(s *scope, c *syntax.IfClause, in *stdin) {
	if len(c.Cond) == 0 { // else
		f.stmts(s, c.Then, sharedInput(in))
		return
	}
	f.parseStmts(s, c.Cond, sharedInput(in))
	yes, no := s.fork(), s.fork()
	f.stmts(yes.inFolder(s.dirs), c.Then, sharedInput(in))
	no.inFolder(s.fail)
	if c.Else != nil && !f.stopped {
		f.ifClause(no, c.Else, in)
	}
	s.join(yes, no)
}

func (f *frame) caseClause(s *scope, c *syntax.CaseClause, in *stdin) {
	f.expandOne(s, c.Word, true)
	all := s.fork()
	var fall *scope
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			f.scan(s, p)
		}
		inner := s.fork()
		if fall != nil {
			inner.join(s.fork(), fall)
			fall = nil
		}
		f.stmts(inner, item.Stmts, sharedInput(in))
		if item.Op != syntax.Break {
			fall = inner
		}
		all.join(all.fork(), inner)
		if f.stopped {
			break
		}
	}
	*s = *all
}

// parseRedirected parses a compound command with redirects, or redirects without a command.
func (f *frame) parseRedirected(s *scope, st *syntax.Stmt, in *stdin) (out output) {
	slot := len(f.out.Commands)
	if st.Cmd == nil {
		f.reserve()
	}
	io := f.redirects(s, st.Redirs, in)
	if st.Cmd != nil {
		out = f.compound(s, st.Cmd, io.in)
	}
	if io.stdoutMoved {
		out = output{}
	}
	out.number = out.number && !io.errors
	switch {
	case st.Cmd == nil:
		f.out.Commands[slot] = f.nullCommand(s, st, io.paths)
	case len(io.paths) > 0 && slot < len(f.out.Commands):
		first := &f.out.Commands[slot]
		first.Paths = append(first.Paths, io.paths...)
		first.Safe = first.Safe && !anyWritten(io.paths)
	case len(io.paths) > 0:
		f.out.Commands[f.reserve()] = f.nullCommand(s, st, io.paths)
	}
	return out
}

// nullCommand is the command ":", for redirects without a command.
func (f *frame) nullCommand(s *scope, st *syntax.Stmt, paths []Path) Command {
	return Command{
		Name: ":", Program: ":", Line: ":", Source: f.sourceOf(st), Dir: likelyDir(s), Wrappers: f.via, Paths: paths, Safe: !anyWritten(paths),
	}
}
