package shellparse

import "strings"

// tclCode parses tcl. In it, a word at the start of a command may be exec, spawn or system.
func (c *call) tclCode(w word) {
	via := c.inv.name + " code"
	c.opaque("runs " + via)
	if !w.static {
		c.out.unclear = "cannot determine the " + via
		return
	}
	c.codePaths((&language{quotes: `"`, comment: "\x00"}).tokens(w.text))
	for line := range strings.FieldsFuncSeq(w.text, func(r rune) bool { return strings.ContainsRune("\n;[]", r) }) {
		line = strings.TrimLeft(line, " \t{}")
		name, rest, _ := strings.Cut(line, " ")
		name = strings.TrimPrefix(name, "::")
		rest = strings.TrimSpace(rest)
		switch name {
		case "exec", "spawn", "system", "overlay", "fork", "bgexec":
			for strings.HasPrefix(rest, "-") {
				_, rest, _ = strings.Cut(rest, " ")
				rest = strings.TrimSpace(rest)
			}
			if name == "system" {
				rest = strings.Trim(rest, `"{}`)
			}
			rest = strings.TrimRight(rest, "} \t")
			if strings.Contains(rest, "$") {
				c.out.unclear = "cannot determine what the " + via + " starts"
			}
			c.codeLine(rest, via, strings.Contains(rest, "$"))
		case "open":
			if t := strings.Trim(rest, `"{} `); strings.HasPrefix(t, "|") {
				c.codeLine(strings.Trim(t, `|"{} `), via, strings.Contains(t, "$"))
			}
		case "eval", "uplevel", "source", "load", "interp", "subst", "apply", "socket", "package", "send", "expr":
			if name != "package" && name != "expr" {
				c.out.unclear = "cannot determine what the " + via + " runs by " + name
			}
		case "send_user", "puts", "set", "expect":
		}
		for _, start := range []string{" exec ", "{exec ", " spawn ", "{spawn ", " system ", "{system "} {
			if i := strings.Index(" "+line, start); i > 0 {
				c.codeLine(strings.TrimRight(strings.Trim((" " + line)[i+len(start):], `"{} `), "}"), via, true)
			}
		}
	}
}
