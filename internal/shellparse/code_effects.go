package shellparse

import "strings"

// code finds the commands that the code of a language starts, and the files that it names.
func (c *call) code(w word, l *language) {
	via := l.name + " code"
	c.opaque("runs " + via)
	if !w.static {
		c.out.unclear = "cannot determine the " + via
		return
	}
	ts := l.tokens(w.text)
	c.codePaths(ts)
	starts, evals := l.scan(ts)
	pipes := false
	for i := range ts {
		t := &ts[i]
		if t.kind == tokenTick {
			c.codeLine(t.text, via, t.open)
		}
		if l.pipes && t.kind == tokenString {
			if s := strings.TrimSpace(t.text); s == "-|" || s == "|-" {
				pipes = true
				c.pipedTo(ts, i, via)
			} else if strings.HasPrefix(s, "|") || strings.HasSuffix(s, "|") {
				pipes = true
				c.codeLine(strings.Trim(strings.TrimPrefix(s, "-"), "| "), via, t.open)
			}
		}
	}
	all := evals != ""
	switch {
	case all:
		c.out.unclear = "cannot determine what the " + via + " runs: it uses " + evals
	case starts && !l.literalStarts(ts), !starts && l.usesProcessModule(ts):
		c.out.unclear = "cannot determine what the " + via + " starts"
		all = true
	case !starts && !pipes:
		return
	}
	all = all || l == langLisp
	for i := 0; i < len(ts); i++ { // the commands that are started; if they cannot be determined, all candidates
		if ts[i].kind != tokenString || !all && !l.isProgramArgument(ts, i) {
			continue
		}
		words, end := stringRun(ts, i)
		line := words[0]
		if len(words) > 1 {
			line = Canonical(words...)
		}
		i = end
		if strings.TrimSpace(line) == "" {
			continue
		}
		c.out.runs = append(c.out.runs, run{via: via, line: line, code: true, in: stdin{kind: stdinUnknown}})
	}
}

// pipedTo parses the arguments after the mode of a pipe: open(F, "-|", "rm", "x").
func (c *call) pipedTo(ts []token, i int, via string) {
	if i+2 >= len(ts) || ts[i+2].kind != tokenString {
		c.out.unclear = "cannot determine what the " + via + " starts"
		return
	}
	words, _ := stringRun(ts, i+2)
	if len(words) == 1 {
		c.codeLine(words[0], via, ts[i+2].open)
	} else {
		c.codeLine(Canonical(words...), via, ts[i+2].open)
	}
}

// isProgramArgument reports whether a string is the first argument of a call that starts programs.
func (l *language) isProgramArgument(ts []token, i int) bool {
	for i--; i >= 0; i-- {
		switch {
		case ts[i].kind == tokenMark && strings.Contains("([{\n", ts[i].text), ts[i].kind == tokenName && (isNumber(ts[i].text) || ts[i].text == "array"):
		default:
			return ts[i].kind == tokenName && contains(l.calls, ts[i].text)
		}
	}
	return false
}

// scan returns whether code has calls that start programs, and the words of the code whose meaning
// is unknown.
func (l *language) scan(ts []token) (starts bool, evals string) {
	means := l.means == ""
	for i := range ts {
		t := &ts[i]
		means = means || t.kind <= tokenString && contains(l.means, strings.TrimPrefix(t.text, "node:"))
		switch {
		case t.kind == tokenName && contains(l.evals, t.text) || t.kind == tokenString && t.text != "$" && (contains(l.evals, t.text) || contains(l.calls, t.text)) && isElementName(ts, i):
			evals = t.text
		case l == langPHP && t.kind == tokenMark && t.text == ")" && i+1 < len(ts) && ts[i+1].kind == tokenMark && ts[i+1].text == "(":
			evals = ")("
		case t.kind == tokenName && l == langPHP && t.text[0] == '$' && i+1 < len(ts) && ts[i+1].text == "(" && ts[i+1].kind == tokenMark:
			evals = t.text
		case (t.text == "require" || t.text == "import") && t.kind == tokenName && l == langNode && i+3 < len(ts) && ts[i+1].text == "(" && (ts[i+2].kind != tokenString || ts[i+3].text != ")"):
			evals = t.text
		}
	}
	for i := range ts {
		starts = starts || means && ts[i].kind == tokenName && contains(l.calls, ts[i].text)
	}
	return starts, evals
}

// isElementName reports whether a string is in brackets or after a comma, as the name of an element.
func isElementName(ts []token, i int) bool {
	return i > 0 && ts[i-1].kind == tokenMark && (ts[i-1].text == "[" || ts[i-1].text == ",") || i+1 < len(ts) && ts[i+1].text == ")" && ts[i+1].kind == tokenMark && i > 1 && ts[i-2].text != "print"
}

// usesProcessModule reports whether the code uses a module whose only purpose is to start programs,
// although the code has no visible call of it.
func (l *language) usesProcessModule(ts []token) bool {
	for i := range ts {
		if l.means != "" && ts[i].kind <= tokenString && contains("subprocess pty commands pexpect child_process execa shelljs zx popen2 plumbum ProcessBuilder", strings.TrimPrefix(ts[i].text, "node:")) {
			return true
		}
	}
	return false
}

// literalStarts reports whether every call that starts a program has the program's name in a string
// literal.
func (l *language) literalStarts(ts []token) bool {
	for i := range ts {
		if ts[i].kind != tokenName || !contains(l.calls, ts[i].text) {
			continue
		}
		k := i + 1
		if l == langPython && i > 0 && ts[i-1].text == "import" && (k == len(ts) || ts[k].text == ";" || ts[k].text == "\n") {
			continue
		}
		for k < len(ts) && (ts[k].kind == tokenMark && strings.Contains("([{\n", ts[k].text) || ts[k].kind == tokenName && (ts[k].text == "array" || ts[k].text == "nil" || ts[k].text == "t" || isNumber(ts[k].text))) {
			k++
		}
		if k < len(ts) && ts[k].kind == tokenTick && !ts[k].open {
			continue
		}
		if k >= len(ts) || ts[k].kind != tokenString || ts[k].open {
			return false
		}
		for k++; k < len(ts); k++ { // all other arguments of the call
			t := ts[k]
			if t.kind == tokenString && t.open || t.kind == tokenMark && strings.Contains("+%.*~<&", t.text) {
				return false
			}
			if t.kind == tokenMark && strings.Contains(")];}\n", t.text) || t.kind == tokenName && k > 0 && ts[k-1].text != "," {
				break
			}
			if t.kind == tokenMark && t.text == "," && k+1 < len(ts) && ts[k+1].kind == tokenName && k+2 < len(ts) && ts[k+2].text == "=" {
				break
			}
			if t.kind == tokenName && ts[k-1].text == "," && ts[k-1].kind == tokenMark {
				if l == langLisp || isNumber(t.text) {
					continue
				}
				break
			}
		}
	}
	return true
}

// stringRun joins strings in a list: "rm", "-rf", ["x"].
func stringRun(ts []token, i int) (words []string, end int) {
	words, end = []string{ts[i].text}, i
	for k := i + 1; k < len(ts); k++ {
		switch {
		case ts[k].kind == tokenMark && strings.Contains(",[( \n", ts[k].text):
		case ts[k].kind == tokenString && k > end+1:
			words, end = append(words, ts[k].text), k
		default:
			return words, end
		}
	}
	return words, end
}

// codeLine parses the text of a command in code.
func (c *call) codeLine(text, via string, open bool) {
	if open {
		c.out.unclear = "cannot determine what the " + via + " starts"
	}
	if text = strings.TrimSpace(text); text != "" {
		c.out.runs = append(c.out.runs, run{via: via, line: text, code: open, in: stdin{kind: stdinUnknown}})
	}
}

// codePaths adds the strings of code that look like paths.
func (c *call) codePaths(ts []token) {
	for i := range ts {
		t := ts[i].text
		if ts[i].kind != tokenString || len(t) < 2 || strings.ContainsAny(t, "\n\x00") {
			continue
		}
		t = strings.TrimPrefix(t, "file://")
		if bare := strings.TrimLeft(t, "+<> "); strings.HasPrefix(bare, "/") || strings.HasPrefix(bare, "../") {
			t = bare // perl's open
		}
		if strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~/") || strings.HasPrefix(t, "./") || strings.HasPrefix(t, "../") || t == ".." {
			c.addPath(word{text: t, static: !ts[i].open}, t, Read|Write, FromCode, false)
		}
	}
}
