package shellparse

import (
	"slices"
	"strings"
)

// interpreters handles the arguments of programs with their own language.
func (c *call) interpreters() {
	switch c.prog.special {
	case "code":
		c.runCode()
	case "deno":
		c.handled = true
		for i := range c.given {
			if g := &c.given[i]; g.has {
				c.applyRole(g.value, g.arg, g.role)
			}
		}
		if len(c.remaining) > 0 {
			c.code(c.remaining[0], langNode)
		} else {
			c.stdinCode()
		}
	case "rundeno":
		files := c.remaining
		if c.via != "deno test" && c.via != "deno bench" {
			files = files[:min(1, len(files))]
		}
		if c.via == "deno -" || len(files) > 0 && files[0].text == "-" {
			c.stdinCode()
			return
		}
		for _, w := range files {
			c.mayBeCode(w)
			c.addPathLike(w, false)
		}
	case "bun":
		c.runCode()
	case "awk":
		c.awk()
	case "sed":
		c.sed()
	case "vim":
		c.vim()
	case "ed":
		c.remaining = slices.DeleteFunc(slices.Clone(c.remaining), func(w word) bool {
			line, ok := strings.CutPrefix(w.text, "!") // in place of a file: the output of the command is edited
			if ok {
				c.runLine(word{text: line, static: w.static}, c.via+" !", stdin{})
			}
			return ok
		})
		switch c.inv.in.kind {
		case stdinKnown:
			c.edCode(c.inv.in.text)
		case stdinUnknown:
			c.out.unclear = "cannot determine the commands that ed reads from standard input"
		}
	case "emacs":
		for i := range c.given {
			if g := &c.given[i]; g.role == roleSelf {
				c.code(g.value, langLisp)
			}
		}
		if c.has("-f") {
			c.opaque("runs emacs code")
		}
	case "gdb":
		c.gdb()
	case "sql":
		c.sql()
	default:
		c.git()
	}
}

func (c *call) awk() {
	c.handled = true
	code := c.optionCode()
	_, file := c.value("-f")
	_, exec := c.value("-E")
	rest := c.remaining
	if len(code) == 0 && !file && !exec && len(rest) > 0 {
		code, rest = rest[:1], rest[1:]
	}
	if c.unknown != "" {
		c.out.unclear = "unknown flag " + c.unknown + " of awk"
	}
	if c.unclear && c.vagueOption() && len(code) > 0 && c.out.unclear == "" {
		c.out.unclear = "cannot determine what awk runs"
	}
	for _, w := range code {
		c.awkCode(w)
	}
	if w, ok := c.value("-W"); ok && (strings.HasPrefix(w.text, "e") || !w.static) {
		c.out.unclear = "cannot determine what awk -W " + w.text + " runs"
	}
	inPlace, _ := c.value("-i")
	for _, w := range rest {
		if name, _, ok := strings.Cut(w.text, "="); ok && isVariableName(name) {
			continue
		}
		if inPlace.text == "inplace" {
			c.addPath(w, w.text, Read|Write, FromArgument, false)
		} else {
			c.addPath(w, w.text, Read, FromArgument, false)
		}
	}
	c.opaque("runs awk code")
}

func (c *call) sed() {
	c.handled = true
	var script []word
	files := false
	for i := range c.given {
		switch g := &c.given[i]; {
		case g.name == "-f":
			files = true
			c.applyRole(g.value, g.arg, roleCode)
		case g.role == roleSelf:
			script = append(script, g.value)
		}
	}
	if c.writes && len(c.remaining) > 1 && c.remaining[0].static && c.remaining[0].text == "" {
		c.remaining = c.remaining[1:] // sed -i "" on other systems
	}
	if len(script) == 0 && !files && len(c.remaining) > 0 {
		script, c.remaining = c.remaining[:1], c.remaining[1:]
	}
	if len(script) == 0 && !files || len(script) > 0 && mayBeOption(script[0]) {
		c.out.unclear = "cannot determine what sed runs"
	}
	for _, w := range c.args { // an unknown word may be a file or an option
		if len(script) > 0 && w == script[0] {
			break
		}
		if mayBeOption(w) || maySplit(w) {
			c.opaque("an unknown argument of sed may be an option")
		}
	}
	harmless := true
	if len(script) > 0 {
		harmless = c.sedCode(joinedBy(script, "\n"))
	}
	for _, w := range c.remaining {
		c.applyRole(w, w.text, c.effectiveRole(roleRead))
		c.addSedBackup(w)
	}
	if c.unknown != "" {
		c.out.unclear = "unknown flag " + c.unknown + " of sed"
	}
	c.out.safe = harmless && !c.unclear && !c.writes && c.out.unclear == "" && c.out.opaque == "" && !c.out.changesFiles()
}

func (c *call) vim() {
	c.handled = true
	for i := range c.given {
		g := &c.given[i]
		switch {
		case g.role == roleSelf:
			c.exCode(g.value, 0)
		case g.has:
			c.applyRole(g.value, g.arg, g.role)
		}
	}
	for _, w := range c.args {
		if !strings.HasPrefix(w.text, "+") {
			continue
		}
		c.exCode(word{text: w.text[1:], static: w.static}, 0)
	}
	for _, w := range c.remaining {
		c.addPath(w, w.text, Read|Write, FromArgument, false)
	}
	if script := c.prog.name == "ex" || c.has("-e") || c.has("-s") || c.has("-E"); script {
		switch c.inv.in.kind {
		case stdinKnown:
			c.exCode(word{text: c.inv.in.text, static: true}, 0)
		case stdinUnknown:
			c.out.unclear = "cannot determine the commands that " + c.inv.name + " reads from standard input"
		}
	}
	if c.unknown != "" {
		c.out.unclear = "unknown flag " + c.unknown + " of " + c.inv.name
	}
	c.opaque("starts an editor")
}

// gdb executes its own commands; the operand of --args is a program to run.
func (c *call) gdb() {
	c.handled = true
	debug := func(w word) {
		if !w.static {
			c.out.unclear = "cannot determine the commands of " + c.inv.name
			return
		}
		for line := range strings.SplitSeq(w.text, "\n") {
			line = strings.TrimSpace(line)
			name, rest, _ := strings.Cut(line, " ")
			if strings.HasPrefix(line, "!") {
				name, rest = "shell", line[1:]
			}
			switch {
			case len(name) >= 3 && strings.HasPrefix("shell", name) || name == "make":
				c.codeLine(rest, c.inv.name+" shell", false)
			case name == "platform" || name == "plat":
				_, line, _ := strings.Cut(rest, " ")
				c.codeLine(line, c.inv.name+" shell", false)
			case name == "pipe" || name == "|":
				if _, line, ok := strings.Cut(line, "| "); ok {
					c.codeLine(line, c.inv.name+" pipe", false)
				}
			case strings.HasPrefix(name, "py") || name == "script":
				c.code(word{text: rest, static: true}, langPython)
			case name == "source":
				c.applyRole(word{text: rest, static: true}, rest, roleCode)
			case name == "call" || name == "p" || name == "print" || name == "expr" || name == "compile" || name == "guile":
				c.opaque("calls functions of the program")
				if strings.Contains(rest, "system") || strings.Contains(rest, "exec") {
					c.out.unclear = "cannot determine what " + c.inv.name + " calls"
				}
			}
		}
	}
	for i := range c.given {
		g := &c.given[i]
		if g.role == roleSelf {
			debug(g.value)
		} else if g.has {
			c.applyRole(g.value, g.arg, g.role)
		}
	}
	switch c.inv.in.kind {
	case stdinKnown:
		debug(word{text: c.inv.in.text, static: true})
	case stdinUnknown:
		c.out.unclear = "cannot determine the commands of " + c.inv.name
	}
	if len(c.remaining) > 0 {
		c.out.runs = append(c.out.runs, run{via: c.inv.name, argv: c.remaining})
	}
	if c.unclear && c.vagueOption() {
		c.out.unclear = "cannot determine what " + c.inv.name + " runs"
	}
	c.opaque("debugs a program")
}

// sql: the options and operands (of sqlite3) and the standard input are commands of the client.
func (c *call) sql() {
	c.handled = true
	for _, w := range c.optionCode() {
		c.sqlCode(w)
	}
	rest := c.remaining
	if c.prog.name == "sqlite3" || c.prog.name == "duckdb" {
		if len(rest) > 0 {
			if rest[0].text != ":memory:" {
				c.addPath(rest[0], rest[0].text, Read|Write, FromArgument, false)
			}
			rest = rest[1:]
		}
		for _, w := range rest {
			c.sqlCode(w)
		}
	}
	if len(rest) == 0 || c.prog.name != "sqlite3" && !c.has("-c") && !c.has("-e") && !c.has("-f") {
		switch c.inv.in.kind {
		case stdinKnown:
			c.sqlCode(word{text: c.inv.in.text, static: true})
		case stdinUnknown:
			c.out.unclear = "cannot determine the commands that " + c.inv.name + " reads from standard input"
		}
	}
	for _, name := range []string{"-o", "-L", "--tee", "-v"} {
		if w, ok := c.value(name); ok && strings.HasPrefix(w.text, "|") {
			c.codeLine(w.text[1:], c.inv.name+" "+name, !w.static)
		}
	}
	if c.unknown != "" {
		c.out.unclear = "unknown flag " + c.unknown + " of " + c.inv.name
	}
	c.opaque("acts on a database")
}
