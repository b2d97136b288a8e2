package shellparse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxTurns is the maximum number of values of a for loop that are followed individually.
const maxTurns = 16

// loop parses a body that may run any number of times or never. It repeats this until the state at
// the start of the body no longer changes.
func (f *frame) loop(s *scope, body func(*scope)) {
	mark, reasons := len(f.out.Commands), len(f.out.Unclear)
	outer := s.loop
	for try := 0; !f.stopped; try++ {
		turn := s.fork()
		early := &jumps{outer: outer}
		turn.loop = early
		body(turn)
		turn.settle()
		for _, j := range early.scopes {
			turn.join(turn.fork(), j)
		}
		joined := s.fork()
		joined.join(s.fork(), turn)
		done := joined.sameAs(s)
		if try == 1 {
			joined.dirs, joined.fail = nil, nil
		}
		*s = *joined
		s.loop, s.ended = outer, false
		if done {
			return
		}
		if try == 3 {
			f.unclear("a loop changes more in every iteration")
			return
		}
		clear(f.out.Commands[mark:])
		f.out.Commands = f.out.Commands[:mark]
		for _, why := range f.out.Unclear[reasons:] {
			delete(f.seen, why)
		}
		f.out.Unclear = f.out.Unclear[:reasons]
	}
}

func (f *frame) forClause(s *scope, c *syntax.ForClause, in *stdin) {
	if l, ok := c.Loop.(*syntax.CStyleLoop); ok {
		f.arith(s, l.Init)
		f.loop(s, func(s *scope) {
			f.arith(s, l.Cond)
			f.stmts(s, c.Do, sharedInput(in))
			f.arith(s, l.Post)
		})
		return
	}
	it, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		f.unclear("unsupported kind of loop")
		return
	}
	var items []word
	known := !c.Select
	if it.InPos.IsValid() {
		items = f.words(s, it.Items)
	} else if s.params != nil {
		items = *s.params
		items = items[min(1, len(items)):]
	} else {
		known = false
	}
	for _, w := range items {
		known = known && w.static
	}
	if !known || len(items) > maxTurns || len(items) == 0 {
		each := word{shape: digitsUnknown}
		for i := range items {
			if text, ok := items[i].evaluable(); !ok || !numeric(text) {
				each = word{}
			}
		}
		if c.Select || !it.InPos.IsValid() && s.params == nil {
			each = word{}
		}
		f.loop(s, func(s *scope) {
			f.assign(s, it.Name.Value, each, false)
			f.stmts(s, c.Do, sharedInput(in))
		})
		return
	}
	mark := len(f.out.Commands)
	outer := s.loop
	var left []*scope // a break ends the loop, even if later values would not
	for _, w := range items {
		f.assign(s, it.Name.Value, w, false)
		early := &jumps{outer: outer}
		s.loop = early
		f.stmts(s, c.Do, sharedInput(in))
		for _, j := range early.scopes {
			s.join(s.fork(), j)
		}
		left = append(left, early.scopes...)
		if f.stopped {
			break
		}
	}
	for _, j := range left {
		s.join(s.fork(), j)
	}
	s.loop, s.ended = outer, false
	f.removeDuplicates(mark)
}

// removeDuplicates removes duplicate commands from mark on.
func (f *frame) removeDuplicates(mark int) {
	seen := map[string]bool{}
	kept := f.out.Commands[:mark]
	for i := mark; i < len(f.out.Commands); i++ {
		c := f.out.Commands[i]
		var b strings.Builder
		for _, part := range []string{c.Line, c.Dir, c.Opaque, strings.Join(c.Wrappers, "\x00"), strings.Join(c.Assigns, "\x00")} {
			b.WriteString(part)
			b.WriteString("\x00\x00")
		}
		for _, p := range c.Paths {
			b.WriteString(p.Path + "\x00" + p.Arg + string(rune('0'+p.Access)) + "\x00")
		}
		if key := b.String(); !seen[key] {
			seen[key] = true
			kept = append(kept, c)
		}
	}
	clear(f.out.Commands[len(kept):])
	f.out.Commands = kept
}
