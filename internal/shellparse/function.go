package shellparse

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// declare records a function. Its body is parsed when it is called, or at the end.
func (f *frame) declare(s *scope, d *syntax.FuncDecl) {
	if d.Name == nil || d.Body == nil {
		f.unclear("a function without a name")
		return
	}
	s.define(d.Name.Value, function{bodies: []*syntax.Stmt{d.Body}})
	if !slices.ContainsFunc(f.declarations, func(h declaration) bool { return h.body == d.Body }) {
		if len(f.declarations) >= maxVars {
			f.stop("too many functions in the command line")
		}
		f.declarations = append(f.declarations, declaration{body: d.Body, name: d.Name.Value, frame: f, scope: s.fork()})
	}
}

// fixFuncDecl corrects the declaration of a function. In f() { a; } && b, the parser treats
// everything after the braces as part of the body.
func fixFuncDecl(d *syntax.FuncDecl, body *syntax.Stmt) *syntax.Stmt {
	list, _ := body.Cmd.(*syntax.BinaryCmd)
	outer, inner := *body, *list
	if _, ok := list.X.Cmd.(*syntax.BinaryCmd); ok {
		inner.X = fixFuncDecl(d, list.X)
	} else {
		decl := *d
		decl.Body = list.X
		inner.X = &syntax.Stmt{Cmd: &decl, Position: d.Position}
	}
	outer.Cmd = &inner
	return &outer
}

// parseBody parses the body of a function that is called with params.
func (f *frame) parseBody(s *scope, name string, body *syntax.Stmt, params *[]word, in *stdin) output {
	home := f
	for _, h := range f.declarations {
		if h.body == body {
			home = &frame{reader: f.reader, src: h.frame.src, via: f.via}
		}
	}
	if slices.Contains(f.running, name) {
		f.unclear("the function " + name + " calls itself")
		return output{}
	}
	if f.depth++; f.depth > maxDepth {
		f.stop("functions are nested too deeply")
	}
	defer func() { f.depth-- }()
	if f.stopped {
		return output{}
	}
	f.running = append(f.running, name)
	defer func() { f.running = f.running[:len(f.running)-1] }()
	if !slices.Contains(f.called, body) {
		f.called = append(f.called, body)
	}
	loop, call, before := s.loop, s.call, s.params
	inner, outer := &jumps{}, s.fork()
	s.loop, s.call, s.params = nil, inner, params
	out := home.stmt(s, body, in)
	for _, j := range inner.scopes {
		s.settle()
		s.join(s.fork(), j)
	}
	for _, local := range inner.locals {
		v, w := outer.vars[local], s.vars[local]
		s.forget(local)
		if w.isMap && !v.isMap {
			now := s.vars[local]
			now.isMap = false
			s.set(local, now)
		}
		if shape := mergedShape(&v, &w); shape != "" && (v.known || v.shape != "") {
			f.assign(s, local, word{shape: shape}, false)
		}
	}
	s.loop, s.call, s.params = loop, call, before
	if len(inner.scopes) > 0 {
		out = output{}
	}
	return out
}

// callFunction handles a call. It reports whether the name can be only that of a function.
func (f *frame) callFunction(s *scope, fn function, words []word, in *stdin) (out output, only bool) {
	params := append([]word(nil), words...)
	if len(fn.bodies) == 1 && !fn.maybe {
		return f.parseBody(s, words[0].text, fn.bodies[0], &params, in), true
	}
	all := s.fork()
	for _, b := range fn.bodies {
		turn := s.fork()
		f.parseBody(turn, words[0].text, b, &params, sharedInput(in))
		turn.settle()
		all.join(all.fork(), turn)
	}
	*s = *all
	return output{}, !fn.maybe
}
