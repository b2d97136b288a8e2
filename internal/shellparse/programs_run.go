package shellparse

import (
	"slices"
	"strings"
)

// dropAssigns removes NAME=value words before the command.
func (c *call) dropAssigns() {
	if c.prog.special == "dotenv" {
		c.dotenvRun()
	}
	for len(c.remaining) > 0 {
		w := c.remaining[0]
		name, value, ok := strings.Cut(w.text, "=")
		name = strings.TrimPrefix(name, `"`)
		if !ok || !isVariableName(name) {
			return
		}
		if isDangerous(name) {
			c.unsafe = true
			c.out.taints = append(c.out.taints, name)
		}
		if slices.Contains(commandVars, name) && value != "" {
			c.runLine(word{text: value, static: w.static}, name, stdin{})
		}
		if why := unclearValue(name, word{text: value, static: w.static}); why != "" {
			c.out.unclear = why
		}
		c.remaining = c.remaining[1:]
	}
}

// dotenvRun removes the word run and its options.
func (c *call) dotenvRun() {
	if len(c.remaining) == 0 || c.remaining[0].text != "run" {
		return
	}
	c.remaining = c.remaining[1:]
	for len(c.remaining) > 0 && strings.HasPrefix(c.remaining[0].text, "-") {
		name := c.remaining[0].text
		c.remaining = c.remaining[1:]
		if name == "--" {
			return
		}
		if contains("-f --file --env-file -e --env -fk --env-keys-file", name) && len(c.remaining) > 0 {
			c.addPath(c.remaining[0], c.remaining[0].text, Read, FromArgument, false)
			c.remaining = c.remaining[1:]
		}
	}
}

func (c *call) env(depth int) {
	if s, ok := c.value("-S"); ok {
		words, ok := splitString(s)
		if !ok {
			c.out.unclear = "cannot determine the string that env -S splits"
			c.handled = true
			return
		}
		inner := *c.inv
		inner.args = append(words, c.remaining...)
		c.out = nestedEffects(&inner, depth+1)
		c.out.safe = false
		c.handled = true
		return
	}
	if len(c.remaining) > 0 && c.remaining[0].static && c.remaining[0].text == "-" {
		c.remaining = c.remaining[1:]
	}
	c.dropAssigns()
	c.unsafe = c.unsafe || len(c.remaining) == 0 // prints every variable, including tokens
}

// splitString splits the argument of env -S. Its replacements are unknown.
func splitString(s word) ([]word, bool) {
	if !s.static || strings.ContainsAny(s.text, "\\$#") {
		return nil, false
	}
	var out []word
	var b strings.Builder
	in, quote := false, rune(0)
	for _, r := range s.text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			in, quote = true, r
		case quote == 0 && strings.ContainsRune(" \t\n\v\f\r", r):
			if in {
				out = append(out, word{text: b.String(), static: true})
				b.Reset()
			}
			in = false
		default:
			in = true
			b.WriteRune(r)
		}
	}
	if in {
		out = append(out, word{text: b.String(), static: true})
	}
	return out, quote == 0
}

func (c *call) sudo() {
	c.dropAssigns()
	c.unsafe = true
	switch {
	case c.has("-e"):
		for _, w := range c.remaining {
			c.addPath(w, w.text, Read|Write, FromArgument, false)
		}
		c.opaque("starts an editor")
		c.remaining = nil
	case (c.has("-i") || c.has("-s")) && len(c.remaining) == 0:
		c.shellReads("sudo shell")
	}
}

// su and runuser take a user, followed by the arguments of the user's shell.
func (c *call) su() {
	c.unsafe = true
	line, ok := c.value("-c")
	switch {
	case ok:
		c.runLine(line, c.via+" -c", c.inv.in)
		c.remaining = nil
	case c.prog.name == "runuser" && c.has("-u"):
		c.runCommand(c.remaining)
		c.remaining = nil
	default:
		rest := c.remaining
		for len(rest) > 0 && rest[0].text == "-" {
			rest = rest[1:]
		}
		if len(rest) > 1 {
			c.runCommand(append([]word{{text: "sh", static: true}}, rest[1:]...))
		} else {
			c.shellReads(c.via)
		}
		c.remaining = nil
	}
	if c.unclear && c.out.unclear == "" {
		c.out.unclear = "cannot determine what " + c.via + " runs"
	}
}

// sg takes a group, then an optional -c and a line.
func (c *call) sg() {
	if len(c.remaining) > 1 {
		c.runLine(joined(c.remaining[1:]), "sg", c.inv.in)
		c.remaining = c.remaining[:1]
	}
}

// withoutCommand: a program that starts a shell if it gets no command as an argument.
func (c *call) withoutCommand() {
	if c.prog.name == "systemd-run" {
		c.dropAssigns()
	}
	if len(c.remaining) == 0 {
		c.shellReads(c.via)
	}
}

// shellReads handles a shell that reads its commands from standard input.
func (c *call) shellReads(via string) {
	switch c.inv.in.kind {
	case stdinKnown:
		c.runLine(word{text: c.inv.in.text, static: true}, via, stdin{})
	case stdinUnknown:
		c.out.unclear = "cannot determine the commands that " + via + " reads from standard input"
	default:
		c.opaque(via + " reads commands from the terminal")
	}
}

func (c *call) trace() {
	if w, ok := c.value("-o"); ok && strings.IndexAny(strings.TrimLeft(w.text, `"`), "|!") == 0 {
		c.runLine(word{text: strings.TrimLeft(w.text, "|!"), static: w.static}, c.via+" -o", stdin{})
	} else if ok {
		forks := 0
		for i := range c.given {
			if n := c.given[i].name; n == "-f" || n == "--output-separately" {
				forks++
			}
		}
		if forks > 1 || c.has("--output-separately") {
			c.addPrefixed(w) // a file for each process
		}
	}
}

// setarch: the architecture is optional.
func (c *call) setarch() {
	if len(c.args) > 0 && strings.HasPrefix(c.args[0].text, "-") || len(c.remaining) == 1 {
		c.runCommand(c.remaining)
		c.remaining = nil
	}
}

// lateLine: an option -c may follow the first operand.
func (c *call) lateLine() {
	if c.prog.name == "script" && len(c.remaining) < 2 && !c.has("-c") {
		c.shellReads("script")
	}
	if len(c.remaining) > 2 && c.remaining[1].static && (c.remaining[1].text == "-c" || c.remaining[1].text == "--command") {
		c.runLine(c.remaining[2], c.via+" -c", c.inv.in)
		c.remaining = c.remaining[:1]
	}
}

func (c *call) entr() {
	if c.has("-s") && len(c.remaining) > 0 {
		c.runLine(c.remaining[0], "entr -s", stdin{})
		c.remaining = nil
	}
	for i, w := range c.remaining {
		if w.static && w.text == "/_" {
			c.remaining[i] = word{text: "/_"}
		}
	}
}

// watch joins its operands and passes them to sh -c.
func (c *call) watch() {
	if c.has("-x") || len(c.remaining) == 0 {
		return
	}
	if c.vagueBefore(c.remaining) {
		c.out.unclear = "cannot determine what watch runs"
	}
	c.runLine(joined(c.remaining), "watch", c.inv.in)
	c.remaining = nil
}

func (c *call) watchexec() {
	if sh, ok := c.value("--shell"); ok && sh.text == "none" || c.has("-n") || len(c.remaining) == 0 {
		return
	}
	c.runLine(joined(c.remaining), "watchexec", stdin{})
	c.remaining = nil
}

func (c *call) nodemon() {
	if len(c.remaining) > 0 && !c.has("-x") {
		c.applyRole(c.remaining[0], c.remaining[0].text, roleCode)
	}
}

// afterDashes: the command follows "--" (mise exec node@20 -- npm test).
func (c *call) afterDashes() {
	for i, w := range c.remaining {
		if w.static && w.text == "--" {
			c.remaining = c.remaining[i+1:]
			return
		}
	}
	if !c.dashes {
		c.remaining = nil
		if !c.has("-c") {
			c.opaque(c.via + " runs commands from its files")
		}
	}
}

// nixCommand: the words after -c are a command.
func (c *call) nixCommand() {
	for i, w := range c.args {
		if w.static && (w.text == "-c" || w.text == "--command") {
			c.remaining = nil
			c.unknown = ""
			c.runCommand(c.args[i+1:])
			return
		}
	}
}

// daemon: the operands are arguments of the program of -x or -a.
func (c *call) daemon() {
	program, ok := c.value("-a")
	if !ok {
		program, ok = c.value("-x")
	}
	if ok && !c.has("-K") && !c.has("--stop") {
		c.out.runs = append(c.out.runs, run{via: c.via, argv: append([]word{program}, c.remaining...)})
	}
	c.opaque("starts or stops a daemon")
}

// bwrapTakes contains the number of values for those options of bwrap that have values.
var bwrapTakes = map[string]int{
	"--bind": 2, "--ro-bind": 2, "--dev-bind": 2, "--bind-try": 2, "--ro-bind-try": 2, "--dev-bind-try": 2, "--symlink": 2,
	"--setenv": 2, "--file": 2, "--bind-data": 2, "--ro-bind-data": 2, "--chmod": 2, "--overlay": 3,
	"--proc": 1, "--dev": 1, "--tmpfs": 1, "--dir": 1, "--chdir": 1, "--unsetenv": 1, "--uid": 1, "--gid": 1, "--hostname": 1,
	"--remount-ro": 1, "--mqueue": 1, "--perms": 1, "--size": 1, "--seccomp": 1, "--lock-file": 1, "--sync-fd": 1, "--info-fd": 1,
	"--block-fd": 1, "--cap-add": 1, "--cap-drop": 1, "--argv0": 1, "--tmp-overlay": 1, "--ro-overlay": 1, "--overlay-src": 1,
	"--unshare-all": 0, "--share-net": 0, "--unshare-user": 0, "--unshare-user-try": 0, "--unshare-ipc": 0, "--unshare-pid": 0,
	"--unshare-net": 0, "--unshare-uts": 0, "--unshare-cgroup": 0, "--unshare-cgroup-try": 0, "--die-with-parent": 0,
	"--new-session": 0, "--clearenv": 0, "--as-pid-1": 0, "--disable-userns": 0,
}

func (c *call) bwrap() {
	c.handled = true
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		switch n, known := bwrapTakes[w.text]; {
		case !w.static:
			c.out.unclear = "cannot determine what bwrap runs"
			return
		case known:
			if strings.Contains(w.text, "bind") && i+1 < len(c.args) {
				access := Read | Write
				if strings.HasPrefix(w.text, "--ro-") {
					access = Read
				}
				c.addPath(c.args[i+1], c.args[i+1].text, access, FromArgument, true)
			}
			i += n
		case strings.HasPrefix(w.text, "-") && w.text != "--":
			c.out.unclear = "unknown flag " + w.text + " of bwrap"
			return
		default:
			if w.text == "--" {
				i++
			}
			c.out.runs = append(c.out.runs, run{via: "bwrap", argv: c.args[min(i, len(c.args)):], in: c.inv.in})
			c.out.wrapper = true
			return
		}
	}
}

// capsh passes the words after -- to a shell.
func (c *call) capsh() {
	for i, w := range c.args {
		if w.static && (w.text == "--" || w.text == "==") {
			c.handled = true
			argv := append([]word{{text: "bash", static: true}}, c.args[i+1:]...)
			c.out.runs = append(c.out.runs, run{via: "capsh", argv: argv, in: c.inv.in})
			return
		}
	}
}

// multiplexer: tmux and similar programs start their last operand in a shell. They can also type
// text into a running shell.
func (c *call) multiplexer() {
	c.handled = true
	if c.prog.name == "zellij" {
		c.zellijFiles()
	}
	tmux := c.prog.name == "tmux" || c.prog.name == "byobu"
	starts, command := c.prog.name == "screen", ""
	for i := 0; i < len(c.args); i++ {
		w := c.args[i]
		if !w.static {
			c.out.unclear = "cannot determine what " + c.prog.name + " runs"
			return
		}
		if c.prog.name == "screen" {
			if next, done := c.screen(i); done {
				return
			} else if next > i {
				i = next
				continue
			}
		}
		if option := c.argBefore(i); tmux && !strings.HasPrefix(w.text, "-") && w.text != ";" &&
			(option == "-f" && command == "" || option != "-t" && contains("source source-file", command)) {
			c.applyRole(w, w.text, roleCode)
			continue
		}
		switch w.text {
		case "-c":
			if tmux && command == "" && i+1 < len(c.args) {
				c.runLine(c.args[i+1], "tmux -c", c.inv.in)
			}
			i++
			continue
		case ";":
			starts, command = false, ""
			continue
		case "new", "new-session", "new-window", "neww", "split-window", "splitw", "respawn-pane", "respawn-window", "run", "run-shell",
			"send-keys", "send", "if-shell", "display-popup", "popup", "pipe-pane", "action":
			starts = true
			continue
		case "-f":
			continue // its value is parsed above
		case "-S", "-L", "-s", "-n", "-t", "-x", "-y", "-F", "-e", "-p", "-l", "-T", "-h":
			if tmux || w.text != "-h" {
				i++
			}
			continue
		}
		if strings.HasPrefix(w.text, "-") || !starts {
			if command == "" && !strings.HasPrefix(w.text, "-") {
				command = w.text
			}
			continue
		}
		if c.prog.name == "screen" {
			c.runCommand(c.args[i:])
			return
		}
		rest := c.args[i:]
		for len(rest) > 0 && rest[len(rest)-1].static && (rest[len(rest)-1].text == "Enter" || rest[len(rest)-1].text == "C-m") {
			rest = rest[:len(rest)-1]
		}
		c.runLine(joined(rest), c.prog.name, stdin{})
		return
	}
	c.opaque(c.prog.name + " acts on other terminals")
}

// argBefore returns the argument before the given one, or "".
func (c *call) argBefore(i int) string {
	if i == 0 {
		return ""
	}
	return c.args[i-1].text
}

// zellijFiles handles the layouts and the configuration of zellij, which contain commands.
func (c *call) zellijFiles() {
	for i, w := range c.args {
		name, value, eq := strings.Cut(w.text, "=")
		switch {
		case eq && contains("--layout --config --new-session-with-layout", name):
			c.applyRole(word{text: value, static: w.static}, w.text, roleCode)
		case contains("-l --layout --config --new-session-with-layout", c.argBefore(i)):
			c.applyRole(w, w.text, roleCode)
		}
	}
}

// screen parses one option. It returns how many words the option uses, and whether the rest has
// been handled as well.
func (c *call) screen(i int) (last int, done bool) {
	t, rest := c.args[i].text, c.args[i+1:]
	if len(t) < 2 || t[0] != '-' || len(rest) == 0 {
		return i, false
	}
	switch t[len(t)-1] {
	case 'X':
		c.opaque("screen acts on other terminals")
		switch what := rest[0].text; what {
		case "stuff", "exec", "screen", "register", "process", "paste":
			line := joined(rest[1:])
			line.text = strings.NewReplacer(`\n`, "\n", `\r`, "\n", "^M", "\n", `\015`, "\n", `\012`, "\n", "\r", "\n").Replace(line.text)
			c.runLine(line, "screen -X "+what, stdin{})
		case "eval", "bind", "source", "readbuf", "at", "bindkey", "backtick", "shell", "zombie":
			c.out.unclear = "cannot determine what screen -X " + what + " runs"
		}
		return i, true
	case 's':
		c.runLine(rest[0], "screen -s", stdin{})
		return i + 1, false
	case 'c':
		c.applyRole(rest[0], rest[0].text, roleCode)
		return i + 1, false
	case 'S', 'e', 'h', 'p', 't', 'T':
		return i + 1, false
	}
	return i, false
}
