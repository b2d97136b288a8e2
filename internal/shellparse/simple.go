package shellparse

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assignment is a variable that is set before a command.
type assignment struct {
	name string
	word word
}

// simple parses a simple command: assignments, words, redirects.
func (f *frame) simple(s *scope, st *syntax.Stmt, c *syntax.CallExpr, in *stdin) output {
	if len(c.Args) == 0 {
		return f.parseAssignments(s, st, c, in)
	}
	slot := f.reserve()
	if f.stopped {
		return output{}
	}
	words := f.words(s, c.Args)
	var set []assignment
	for _, a := range c.Assigns {
		set = append(set, assignment{a.Name.Value, f.assignedValue(s, a)})
	}
	io := redirection{in: in}
	if len(st.Redirs) > 0 {
		io = f.redirects(s, st.Redirs, in)
	}
	if len(words) == 0 { // all words were empty variables
		f.drop(slot)
		for _, a := range set {
			f.assign(s, a.name, a.word, false)
		}
		if len(io.paths) > 0 {
			f.out.Commands[f.reserve()] = f.nullCommand(s, st, io.paths)
		}
		return output{}
	}
	cmd := &command{
		words: words, set: set, in: io.in, paths: io.paths, slot: slot, shell: true,
		source: f.sourceText(c, st.Redirs),
	}
	if alias, ok := s.aliases[c.Args[0].Lit()]; ok && len(s.aliases) > 0 && words[0].static {
		f.parseAlias(s, alias, words, io.in)
	}
	out := f.invoke(s, cmd)
	if io.stdoutMoved {
		return output{}
	}
	out.number = out.number && !io.errors
	return out
}

const aliasUnknown = "\x00"

// parseAlias parses a command a second time, as if its alias were active. The meaning without the
// alias is kept.
func (f *frame) parseAlias(s *scope, alias string, words []word, in *stdin) {
	if alias == aliasUnknown {
		f.unclear("cannot determine what the alias " + words[0].text + " stands for")
		return
	}
	inner := s.fork()
	inner.aliases, inner.sharedFun = nil, true
	rest := make([]string, 0, len(words))
	for _, w := range words[1:] {
		rest = append(rest, canonicalWord(w, false))
	}
	f.nested(inner, "alias "+words[0].text, alias+" "+strings.Join(rest, " "), sharedInput(in), nil)
}

// parseAssignments handles assignments without a command.
func (f *frame) parseAssignments(s *scope, st *syntax.Stmt, c *syntax.CallExpr, in *stdin) output {
	for _, a := range c.Assigns {
		w := f.assignedValue(s, a)
		f.assign(s, a.Name.Value, w, false)
		if a.Array != nil && w.shape == "" {
			s.forget(a.Name.Value)
		}
	}
	if len(st.Redirs) > 0 {
		slot := f.reserve()
		io := f.redirects(s, st.Redirs, in)
		f.out.Commands[slot] = f.nullCommand(s, st, io.paths)
	}
	return output{known: true}
}

// sourceText returns the command as it is written in the line, without assignments and redirects.
func (f *frame) sourceText(c *syntax.CallExpr, redirs []*syntax.Redirect) string {
	first, last := c.Args[0], c.Args[len(c.Args)-1]
	between := func(r *syntax.Redirect) bool { return r.Pos().After(first.Pos()) && last.Pos().After(r.Pos()) }
	if !slices.ContainsFunc(redirs, between) {
		return f.between(first.Pos(), last.End())
	}
	parts := make([]string, len(c.Args))
	for i, a := range c.Args {
		parts[i] = f.sourceOf(a)
	}
	return strings.Join(parts, " ")
}
