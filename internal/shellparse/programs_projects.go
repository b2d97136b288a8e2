package shellparse

import (
	"slices"
	"strings"
)

// containers handles the arguments of programs for projects, machines, containers and clouds.
func (c *call) containers() {
	switch c.prog.special {
	case "dockerrun":
		c.dockerRun()
	case "kubectl":
	case "kubeexec":
		c.opaque("acts on a cluster")
	case "make":
		c.make()
	case "cmake":
		if slices.ContainsFunc(c.args, func(w word) bool { return w.text == "-E" }) {
			if at := slices.IndexFunc(c.args, func(w word) bool { return w.text == "env" || w.text == "time" || w.text == "chdir" }); at >= 0 {
				rest := c.args[at+1:]
				for len(rest) > 0 && (strings.Contains(rest[0].text, "=") || strings.HasPrefix(rest[0].text, "-")) {
					rest = rest[1:]
				}
				if c.args[at].text == "chdir" && len(rest) > 0 {
					rest = rest[1:]
				}
				c.runCommand(rest)
			}
		}
	case "gofmt":
		if c.has("-l") || c.has("-d") || !c.has("-w") && c.prog.name != "go fmt" {
			if !c.has("-w") {
				for _, w := range c.remaining {
					c.addPath(w, w.text, Read, FromArgument, true)
				}
				c.handled = true
				c.out.safe = c.unknown == "" && !c.unclear && !c.has("-cpuprofile")
			}
		}
	case "formatter":
		c.formatter()
	case "tsc":
		if c.has("--noEmit") {
			c.opaque("runs commands from the project's files")
		} else {
			c.opaque("writes to paths from the project's files")
		}
	case "cc":
		c.compiler()
	case "java":
		if len(c.remaining) > 0 && !c.has("-jar") {
			c.mayBeCode(c.remaining[0])
			c.addPathLike(c.remaining[0], true)
		}
		for i := range c.given {
			if n := c.given[i].name; strings.HasPrefix(n, "-java") || strings.HasPrefix(n, "-agent") {
				c.addPathLike(c.given[i].value, true)
				c.opaque("loads an agent")
			}
		}
		c.opaque("runs java code")
	case "media":
		c.handled = true
		c.media()
	case "npm":
		c.npm()
	case "pip":
		c.safeIfListing("list show freeze check search index inspect debug help config-list")
	case "packages":
		c.packages()
	case "lists":
		c.safeIfListing(cloudReads[c.prog.name])
	case "crontab":
		c.crontab()
	case "at":
		c.at()
	case "openssl":
		c.openssl()
	case "gpg":
		if c.has("--list-keys") || c.has("-k") || c.has("--list-secret-keys") || c.has("--fingerprint") || c.has("--verify") {
			c.handled = true
			for _, w := range c.remaining {
				c.addPathLike(w, true)
			}
		}
	case "starter":
		c.starter()
	default:
		c.starters()
	}
}

// dockerRun: with --entrypoint, the operands are the arguments of that program; --mount names a
// local folder.
func (c *call) dockerRun() {
	for i := range c.given {
		g := &c.given[i]
		if g.name == "--mount" {
			source, only := "", false
			for part := range strings.SplitSeq(strings.Trim(g.value.text, `"`), ",") {
				k, v, _ := strings.Cut(part, "=")
				if k == "source" || k == "src" {
					source = v
				}
				only = only || k == "readonly" || k == "ro"
			}
			if looksLikePath(source) {
				access := Read | Write
				if only {
					access = Read
				}
				c.addPath(word{text: source, static: g.value.static}, g.arg, access, FromArgument, true)
			}
		}
	}
	if entry, ok := c.value("--entrypoint"); ok && len(c.remaining) > 0 {
		if entry.text != "" {
			c.out.runs = append(c.out.runs, run{via: c.via, argv: append([]word{entry}, c.remaining[1:]...), in: c.inv.in})
		} else if len(c.remaining) > 1 {
			c.runCommand(c.remaining[1:])
		}
		c.remaining = c.remaining[:1]
	}
	if len(c.remaining) == 1 {
		c.opaque("runs commands from the image")
	}
	c.opaque("runs in a container")
}

// make: operands of the form NAME=value replace variables of the makefile; SHELL= replaces the
// shell.
func (c *call) make() {
	for _, w := range c.remaining {
		if name, value, ok := strings.Cut(w.text, "="); ok {
			if contains("DESTDIR PREFIX prefix O OUT OUTDIR BUILDDIR BUILD_DIR", name) && looksLikePath(value) {
				c.addPath(word{text: value, static: w.static}, w.text, Write, FromSyntax, true)
			}
			if strings.TrimRight(name, ":?+!") == "SHELL" || strings.HasPrefix(value, "$(shell") || strings.Contains(value, "$(shell ") {
				c.out.unclear = "cannot determine what make runs with " + w.text
			}
		}
	}
	for i := range c.given {
		if c.given[i].name == "-f" && namesStdin(c.given[i].value) {
			c.out.unclear = "a makefile on standard input is not parsed"
		}
	}
	c.remaining = nil
}

// formatter: the operands are written, unless the program only checks.
func (c *call) formatter() {
	c.handled = true
	checks := c.has("--check") || c.has("--diff") || c.has("-l") || c.has("--list-different")
	writes := c.has("--write") || c.has("-w") || c.has("-i") || c.has("--fix")
	switch c.prog.name {
	case "black", "isort", "nixfmt", "rubyfmt", "stylua", "taplo", "swiftformat", "mdformat", "docformatter":
		writes = !checks
	case "ruff":
		if len(c.remaining) > 0 {
			writes = writes || c.remaining[0].text == "format" && !checks || c.remaining[0].text == "clean"
			c.remaining = c.remaining[1:]
		}
	}
	for i := range c.given {
		if g := &c.given[i]; g.has {
			c.applyRole(g.value, g.arg, g.role)
		}
	}
	access := Read
	if writes {
		access = Read | Write
	}
	for _, w := range c.remaining {
		c.addPath(w, w.text, access, FromArgument, true)
	}
	if len(c.remaining) == 0 && writes {
		c.addPath(workingDir, c.prog.name, access, FromArgument, true)
	}
	c.opaque("runs commands from the project's settings")
}

// compiler: without -o it writes into the folder.
func (c *call) compiler() {
	if !c.has("-o") && !c.has("-E") && !c.has("-v") && !c.has("-dumpversion") && !c.has("-dumpmachine") && len(c.remaining) > 0 {
		c.addPath(workingDir, c.inv.name, Write, FromArgument, false)
	}
	if w, ok := c.value("-wrapper"); ok {
		c.codeLine(strings.ReplaceAll(w.text, ",", " "), c.inv.name+" -wrapper", !w.static)
	}
	for _, w := range c.remaining {
		if strings.HasPrefix(w.text, "@") {
			c.opaque("reads its options from " + w.text[1:])
		}
	}
}

// media: the last operand is written; the other operands are read.
func (c *call) media() {
	c.guess()
	if n := len(c.args); n > 1 && c.prog.name != "ffprobe" && c.prog.name != "identify" {
		last := c.args[n-1]
		if last.text != "" && last.text[0] != '-' {
			c.addPath(last, last.text, Write, FromArgument, false)
		}
	}
	if c.prog.name == "mogrify" || c.prog.name == "optipng" || c.prog.name == "jpegoptim" || c.prog.name == "exiftool" {
		for _, w := range c.args {
			if w.text != "" && w.text[0] != '-' {
				c.addPath(w, w.text, Read|Write, FromArgument, false)
			}
		}
	}
	c.opaque(c.prog.name + " writes files")
}

// starter: programs that each start commands from their words in a special way.
func (c *call) starter() {
	c.handled = true
	for i, w := range c.args {
		if w.static && (w.text == "-e" || w.text == "-x" || w.text == "--" || w.text == "--command" || w.text == "shell" || w.text == "-c") && i+1 < len(c.args) {
			c.runLine(joined(c.args[i+1:]), c.prog.name, stdin{})
			return
		}
	}
	c.guess()
	if len(c.args) > 0 {
		c.out.unclear = "cannot determine what " + c.prog.name + " starts"
	}
	c.opaque("starts a program")
}
