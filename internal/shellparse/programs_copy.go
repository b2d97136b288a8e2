package shellparse

import (
	"path"
	"slices"
	"strings"
)

// programs handles the arguments of programs for files and text.
func (c *call) programs() {
	switch c.prog.special {
	case "cat":
		if in := c.inv.in; in.kind == stdinKnown && len(c.given) == 0 && (len(c.remaining) == 0 || len(c.remaining) == 1 && c.remaining[0].text == "-") {
			c.out.output = &in.text
		}
	case "tee":
		if in := c.inv.in; in.kind == stdinKnown {
			c.out.output = &in.text
		}
	case "pager":
		c.pager()
	case "into":
		c.addCopies()
	case "mode":
		c.mode()
	case "rename":
		c.rename()
	case "dd":
		c.dd()
	case "mktemp":
		c.mktemp()
	case "patch":
		c.addPath(word{text: ".", static: true}, "patch", Read|Write, FromArgument, true)
	case "split":
		c.addSplitParts()
		if c.prog.name == "split" && len(c.args) > 0 && !slices.ContainsFunc(c.out.paths, func(u use) bool { return u.access&Write != 0 }) && !c.has("--filter") {
			c.addPath(word{text: ".", static: true}, "split", Write, FromArgument, true)
		}
	case "date":
		for _, w := range c.remaining {
			c.unsafe = c.unsafe || !strings.HasPrefix(strings.TrimLeft(w.text, `"`), "+")
		}
	case "hostname":
		c.unsafe = c.unsafe || len(c.remaining) > 0
	case "yq":
		if len(c.remaining) > 0 {
			switch c.remaining[0].text {
			case "e", "eval", "ea", "eval-all":
				c.remaining = c.remaining[1:]
			}
		}
	case "calculator":
		c.calculator()
	case "fzf":
		c.fzf()
	default:
		c.archives()
	}
}

// pager: the text after + is a command of the pager, in which "!" starts a shell.
func (c *call) pager() {
	for _, w := range c.args {
		if !strings.HasPrefix(w.text, "+") {
			continue
		}
		c.unsafe = true
		if _, line, ok := strings.Cut(w.text, "!"); ok {
			c.runLine(word{text: line, static: w.static}, c.via+" +!", stdin{})
		}
	}
}

// addCopies adds the paths that files have in the folder to which they are copied.
func (c *call) addCopies() {
	if c.has("-d") && c.prog.name == "install" {
		for _, w := range c.remaining {
			c.addPath(w, w.text, Write, FromArgument, false)
		}
		c.remaining = nil
		return
	}
	var dir word
	from := c.remaining
	if t, ok := c.value("-t"); ok {
		dir = t
	} else if n := len(c.remaining); n > 1 {
		dir, from = c.remaining[n-1], c.remaining[:n-1]
	} else if n == 1 && c.prog.name == "ln" {
		c.addPath(c.remaining[0], c.remaining[0].text, Read, FromArgument, false)
		dir, c.remaining = workingDir, nil
	} else {
		return
	}
	if c.prog.name == "mv" {
		for _, w := range from {
			c.addPath(w, w.text, Read|Write, FromArgument, true) // a folder is moved with everything in it
		}
	}
	c.addInFolder(dir, from, c.tree || c.prog.name == "mv")
	c.addBackups(dir)
	if base := path.Base(dir.text); c.prog.name == "mv" && len(from) == 1 && base != "." && base != ".." && !contains("/ /tmp /var/tmp", dir.text) && !strings.HasSuffix(dir.text, "/") && !c.has("-t") {
		c.addPath(dir, dir.text, Write, FromArgument, true) // a folder gets this name, with everything in it
	}
	if c.has("--parents") {
		for _, w := range from {
			c.addPath(word{text: dir.text + "/" + w.text, static: dir.static && w.static, glob: w.glob}, dir.text, Write, FromArgument, c.tree)
		}
	}
}

// mode: "-x" is a mode, too.
func (c *call) mode() {
	if c.unknown != "" && strings.Trim(c.unknown, "-rwxXstugoaAcCdDeFijmPST,=+") == "" {
		c.unknown, c.instead = "", true
	}
}

// rename: the first operand is perl code, or the text to replace.
func (c *call) rename() {
	c.handled = true
	rest := c.args
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		if rest[0].text == "-e" {
			rest = rest[1:]
		}
		rest = rest[min(1, len(rest)):]
	}
	if len(rest) == 0 {
		return
	}
	code := rest[0]
	if strings.ContainsAny(code.text, "/|{") {
		c.code(code, langPerl)
	}
	for _, w := range rest[1:] {
		c.addPath(w, w.text, Read|Write, FromArgument, false)
	}
}

func (c *call) dd() {
	c.handled = true
	for _, w := range c.args {
		key, value, ok := strings.Cut(strings.Trim(w.text, `"`), "=")
		v := word{text: value, static: w.static, glob: w.glob}
		switch {
		case ok && key == "if":
			c.addPath(v, w.text, Read, FromArgument, false)
		case ok && key == "of":
			c.addPath(v, w.text, Write, FromArgument, false)
		case ok && strings.Contains(" ibs obs bs cbs skip iseek seek oseek count conv iflag oflag status files ", " "+key+" "):
		case !w.static:
			c.opaque("cannot determine which file dd writes")
		default:
			c.opaque("unknown operand " + w.text + " of dd")
		}
	}
}

func (c *call) mktemp() {
	dir, ok := c.value("-p")
	if !ok {
		dir, _ = c.value("--tmpdir")
	}
	name := word{text: "tmp.XXXXXXXXXX", static: true}
	if len(c.remaining) > 0 {
		name = c.remaining[0]
	}
	switch {
	case dir.text != "":
		name = word{text: dir.text + "/" + name.text, static: dir.static && name.static}
	case len(c.remaining) == 0 || c.has("-t"):
		name = word{text: "/tmp/" + name.text, static: name.static}
	}
	if w, ok := c.value("--suffix"); ok {
		name = word{text: name.text + w.text, static: name.static && w.static}
	}
	if !c.has("-u") {
		c.addPath(name, name.text, Write, FromArgument, c.has("-d"))
	}
	c.remaining = nil
}

// calculator: "!" starts a shell in dc.
func (c *call) calculator() {
	code, known := c.value("-e")
	if c.inv.in.kind == stdinKnown {
		code, known = word{text: code.text + "\n" + c.inv.in.text, static: code.static || code.text == ""}, true
	}
	if c.prog.name != "dc" || !known && c.inv.in.kind == stdinNone {
		return
	}
	for line := range strings.SplitSeq(code.text, "\n") {
		if _, run, ok := strings.Cut(line, "!"); ok && !strings.HasPrefix(run, "=") && !strings.HasPrefix(run, "<") && !strings.HasPrefix(run, ">") {
			c.runLine(word{text: run, static: code.static}, "dc !", stdin{})
		}
	}
	c.unsafe = true
}

// fzf runs the commands in --preview and --bind.
func (c *call) fzf() {
	c.handled = true
	c.opaque("waits for an interactive choice")
	for i, w := range c.args {
		name, value, ok := strings.Cut(w.text, "=")
		v := word{text: value, static: w.static}
		if !ok && i+1 < len(c.args) {
			v = c.args[i+1]
		}
		switch {
		case !w.static:
			c.out.unclear = "cannot determine what fzf runs"
		case name == "--preview":
			c.runLine(word{text: strings.ReplaceAll(v.text, "{}", `"$input"`), static: v.static}, "fzf --preview", stdin{})
		case name == "--bind" && (strings.Contains(v.text, "execute") || strings.Contains(v.text, "reload") || strings.Contains(v.text, "become") ||
			strings.Contains(v.text, "transform") || strings.Contains(v.text, "preview(") || !v.static):
			c.out.unclear = "cannot determine what fzf --bind runs"
		}
	}
}
