package shellparse

import (
	"slices"
	"strings"
)

// maxDepthEffects is the maximum depth to which the arguments of programs may contain other
// programs (env -S, busybox env -S …).
const maxDepthEffects = 8

// effectsOf returns what a command would do.
func effectsOf(inv *invocation) effects { return nestedEffects(inv, 0) }

func nestedEffects(inv *invocation, depth int) effects {
	if inv.name == "" || !inv.program.static {
		return effects{unclear: "cannot determine which program runs"}
	}
	if depth > maxDepthEffects {
		return effects{unclear: inv.name + " is nested too deep"}
	}
	p := lookup(inv.name)
	c := call{inv: inv, prog: p, via: inv.name, args: inv.args}
	switch {
	case p != nil:
		c.applyRow(depth)
	case isLoader(inv.name):
		c.prog = lookup("ld.so")
		c.applyRow(depth)
	default:
		c.guess()
		if len(c.out.runs) == 0 {
			c.afterExec("exec")
		}
		c.out.opaque = "unknown program " + inv.name
	}
	if inv.program.text != inv.name && !isSystemPath(inv.program.text) {
		c.out.opaque = "runs " + inv.program.text
		c.out.safe, c.out.wrapper = false, false
		c.addPath(inv.program, inv.program.text, Exec, FromArgument, false)
	}
	return c.out
}

// isLoader reports whether a name is that of a dynamic loader, which runs programs.
func isLoader(name string) bool {
	return strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || strings.HasPrefix(name, "ld64")
}

// applyRow analyzes a program with a row, including its subcommands.
func (c *call) applyRow(depth int) {
	for {
		c.parse()
		at := c.prog.command()
		if c.only || at < 0 || at >= len(c.remaining) || c.prog.before[at] != roleSub {
			break
		}
		word := c.remaining[at]
		if c.unclear || !word.static {
			c.out.unclear = "cannot determine which subcommand of " + c.prog.name + " runs"
			return
		}
		sub := lookupSub(c.prog.name, word.text)
		if sub == nil {
			c.apply(depth)
			c.args = c.remaining[at+1:]
			c.guess()
			c.mayBeCode(word)
			c.out.safe = false
			if c.out.opaque == "" {
				c.out.opaque = "unknown subcommand " + word.text + " of " + c.prog.name
			}
			return
		}
		top := *c
		top.remaining = c.remaining[:at]
		top.apply(depth)
		*c = call{inv: c.inv, prog: sub, via: c.via + " " + word.text, args: c.remaining[at+1:], out: top.out, unsafe: top.unsafe, unknown: top.unknown}
		c.out.safe = false
		if top.handled {
			return
		}
	}
	if c.isVersionQuery() {
		c.out.safe = true
		return
	}
	c.apply(depth)
}

// isVersionQuery reports whether a program only prints its version or help.
func (c *call) isVersionQuery() bool {
	if len(c.inv.args) != 1 || c.prog.marks.wrapper || !c.inv.args[0].static {
		return false
	}
	a := c.inv.args[0].text
	return a == "--version" || a == "--help" && c.prog.options["--help"] == nil && !c.prog.marks.any
}

// apply converts options and operands to effects.
func (c *call) apply(depth int) {
	c.special(depth)
	if c.handled {
		return
	}
	m := &c.prog.marks
	for i := range c.given {
		if g := &c.given[i]; g.has {
			c.applyRole(g.value, g.arg, g.role)
		} else if g.role == roleOpaque || g.role == roleUnclear {
			c.applyRole(word{text: g.name, static: true}, g.arg, g.role)
		}
	}
	if c.only {
		c.out.safe = len(c.out.runs) == 0 && c.unknown == "" && c.out.unclear == "" && c.out.opaque == "" && !c.out.changesFiles()
		return
	}
	c.applyOperands()
	if m.runs || m.alters {
		c.outputs()
		if c.out.moveTo != nil {
			c.addPath(workingDir, c.prog.name, Read|Write, FromArgument, false)
		}
	}
	if m.runs && c.out.opaque == "" {
		c.out.opaque = "runs code that the command line does not show"
	}
	if m.alters && c.out.opaque == "" {
		c.out.opaque = "has effects that the command line does not show"
	}
	if c.unknown != "" {
		switch {
		case m.wrapper || c.prog.command() >= 0 && c.prog.before[c.prog.command()] == roleCommand:
			c.out.unclear = "unknown flag " + c.unknown + " of " + c.prog.name + ": cannot determine what it runs"
		case !m.safe && c.out.opaque == "":
			c.out.opaque = "unknown flag " + c.unknown + " of " + c.prog.name
		}
	}
	if m.wrapper {
		c.out.wrapper = len(c.out.runs) > 0
	}
	c.out.safe = m.safe && !c.unsafe && c.unknown == "" && c.out.opaque == "" && c.out.unclear == "" &&
		!c.out.changesFiles() && (m.wrapper || len(c.out.runs) == 0) && (!c.unclear || !c.prog.harms)
}

// changesFiles reports whether a path is written or loaded.
func (e *effects) changesFiles() bool {
	return slices.ContainsFunc(e.paths, func(u use) bool { return u.access != Read })
}

// applyOperands assigns the roles of the row to the operands.
func (c *call) applyOperands() {
	p := c.prog
	before, after, rest := p.before, p.after, c.remaining
	if p.marks.runs && p.command() < 0 {
		for _, w := range rest {
			c.mayBeCode(w)
		}
	}
	if c.instead {
		if p.repeat != 0 && len(after) > 0 {
			after = after[:len(after)-1]
		} else if len(before) > 0 {
			before = before[1:]
		}
	}
	for _, r := range before {
		if len(rest) == 0 {
			return
		}
		if r == roleCommand {
			if rest[0].static && rest[0].text == "--" {
				rest = rest[1:]
			}
			c.runCommand(rest)
			return
		}
		if r == roleSub {
			return
		}
		c.applyRole(rest[0], rest[0].text, c.effectiveRole(r))
		rest = rest[1:]
	}
	tail := min(len(after), len(rest))
	if p.repeat != 0 {
		if len(rest) == tail && c.effectiveRole(p.repeat) == roleReadAll && c.inv.in.kind == stdinNone {
			c.addPath(word{text: ".", static: true}, ".", Read, FromArgument, true) // rg x, du, grep -r x
		}
		for _, w := range rest[:len(rest)-tail] {
			c.applyRole(w, w.text, c.effectiveRole(p.repeat))
		}
		rest = rest[len(rest)-tail:]
	}
	for i, w := range rest {
		if i < len(after) {
			c.applyRole(w, w.text, c.effectiveRole(after[len(after)-tail+i]))
		} else {
			c.applyRole(w, w.text, roleShape)
		}
	}
}

// effectiveRole returns the role of an operand, changed by the options that change the meaning of operands.
func (c *call) effectiveRole(r role) role {
	if c.writes {
		switch r {
		case roleRead:
			r = roleEdit
		case roleReadAll, roleShape:
			r = roleEditAll
		}
	}
	if c.tree {
		switch r {
		case roleRead:
			r = roleReadAll
		case roleWrite:
			r = roleWipe
		case roleEdit:
			r = roleEditAll
		}
	}
	return r
}

// runCommand runs the words as a command.
func (c *call) runCommand(argv []word) {
	if len(argv) == 0 {
		return
	}
	if len(argv) == 1 && argv[0].text == "-" { // uv run -
		c.inputCode()
		return
	}
	if c.unclear && c.prog.command() >= 0 && c.vagueBefore(argv) {
		c.out.unclear = "cannot determine what " + c.prog.name + " runs"
	}
	c.out.runs = append(c.out.runs, run{via: c.via, argv: argv, in: c.inv.in})
}

// vagueBefore reports whether a word before the command is unknown.
func (c *call) vagueBefore(argv []word) bool {
	n := len(c.args) - len(argv)
	for i := range max(0, n) {
		if w := c.args[i]; mayBeOption(w) || maySplit(w) {
			return true
		}
	}
	return false
}

// runLine runs a word as a line of a shell.
func (c *call) runLine(w word, via string, in stdin) {
	switch {
	case !w.static:
		c.out.unclear = "cannot determine the line that " + via + " runs"
	case strings.TrimSpace(w.text) != "":
		c.out.runs = append(c.out.runs, run{via: via, line: w.text, in: in})
	}
}

// joined joins several words in the same way as programs that pass their arguments to a shell.
func joined(words []word) word {
	out := word{static: true}
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
		out.static = out.static && w.static
	}
	out.text = b.String()
	return out
}
