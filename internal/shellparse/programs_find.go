package shellparse

import (
	"slices"
	"strings"
)

// findTakes are the tests and actions of find, with the number of their values and the role of the
// first value. All others are unknown.
var findTakes = map[string]string{
	"-amin": "-", "-anewer": "r", "-atime": "-", "-cmin": "-", "-cnewer": "r", "-context": "-", "-ctime": "-", "-daystart": "",
	"-depth": "", "-d": "", "-empty": "", "-executable": "", "-false": "", "-follow": "", "-fstype": "-", "-gid": "-", "-group": "-",
	"-ignore_readdir_race": "", "-ilname": "-", "-iname": "-", "-inum": "-", "-ipath": "-", "-iregex": "-", "-iwholename": "-",
	"-links": "-", "-lname": "-", "-ls": "", "-maxdepth": "-", "-mindepth": "-", "-mmin": "-", "-mount": "", "-mtime": "-",
	"-name": "-", "-newer": "r", "-nogroup": "", "-noignore_readdir_race": "", "-noleaf": "", "-nouser": "", "-nowarn": "", "-path": "-",
	"-perm": "-", "-print": "", "-print0": "", "-printf": "-", "-prune": "", "-quit": "", "-readable": "", "-regex": "-",
	"-regextype": "-", "-samefile": "r", "-size": "-", "-true": "", "-type": "-", "-uid": "-", "-used": "-", "-user": "-",
	"-wholename": "-", "-warn": "", "-writable": "", "-xdev": "", "-xtype": "-", "-files0-from": "r", "-newermt": "-", "-newerct": "-",
	"-newerat": "-", "-neweram": "r", "-newercm": "r", "-newermm": "r", "-flags": "-", "-acl": "", "-Bmin": "-", "-Btime": "-",
	"-fprint": "w", "-fprint0": "w", "-fls": "w", "-fprintf": "w-", "-delete": "D",
	"-not": "", "-a": "", "-and": "", "-o": "", "-or": "", "!": "", "(": "", ")": "", ",": "",
}

// find parses first the starting points, then an expression.
func (c *call) find() {
	c.handled = true
	i := 0
	for ; i < len(c.args); i++ { // options before the starting points
		if t := c.args[i].text; t == "-D" || t == "-f" {
			i++
		} else if t != "-H" && t != "-L" && t != "-P" && t != "-E" && t != "-X" && t != "-x" && t != "-s" && !strings.HasPrefix(t, "-O") {
			break
		}
	}
	var roots []word
	for ; i < len(c.args); i++ {
		if t := c.args[i].text; t != "" && (t[0] == '-' || t == "(" || t == "!" || t == ")" || t == ",") {
			break
		}
		roots = append(roots, c.args[i])
	}
	vague := false
	if len(roots) == 0 {
		roots = append(roots, word{text: ".", static: true})
	}
	for _, w := range roots {
		if vague = vague || maySplit(w); mayBeOption(w) {
			c.opaque("an unknown argument of find may be -delete")
		}
		c.addPath(w, w.text, Read, FromArgument, true)
	}
	unknown, names, prints := false, false, 0
	for ; i < len(c.args); i++ {
		w := c.args[i]
		if !w.static {
			if vague = vague || maySplit(w); mayBeOption(w) {
				c.opaque("an unknown argument of find may be -delete")
			}
			continue
		}
		switch w.text {
		case "-exec", "-execdir", "-ok", "-okdir":
			prints = 2
			i += c.findExec(w.text, c.args[i+1:], roots)
			continue
		}
		if names = names || w.text == "-print0"; contains("-print -printf -ls -print0", w.text) {
			prints++
		}
		takes, ok := findTakes[w.text]
		unknown = unknown || !ok
		for _, r := range []byte(takes) {
			if r == 'D' {
				for _, root := range roots {
					c.addPath(root, w.text, Write, FromArgument, true)
				}
				continue
			}
			if i++; i < len(c.args) {
				vague = vague || maySplit(c.args[i])
				c.applyRole(c.args[i], c.args[i].text, role(r))
			}
		}
		if !ok {
			c.addPathLike(w, false)
			c.opaque("unknown flag " + w.text + " of find")
		}
	}
	if vague {
		c.out.unclear = "cannot determine what find does: an unknown argument may be -exec"
	}
	if names && prints == 1 && !unknown && !vague && !slices.ContainsFunc(c.args, func(w word) bool { return w.text == "-files0-from" }) {
		c.out.names = &roots
	}
	c.out.safe = !unknown && !vague && c.out.opaque == "" && len(c.out.runs) == 0 && !c.out.changesFiles()
}

// findExec parses the command of -exec and returns how many words it used. The files that find
// finds are below the roots. Otherwise they are unknown.
func (c *call) findExec(action string, args []word, roots []word) int {
	end := len(args)
	for i, w := range args {
		if w.static && (w.text == ";" || w.text == "+" && i > 0 && args[i-1].text == "{}") {
			end = i
			break
		}
	}
	if end > 0 {
		argv := replaceMark(args[:end], "{}", word{text: "{}", below: &roots})
		if !argv[0].static {
			c.out.unclear = "cannot determine what find " + action + " runs"
		}
		c.out.runs = append(c.out.runs, run{via: "find " + action, argv: argv, in: c.inv.in})
	}
	return min(end+1, len(args))
}

// fdRuns are the options of fd that treat all words up to ";" as a command.
var fdRuns = map[string]bool{"-x": true, "--exec": true, "-X": true, "--exec-batch": true}

func (c *call) fd() {
	for i, w := range c.args {
		name, first, eq := strings.Cut(w.text, "=")
		cluster := len(name) > 2 && name[0] == '-' && name[1] != '-' && strings.ContainsAny(name, "xX")
		if !w.static || !fdRuns[name] && !cluster {
			continue
		}
		argv := c.args[i+1:]
		if eq {
			argv = append([]word{{text: first, static: true}}, argv...)
		}
		for k, a := range argv {
			if a.static && a.text == ";" {
				argv = argv[:k]
				break
			}
		}
		for _, mark := range []string{"{}", "{/}", "{//}", "{.}", "{/.}"} {
			argv = replaceMark(argv, mark, word{text: "{}"})
		}
		inner := call{inv: c.inv, prog: c.prog, via: c.via, args: c.args[:i]}
		inner.parse()
		c.given, c.remaining, c.unknown, c.unsafe = inner.given, inner.remaining, inner.unknown, true
		if len(argv) > 0 {
			c.out.runs = append(c.out.runs, run{via: "fd " + name, argv: argv})
		}
		return
	}
}
