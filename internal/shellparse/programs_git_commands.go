package shellparse

import (
	"path"
	"slices"
	"strings"
)

// git handles what the rows of git's subcommands cannot describe.
func (c *call) git() {
	switch c.prog.special {
	case "git":
		for i := range c.given {
			if c.given[i].name == "-c" {
				c.gitSetting(c.given[i].value)
			}
		}
		if w, ok := c.value("--exec-path"); ok && w.text != "" {
			c.out.unclear = "cannot determine what git runs out of " + w.text
		}
	case "gitlist":
		c.gitList()
	case "gitclean":
		if len(c.remaining) == 0 {
			c.addPath(workingDir, "git clean", Write, FromArgument, true)
		}
	case "gitcheckout":
		c.gitCheckout()
	case "gitcommit":
		c.gitOpaque()
	case "gitinit":
		if len(c.remaining) == 0 {
			c.addPath(workingDir, "git init", Write, FromArgument, true)
		}
	case "gitclone":
		c.gitClone()
	case "gittransport":
		for _, w := range c.remaining {
			c.gitAddress(w)
		}
		for _, name := range []string{"--remote", "--repo"} {
			if w, ok := c.value(name); ok {
				c.gitAddress(w)
			}
		}
	case "gitruns":
		c.gitRunners()
	case "othervcs":
		c.otherVCS()
	default:
		c.containers()
	}
}

func (c *call) gitOpaque() { c.opaque("changes the repository") }

// gitList handles subcommands that either list or change something, depending on their operands.
func (c *call) gitList() {
	rest := c.remaining
	first := ""
	if len(rest) > 0 {
		first = rest[0].text
	}
	lists := false
	switch c.prog.name {
	case "git branch", "git tag":
		lists = len(rest) == 0 || c.has("--list") || c.has("-l") || c.has("--contains") || c.has("--merged") || c.has("--no-merged") || c.has("--points-at") || c.has("-n")
	case "git stash":
		lists = first == "list" || first == "show"
	case "git remote":
		lists = first == "" || first == "show" || first == "get-url"
		if first == "add" || first == "set-url" {
			for _, w := range rest[1:] {
				c.gitAddress(w)
			}
		}
	case "git config":
		if first == "list" || first == "get" || first == "set" || first == "unset" || first == "edit" {
			rest = rest[1:]
		}
		lists = (len(rest) < 2 || first == "get" || slices.ContainsFunc(c.given, func(g given) bool { return strings.HasPrefix(g.name, "--get") })) && first != "unset" && first != "edit"
		if !lists && len(rest) > 1 && first != "unset" {
			if f, ok := c.value("-f"); ok {
				c.addPath(f, f.text, Write, FromArgument, false)
			}
			c.gitSetting(word{text: rest[0].text + "=" + rest[1].text, static: rest[0].static && rest[1].static})
		}
	case "git worktree":
		lists = first == "list"
		if (first == "add" || first == "remove" || first == "move") && len(rest) > 1 {
			c.addPath(rest[1], rest[1].text, Write, FromArgument, true)
			if first == "move" && len(rest) > 2 {
				c.addPath(rest[2], rest[2].text, Write, FromArgument, true)
			}
		}
	}
	c.remaining = nil
	vague := c.unclear && slices.ContainsFunc(c.args, mayBeOption)
	if !lists || c.unsafe || vague || c.unknown != "" {
		c.gitOpaque()
		return
	}
	c.handled = true
	c.out.safe = len(c.out.runs) == 0 && c.out.unclear == "" && c.out.opaque == "" && !c.out.changesFiles()
	for i := range c.given {
		if g := &c.given[i]; g.has {
			c.applyRole(g.value, g.arg, g.role)
		}
	}
}

// gitCheckout: operands after "--" are written; operands that look like paths may be written.
func (c *call) gitCheckout() {
	dashes := slices.IndexFunc(c.args, func(w word) bool { return w.static && w.text == "--" })
	for i, w := range c.args {
		switch {
		case dashes >= 0 && i > dashes:
			c.addPath(w, w.text, Write, FromArgument, true)
		case dashes < 0 && c.prog.name == "git checkout" && w.text != "" && w.text[0] != '-' && w.static && looksLikePath(w.text):
			c.addPath(w, w.text, Write, FromSyntax, true)
		}
	}
	c.gitOpaque()
}

// gitAddress parses the address of a repository. An address of the form ext::command runs the
// command.
func (c *call) gitAddress(w word) {
	switch {
	case strings.HasPrefix(w.text, "ext::"):
		c.codeLine(strings.NewReplacer("% ", " ", "%%", "%").Replace(w.text[len("ext::"):]), "git ext::", !w.static)
	case !w.static && mayBeOption(w):
		c.opaque("the command line does not show the address")
	case w.static && looksLikePath(w.text) && !strings.Contains(w.text, "::") && !strings.Contains(strings.SplitN(w.text, "/", 2)[0], ":"):
		c.addPath(w, w.text, Read, FromSyntax, true)
	}
}

func (c *call) gitClone() {
	for i := range c.given {
		if c.given[i].name == "-c" {
			c.gitSetting(c.given[i].value)
		}
	}
	c.gitOpaque()
	if len(c.remaining) == 0 {
		return
	}
	c.gitAddress(c.remaining[0])
	dir := word{text: strings.TrimSuffix(path.Base(strings.ReplaceAll(strings.TrimSuffix(c.remaining[0].text, "/"), ":", "/")), ".git"), static: c.remaining[0].static}
	if c.has("--bare") || c.has("--mirror") {
		dir.text += ".git"
	}
	if len(c.remaining) > 1 {
		dir = c.remaining[1]
	}
	c.addPath(dir, dir.text, Write, FromArgument, true)
	c.remaining = nil
}

// gitRunners are subcommands whose options or operands run something.
func (c *call) gitRunners() {
	c.handled = true
	name := c.prog.name
	if c.unclear && slices.ContainsFunc(c.args, mayBeOption) && gitRuns[name] != "" {
		c.out.unclear = "cannot determine what " + name + " runs"
	}
	safe := name == "git grep"
	for i, w := range c.args {
		if w.static && w.text == "--" {
			break
		}
		if len(w.text) < 2 || w.text[0] != '-' {
			continue
		}
		opt, value, eq := strings.Cut(w.text, "=")
		if opt[1] != '-' {
			opt, value = w.text[:2], w.text[2:]
			eq = value != ""
		}
		match := slices.ContainsFunc(strings.Fields(gitRuns[name]), func(o string) bool {
			return o == opt || len(opt) > 3 && strings.HasPrefix(o, opt)
		})
		switch {
		case match && eq:
			c.runLine(word{text: value, static: w.static}, name+" "+opt, stdin{})
		case match && i+1 < len(c.args) && opt != "-O" && !strings.HasPrefix("--open-files-in-pager", opt):
			c.runLine(c.args[i+1], name+" "+opt, stdin{})
		case name == "git format-patch" && (opt == "-o" || strings.HasPrefix("--output-directory", opt)):
			dir := word{text: value, static: w.static}
			if !eq && i+1 < len(c.args) {
				dir = c.args[i+1]
			}
			c.addPath(dir, dir.text, Write, FromArgument, true)
			c.remaining = slices.DeleteFunc(c.remaining, func(w word) bool { return w == dir })
		}
		safe = safe && !match && w.static && opt != "-f" && opt != "--textconv"
		c.addPathLike(w, false)
	}
	c.gitOperands()
	if safe && !c.unclear && c.out.unclear == "" && len(c.out.runs) == 0 {
		c.out.safe = true
		return
	}
	c.gitOpaque()
}

func (c *call) gitOperands() {
	sub := c.prog.name[len("git "):]
	first := ""
	if len(c.remaining) > 0 {
		first = c.remaining[0].text
	}
	switch {
	case sub == "bisect" && first == "run":
		if at := slices.IndexFunc(c.args, func(w word) bool { return w.text == "run" }); len(c.args) > at+1 {
			c.out.runs = append(c.out.runs, run{via: "git bisect run", argv: c.args[at+1:]})
		}
	case sub == "submodule" && first == "foreach":
		at := slices.IndexFunc(c.args, func(w word) bool { return w.text == "foreach" })
		rest := c.args[at+1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
			rest = rest[1:]
		}
		c.runLine(joined(rest), "git submodule foreach", stdin{})
	case sub == "submodule" && first == "add":
		for _, w := range c.remaining[1:] {
			c.gitAddress(w)
		}
		if len(c.remaining) > 2 {
			c.addPath(c.remaining[2], c.remaining[2].text, Write, FromArgument, true)
		}
	case sub == "apply" || sub == "am":
		for _, w := range c.remaining {
			c.addPath(w, w.text, Read, FromArgument, false)
		}
		if !slices.ContainsFunc(c.args, func(w word) bool { return w.text == "--check" || w.text == "--stat" || w.text == "--summary" }) {
			c.addPath(workingDir, "git "+sub, Write, FromArgument, true)
		}
	case sub == "upload-pack" || sub == "receive-pack" || sub == "shell":
		for _, w := range c.remaining {
			c.addPathLike(w, true)
		}
	default:
		for _, w := range c.remaining {
			c.addPathLike(w, false)
		}
	}
}

// vcsReads are subcommands of other version control systems that change nothing.
const vcsReads = "status st log diff di info annotate blame cat heads tip parents identify id summary show branch branches bookmarks tags manifest root paths ls list"

// otherVCS handles hg, svn and similar tools. If the line does not show the value of an argument,
// and the argument may be an option, the command is opaque: "cannot determine an argument of hg".
func (c *call) otherVCS() {
	c.handled = true
	c.lastWritten("clone checkout co export switch")
	safe := len(c.remaining) > 0 && contains(vcsReads, c.remaining[0].text) && len(c.remaining) < 4
	for i, w := range c.args {
		name, value, eq := strings.Cut(w.text, "=")
		if !eq && i+1 < len(c.args) {
			value = c.args[i+1].text
		}
		switch {
		case !w.static && mayBeOption(w):
			safe = false
			c.opaque("cannot determine an argument of " + c.prog.name)
		case strings.HasPrefix(name, "--diff-cmd"), strings.HasPrefix(name, "--diff3-cmd"), strings.HasPrefix(name, "--merge-cmd"), strings.HasPrefix(name, "--editor-cmd"),
			name == "--ssh", name == "-e" && c.prog.name == "hg", name == "--remotecmd", name == "--tool":
			safe = false
			c.codeLine(value, c.prog.name+" "+name, !w.static)
		case strings.HasPrefix(name, "--conf"):
			safe = false
			c.out.unclear = "cannot determine what " + c.prog.name + " does with the setting " + value
			if _, line, ok := strings.Cut(w.text+" "+value, "!"); ok {
				c.codeLine(line, c.prog.name+" "+name, true)
			}
		case strings.HasPrefix(name, "-"):
			safe = false
			c.addPathLike(w, false)
		default:
			c.addPathLike(w, false)
		}
	}
	c.out.safe = safe
	if !safe {
		c.gitOpaque()
	}
}
