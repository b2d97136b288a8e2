package shellparse

import "strings"

// awkCode parses an awk program: calls of system("…"), pipes to and from commands, files written
// with print, and files read with getline.
func (c *call) awkCode(w word) {
	c.opaque("runs awk code")
	if !w.static {
		c.out.unclear = "cannot determine the awk code"
		return
	}
	ts := awkTokens(w.text)
	printing := false
	depth := 0
	for i := range ts {
		t := &ts[i]
		if t.kind == tokenName {
			switch t.text {
			case "print", "printf":
				printing, depth = true, 0
			case "system":
				c.awkCall(ts, i+1)
			}
			continue
		}
		if t.kind != tokenMark {
			continue
		}
		switch t.text {
		case "(":
			depth++
		case ")":
			depth--
		case ";", "}", "{", "\n":
			printing = false
		case "@":
			c.out.unclear = "cannot determine what the awk code calls"
		case "|", "|&":
			if printing && depth <= 0 {
				c.awkOperand(ts, i+1, 0)
			} else {
				c.awkOperand(ts, i-1, 0)
			}
		case ">", ">>":
			if printing && depth <= 0 {
				c.awkOperand(ts, i+1, Write)
			}
		case "<":
			if i > 0 && (ts[i-1].text == "getline" || i > 1 && ts[i-2].text == "getline") {
				c.awkOperand(ts, i+1, Read)
			}
		}
	}
}

// awkCall parses the argument of system.
func (c *call) awkCall(ts []token, i int) {
	if i+2 < len(ts) && ts[i].text == "(" && ts[i+1].kind == tokenString && ts[i+2].text == ")" && ts[i+2].kind == tokenMark {
		c.codeLine(ts[i+1].text, "awk code", false)
		return
	}
	c.out.unclear = "cannot determine what the awk code starts"
	for ; i < len(ts) && ts[i].text != ")" && ts[i].text != ";"; i++ {
		if ts[i].kind == tokenString && strings.TrimSpace(ts[i].text) != "" {
			c.out.runs = append(c.out.runs, run{via: "awk code", line: ts[i].text, code: true, in: stdin{kind: stdinUnknown}})
		}
	}
}

// awkOperand parses the operand at index i: the command of a pipe if access is empty, otherwise the file of a
// redirect.
func (c *call) awkOperand(ts []token, i int, access Access) {
	edge := func(k int) bool {
		return k < 0 || k >= len(ts) || ts[k].kind == tokenMark && strings.Contains("{};()\n,&|", ts[k].text[:1]) ||
			ts[k].kind == tokenName && (ts[k].text == "getline" || ts[k].text == "while" || ts[k].text == "print" || ts[k].text == "else" || ts[k].text == "if" || ts[k].text == "do")
	}
	literal := i >= 0 && i < len(ts) && ts[i].kind == tokenString && edge(i-1) && edge(i+1)
	if access == 0 && !literal && i >= 0 && i < len(ts) && ts[i].kind == tokenString && i > 0 && ts[i-1].kind == tokenMark && strings.HasPrefix(ts[i-1].text, "|") && edge(i+1) {
		literal = true
	}
	if access != 0 && i >= 0 && i < len(ts) && ts[i].kind == tokenString && edge(i+1) {
		literal = true
	}
	text := ""
	if i >= 0 && i < len(ts) {
		text = ts[i].text
	}
	switch {
	case access != 0:
		c.addPath(word{text: text, static: literal}, text, access, FromCode, false)
	case literal:
		c.codeLine(text, "awk code", false)
	default:
		c.out.unclear = "cannot determine what the awk code starts"
		for k := max(0, i-4); k < min(len(ts), i+5); k++ {
			if ts[k].kind == tokenString && strings.TrimSpace(ts[k].text) != "" {
				c.out.runs = append(c.out.runs, run{via: "awk code", line: ts[k].text, code: true, in: stdin{kind: stdinUnknown}})
			}
		}
	}
}

// awkTokens splits awk code into tokens. A slash where a value may start begins a regular expression.
func awkTokens(code string) []token {
	var out []token
	l := &language{quotes: `"`, comment: "#"}
	value := func() bool { // after a value, a slash divides
		if len(out) == 0 {
			return false
		}
		t := out[len(out)-1]
		return t.kind == tokenString || t.kind == tokenName && t.text != "return" && t.text != "print" && t.text != "getline" && t.text != "in" ||
			t.kind == tokenMark && (t.text == ")" || t.text == "]" || t.text == "$")
	}
	for i := 0; i < len(code); {
		switch b := code[i]; {
		case b == ' ' || b == '\t' || b == '\r':
			i++
		case b == '\\' && i+1 < len(code) && code[i+1] == '\n':
			i += 2
		case b == '#':
			for i < len(code) && code[i] != '\n' {
				i++
			}
		case b == '"':
			var t token
			t, i = l.quoted(code, i)
			out = append(out, t)
		case b == '/' && !value():
			set := false
			for i++; i < len(code) && (code[i] != '/' || set) && code[i] != '\n'; i++ {
				switch code[i] {
				case '\\':
					i++
				case '[':
					set = strings.IndexByte(code[i:], ']') > 0
				case ']':
					set = false
				}
			}
			i++
			out = append(out, token{kind: tokenString})
		case isNameByte(b) && b != '$':
			start := i
			for i < len(code) && isNameByte(code[i]) && code[i] != '$' {
				i++
			}
			out = append(out, token{kind: tokenName, text: code[start:i]})
		default:
			n := 1
			for _, op := range []string{"||", "&&", "|&", ">>", ">=", "<="} {
				if strings.HasPrefix(code[i:], op) {
					n = 2
				}
			}
			out = append(out, token{kind: tokenMark, text: code[i : i+n]})
			i += n
		}
	}
	return out
}
