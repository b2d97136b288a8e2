package shellparse

import "strings"

// workingDir is the path of the folder in which a program works.
var workingDir = word{text: ".", static: true}

// archives handles the arguments of programs that pack and unpack.
func (c *call) archives() {
	switch c.prog.special {
	case "tar":
		c.tar()
	case "zip":
		for i, w := range c.args {
			if w.static && w.text == "-TT" && i+1 < len(c.args) {
				c.runLine(c.args[i+1], "zip -TT", stdin{})
			} else if line, ok := strings.CutPrefix(w.text, "-TT"); ok && line != "" {
				c.runLine(word{text: line, static: w.static}, "zip -TT", stdin{})
			}
		}
		c.writes = c.has("-m") || c.has("--move")
		if c.writes {
			for _, w := range c.remaining[min(1, len(c.remaining)):] {
				c.addPath(w, w.text, Write, FromArgument, true)
			}
		}
	case "unzip":
		if !c.has("-l") && !c.has("-t") && !c.has("-p") && !c.has("-Z") && !c.has("-v") && !c.has("-z") && !c.has("-c") && !c.has("-d") {
			c.addPath(workingDir, "unzip", Write, FromArgument, true)
		}
	case "compress":
		if c.has("-c") || c.has("-t") || c.has("-l") {
			for _, w := range c.remaining {
				c.addPath(w, w.text, Read, FromArgument, c.tree)
			}
			c.remaining = nil
		} else {
			c.addPacked()
		}
	case "rsync":
		c.rsync()
	case "sevenzip":
		c.sevenZip()
	case "cpio":
		switch {
		case c.has("-p") || c.has("--pass-through"):
			for _, w := range c.remaining {
				c.addPath(w, w.text, Write, FromArgument, true)
			}
			c.opaque("copies the files listed on standard input")
		case c.has("-o") || c.has("--create"):
			c.opaque("copies the files listed on standard input")
		case !c.has("-t") && !c.has("--list"):
			c.addPath(workingDir, "cpio", Write, FromArgument, true)
		}
	case "ar":
		if len(c.args) > 1 {
			c.addPath(c.args[1], c.args[1].text, Read|Write, FromArgument, false)
			c.args = c.args[2:]
		}
		c.guess()
		c.handled = true
	default:
		c.nets()
	}
}

// The first word of tar may be a group of letters without a dash. The values of the letters follow
// in the order of the letters.
func (c *call) tar() {
	if len(c.args) > 0 && c.args[0].static && c.args[0].text != "" && c.args[0].text[0] != '-' {
		c.tarBundle()
	}
	dirs := []word{workingDir}
	for i := range c.given {
		g := &c.given[i]
		switch g.name {
		case "-C":
			d := g.value
			if prev := dirs[len(dirs)-1]; len(dirs) > 1 && !strings.HasPrefix(d.text, "/") {
				d = word{text: prev.text + "/" + d.text, static: prev.static && d.static}
			}
			dirs = append(dirs, d)
		case "--checkpoint-action":
			if action, line, _ := strings.Cut(g.value.text, "="); action == "exec" || !g.value.static {
				c.runLine(word{text: line, static: g.value.static}, "tar --checkpoint-action", stdin{})
			}
		}
	}
	if len(dirs) > 1 {
		dirs = dirs[1:]
	}
	file, hasFile := c.value("-f")
	touch := func(access Access) {
		if hasFile && (c.has("--force-local") || !strings.Contains(strings.SplitN(file.text, "/", 2)[0], ":")) {
			c.addPath(file, file.text, access, FromArgument, false)
		}
	}
	inDirs := func(w word, access Access) {
		for _, d := range dirs {
			p := w
			if d != workingDir && !strings.HasPrefix(w.text, "/") {
				p = word{text: d.text + "/" + w.text, static: w.static && d.static, glob: w.glob}
			}
			c.addPath(p, w.text, access, FromArgument, true)
		}
	}
	operands := Read
	if c.has("--remove-files") {
		operands = Read | Write
	}
	extract := c.has("-x") || c.has("--extract")
	switch {
	case extract && !c.has("-O") && !c.has("--to-stdout"):
		touch(Read)
		inDirs(workingDir, Write)
		if d, ok := c.value("--one-top-level"); ok && d.text != "" {
			inDirs(d, Write)
		}
		operands = 0
	case extract, c.has("-t"), c.has("--list"):
		touch(Read)
		operands = 0
	case c.has("-d"), c.has("--diff"), c.has("--compare"):
		touch(Read)
	case c.has("-c"), c.has("--create"):
		touch(Write)
	default:
		touch(Read | Write)
	}
	for _, w := range c.remaining {
		if operands != 0 && !strings.HasPrefix(w.text, "@") {
			inDirs(w, operands)
		}
	}
	if c.unclear {
		c.opaque("an unknown argument of tar may be an option")
	}
	c.remaining = nil
}

func (c *call) tarBundle() {
	letters, rest := c.args[0].text, c.args[1:]
	c.given, c.remaining, c.unknown, c.tree, c.writes, c.unsafe = nil, nil, "", false, false, false
	for k := range len(letters) {
		o := c.prog.options["-"+letters[k:k+1]]
		switch {
		case o == nil:
			c.unknown = letters
		case o.value && len(rest) > 0:
			c.addGiven(given{o, rest[0], true, rest[0].text})
			rest = rest[1:]
		default:
			c.addGiven(given{o, word{}, false, letters})
		}
	}
	inner := call{inv: c.inv, prog: c.prog, via: c.via, args: rest}
	inner.parse()
	c.given = append(c.given, inner.given...)
	c.remaining = inner.remaining
	c.out.paths = append(c.out.paths, inner.out.paths...)
	if c.unknown == "" {
		c.unknown = inner.unknown
	}
	c.unclear = inner.unclear
}

// sevenZip: the first operand is the name of the action.
func (c *call) sevenZip() {
	c.handled = true
	dir := workingDir
	var rest []word
	for _, w := range c.args {
		switch {
		case strings.HasPrefix(w.text, "-o") && len(w.text) > 2:
			dir = word{text: w.text[2:], static: w.static}
		case strings.HasPrefix(w.text, "-"):
			c.addPathLike(w, false)
		default:
			rest = append(rest, w)
		}
	}
	if len(rest) < 2 {
		return
	}
	switch rest[0].text {
	case "l", "t", "i", "h", "v", "lb", "lt", "vt", "p":
		c.addPath(rest[1], rest[1].text, Read, FromArgument, false)
		c.out.safe = c.prog.name != "rar"
	case "x", "e":
		c.addPath(rest[1], rest[1].text, Read, FromArgument, false)
		if c.prog.name == "unrar" && len(rest) > 2 {
			dir = rest[len(rest)-1]
		}
		c.addPath(dir, dir.text, Write, FromArgument, true)
	default:
		c.addPath(rest[1], rest[1].text, Read|Write, FromArgument, false)
		for _, w := range rest[2:] {
			c.addPath(w, w.text, Read, FromArgument, true)
		}
	}
}
