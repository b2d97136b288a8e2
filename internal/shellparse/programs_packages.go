package shellparse

import (
	"slices"
	"strings"
)

// npmReads are subcommands of npm and similar tools that change nothing.
const npmReads = "ls list ll la view info show outdated why explain root prefix bin ping whoami search docs repo bugs help fund audit -v --version version"

// npm runs scripts of the project, and programs from packages.
func (c *call) npm() {
	c.handled = true
	rest := c.args
	for len(rest) > 0 && rest[0].static && strings.HasPrefix(rest[0].text, "-") && !contains(npmReads, rest[0].text) {
		switch rest[0].text {
		case "-C", "--prefix", "--dir", "--cwd", "-F", "--filter", "-w", "--workspace":
			if len(rest) > 1 {
				if rest[0].text != "-w" && rest[0].text != "-F" && rest[0].text != "--filter" && rest[0].text != "--workspace" {
					c.moveTo(rest[1])
					c.addPath(workingDir, rest[1].text, Read|Write, FromArgument, false)
				}
				rest = rest[1:]
			}
		}
		rest = rest[1:]
	}
	name := c.prog.name
	if len(rest) == 0 {
		c.opaque("runs commands from the project's files")
		return
	}
	sub := rest[0]
	rest = rest[1:]
	if !sub.static {
		c.out.unclear = "cannot determine which subcommand of " + name + " runs"
		return
	}
	switch sub.text {
	case "exec", "x", "dlx", "node":
		c.npmExec(name+" "+sub.text, rest)
		return
	case "workspaces", "workspace":
		c.afterExec("exec dlx")
	case "explore":
		if at := slices.IndexFunc(rest, func(w word) bool { return w.text == "--" }); at >= 0 {
			c.runCommand(rest[at+1:])
		}
	case "config", "c", "set":
		for i, w := range rest {
			key, value, eq := strings.Cut(w.text, "=")
			if !contains("script-shell shell editor viewer git browser", key) {
				continue
			}
			if !eq && i+1 < len(rest) {
				value = rest[i+1].text
			}
			c.opaque("sets a program that " + name + " runs")
			c.codeLine(value, name+" config", !w.static)
		}
	}
	writes := false
	for _, w := range rest {
		c.addPathLike(w, false)
		writes = writes || !w.static && mayBeOption(w) || w.text == "fix" || w.text == "--fix"
	}
	for i, w := range c.args {
		if strings.HasPrefix(w.text, "--script-shell") || strings.HasPrefix(w.text, "--git=") || strings.HasPrefix(w.text, "--editor") || strings.HasPrefix(w.text, "--viewer") {
			_, v, ok := strings.Cut(w.text, "=")
			if !ok && i+1 < len(c.args) {
				v = c.args[i+1].text
			}
			c.codeLine(v, name+" "+w.text, !w.static)
		}
	}
	c.outputs()
	writes = writes || c.out.changesFiles()
	if contains(npmReads, sub.text) && !writes && len(c.out.runs) == 0 && (sub.text != "version" || len(rest) == 0 && name != "yarn") && !contains("docs repo bugs help", sub.text) {
		c.out.safe = true
		return
	}
	c.opaque("runs or changes something that the command line does not show")
}

// npmExec: npm exec [options] [--] command, or a line after -c.
func (c *call) npmExec(via string, rest []word) {
	c.opaque("may download the program it runs")
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		w := rest[0]
		name, value, eq := strings.Cut(w.text, "=")
		rest = rest[1:]
		switch {
		case w.text == "--":
			if len(rest) > 0 {
				c.out.runs = append(c.out.runs, run{via: via, argv: rest, in: c.inv.in})
			}
			return
		case name == "-c" || name == "--call":
			if !eq && len(rest) > 0 {
				c.runLine(rest[0], via+" -c", c.inv.in)
				rest = rest[1:]
			} else {
				c.runLine(word{text: value, static: w.static}, via+" -c", c.inv.in)
			}
		case (name == "-p" || name == "--package" || name == "-w" || name == "--workspace" || name == "--filter") && !eq && len(rest) > 0:
			rest = rest[1:]
		}
	}
	if len(rest) == 0 {
		return
	}
	if via[strings.LastIndexByte(via, ' ')+1:] == "node" {
		rest = append([]word{{text: "node", static: true}}, rest...)
	}
	c.out.runs = append(c.out.runs, run{via: via, argv: rest, in: c.inv.in})
}

// packages handles system package managers: installing a package runs code.
func (c *call) packages() {
	c.handled = true
	reads := "list search show info policy depends rdepends madison status files"
	if contains("brew port snap flatpak", c.prog.name) {
		reads += " ls outdated leaves deps uses config doctor cat home-page"
	}
	if len(c.args) > 0 && c.args[0].static {
		first := c.args[0].text
		switch c.prog.name {
		case "dpkg":
			c.out.safe = contains("-l -L -s -S --list --listfiles --status --search --print-architecture", first)
		case "rpm":
			c.out.safe = strings.HasPrefix(first, "-q") || first == "--query"
		case "pacman", "yay", "paru":
			c.out.safe = strings.HasPrefix(first, "-Q") || first == "-Ss" || first == "-Si"
		case "apt-cache", "dpkg-query":
			c.out.safe = true
		case "dpkg-deb":
			c.out.safe = contains("-I -c -f --info --contents --field", first)
		default:
			c.out.safe = contains(reads, first)
		}
	}
	for i, w := range c.args {
		c.addPathLike(w, false)
		if line, ok := strings.CutPrefix(w.text, "--command="); ok && c.prog.name == "flatpak" {
			c.codeLine(line, "flatpak run", !w.static)
		}
		if strings.HasPrefix(w.text, "-o") || strings.HasPrefix(w.text, "--option") {
			v := w.text[2:]
			if v == "" && i+1 < len(c.args) {
				v = c.args[i+1].text
			}
			c.out.safe = false
			if key, line, ok := strings.Cut(v, "="); ok && strings.Contains(key, "nvoke") {
				c.codeLine(line, c.prog.name+" -o", !w.static)
			}
		}
		if name, line, ok := strings.Cut(w.text, "="); contains("--pre-invoke --post-invoke --status-logger --pipe", name) {
			if !ok && i+1 < len(c.args) {
				line = c.args[i+1].text
			}
			c.out.safe = false
			c.codeLine(line, c.prog.name+" "+name, !w.static)
		}
		if strings.Contains(w.text, "%(") && (c.prog.name == "rpm" || c.prog.name == "dnf") {
			c.out.unclear = "cannot determine what a macro of rpm runs"
		}
		if strings.HasPrefix(w.text, "--eval") || w.text == "-E" && c.prog.name == "rpm" {
			c.out.unclear = "cannot determine what rpm --eval runs"
		}
		c.out.safe = c.out.safe && (w.static || !mayBeOption(w)) && w.text != "-f"
	}
	if !c.out.safe {
		c.opaque("changes the machine's packages")
	}
}

// cloudReads are subcommands that change nothing, by program.
var cloudReads = map[string]string{
	"systemctl": "status is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets list-jobs list-dependencies show cat get-default",
	"service":   "--status-all", "launchctl": "list print", "pm2": "list ls status logs show describe info", "supervisorctl": "status",
	"helm": "list ls status get history show search version", "terraform": "version validate providers show output graph", "tofu": "version validate providers show output graph",
	"gh": "status auth-status", "kind": "version", "minikube": "status version ip", "crictl": "ps images logs inspect", "kustomize": "version",
	"kubectl config": "view get-contexts current-context get-clusters get-users", "k config": "view get-contexts current-context",
	"flyctl": "status version", "fly": "status version", "stern": "", "heroku": "version", "kubectx": "", "aws": "", "skopeo": "inspect list-tags",
}

// ghReads are the second words of gh and glab that change nothing.
const ghReads = "list view status diff checks ls"

// safeIfListing makes a command safe if its subcommand only lists.
func (c *call) safeIfListing(reads string) {
	c.handled = true
	var words []string
	vague := false
	for _, w := range c.args {
		vague = vague || mayBeOption(w)
		if w.static && !strings.HasPrefix(w.text, "-") {
			words = append(words, w.text)
		}
		c.addPathLike(w, false)
		if strings.HasPrefix(w.text, "--post-renderer") || strings.HasPrefix(w.text, "--output-dir") {
			vague = true
		}
	}
	c.lastWritten("cp copy copyto sync mv move clone download rsync")
	switch c.prog.name {
	case "gh", "glab":
		c.outputs()
		c.gh(words, vague)
		return
	case "terraform", "tofu":
		for i := range c.args {
			vague = vague || strings.HasPrefix(c.args[i].text, "-chdir") || strings.HasPrefix(c.args[i].text, "-out")
		}
		if len(words) > 1 && (words[0] == "state" || words[0] == "workspace" || words[0] == "providers") && (words[1] == "list" || words[1] == "show") {
			c.out.safe = !vague
			return
		}
	}
	if c.prog.special == "pip" {
		c.outputs()
	} else {
		c.outputs()
		c.guess()
		if len(c.out.runs) == 0 {
			c.afterExec("exec")
		}
	}
	c.out.safe = len(words) > 0 && contains(reads, words[0]) && len(c.out.runs) == 0 && !c.out.changesFiles() && !vague && (len(c.args) == 0 || !strings.HasPrefix(c.args[0].text, "-"))
	if !c.out.safe {
		c.opaque("has effects that the command line does not show")
	}
}

func (c *call) gh(words []string, vague bool) {
	if c.out.safe = len(words) > 1 && contains("pr issue repo run workflow release label gist cache variable mr ci auth", words[0]) && contains(ghReads, words[1]) && !c.out.changesFiles() && !vague; c.out.safe {
		return
	}
	if len(words) > 2 && words[0] == "alias" && words[1] == "set" {
		last := c.args[len(c.args)-1]
		c.codeLine(strings.TrimPrefix(last.text, "!"), "gh alias", !last.static)
	}
	if len(words) > 1 && words[0] == "codespace" && words[1] == "ssh" {
		if at := slices.IndexFunc(c.args, func(w word) bool { return w.text == "--" }); at >= 0 {
			c.runLine(joined(c.args[at+1:]), "gh codespace ssh", stdin{})
		}
	}
	c.opaque("has effects that the command line does not show")
}
