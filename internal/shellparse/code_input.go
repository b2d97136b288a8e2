package shellparse

import (
	"path"
	"strings"
)

// openFileNumber returns the number of the open file that a path names: "0" for /dev/stdin, /dev/fd/0 and
// /proc/self/fd/0; "" for a file.
func openFileNumber(p string) string {
	if !strings.HasPrefix(p, "/") {
		return ""
	}
	p = path.Clean(p)
	switch p {
	case "/dev/stdin":
		return "0"
	case "/dev/stdout":
		return "1"
	case "/dev/stderr":
		return "2"
	}
	n, ok := strings.CutPrefix(p, "/dev/fd/")
	if !ok {
		parts := strings.Split(p, "/") // /proc/PID/fd/N, /proc/PID/task/TID/fd/N
		if len(parts) < 5 || parts[1] != "proc" || parts[len(parts)-2] != "fd" {
			return ""
		}
		n = parts[len(parts)-1]
	}
	if !isNumber(n) {
		return ""
	}
	if n = strings.TrimLeft(n, "0"); n == "" {
		return "0"
	}
	return n
}

// namesStdin reports whether a file of code is standard input.
func namesStdin(w word) bool { return w.static && (w.text == "-" || openFileNumber(w.text) == "0") }

// checkGeneratedCode records that a file of code is the output of a program, or is a file that the shell has
// open.
func (c *call) checkGeneratedCode(w word) bool {
	switch {
	case !w.static && isProcessSubstitution(w.text):
		c.out.unclear = "the code that " + c.via + " runs is made by " + w.text
	case w.static && openFileNumber(w.text) != "":
		c.out.unclear = "cannot determine the code that " + c.via + " reads from " + w.text
	default:
		return false
	}
	return true
}

// mayBeCode handles a word that is code if the program uses it as a script.
func (c *call) mayBeCode(w word) {
	if w.text != "-" && namesStdin(w) {
		c.inputCode()
	} else {
		c.checkGeneratedCode(w)
	}
}

// inputCode parses the code on standard input in the language of the program.
func (c *call) inputCode() {
	switch in := c.inv.in; c.prog.special {
	case "code", "bun", "deno", "rundeno":
		c.stdinCode()
		return
	case "shell":
		c.shellReads(c.inv.name)
		return
	case "awk":
		if in.kind == stdinKnown {
			c.awkCode(word{text: in.text, static: true})
			return
		}
	case "sed":
		if in.kind == stdinKnown {
			c.sedCode(word{text: in.text, static: true})
			return
		}
	case "sql":
		if in.kind == stdinKnown {
			c.sqlCode(word{text: in.text, static: true})
			return
		}
	case "vim":
		if in.kind == stdinKnown {
			c.exCode(word{text: in.text, static: true}, 0)
			return
		}
	case "at":
		if in.kind == stdinKnown {
			c.runLine(word{text: in.text, static: true}, c.inv.name, stdin{})
			return
		}
	}
	if c.inv.in.kind == stdinNone {
		c.opaque("runs what is typed at the terminal")
		return
	}
	c.out.unclear = "cannot determine the code that " + c.via + " reads from standard input"
	c.opaque("runs code from standard input")
}
