package shellparse

import (
	"strconv"
	"strings"
)

// builtinRows are shell builtins, and the programs with the same names.
const builtinRows = `
echo | safe early =echo | -* | --
printf | safe early =printf | -* | -v:
true,false,:,pwd,wait,times,jobs,return,exit,break,continue,shift,dirs,caller,logout,suspend,umask,ulimit,shopt,bg,fg,disown,getopts,hostid,tty,nproc,logname,groups,users,who,w,uptime,free,lscpu,lsblk,lsmod,lspci,lsusb,vmstat,iostat,sw_vers,cal | safe any | -* | --
kill,killall,pkill,skill,xkill,killall5 | alters any | -* | -s: -n: -l~ -L~ -f -9 -15
test | safe =test | -* | --
[ | safe =test | -* | --
type,which,whereis,whence,where | safe any | -* | -a -p -P -t -f -s --all --skip-alias
cd,chdir | safe =cd | -* | -LPe@
pushd | safe =pushd | -* | -n
popd | safe =popd | -* | -n
export,readonly,declare,typeset,local | safe =declare | -* | -afgilnrtuxApFIPU
unset | safe =unset | -* | -fvn
read | safe =read | -* | -r -s -e -a: -d: -i: -n: -N: -p: -t: -u: -k? -q -A
mapfile,readarray | safe =read | -* | -d: -n: -O: -s: -t -u: -C:u -c:
eval | early =eval | -* | --
source,. | =source | -* | -p:
trap | =trap | -* | -l~ -p~ -P~
alias | =alias | -* | -p~ -g -s -L~
unalias | safe | -* | -a
hash | =hash | -* | -r~ -l~ -d~ -t~ -p:i
enable | =enable | -* | -a~ -n -p~ -s -f:i -d:
bind | | -* | -m: -l~ -p~ -P~ -s~ -S~ -v~ -V~ -q:~ -u: -r: -f:x -x:u -X~
set | safe any =set | -* | --
let | safe =let | -* | --
compgen | safe =compgen | -* | -abcdefgjksuv -V: -o: -A: -G: -W: -P: -S: -X: -F:u -C:l
complete | =compgen | -* | -abcdefgjksuv -D -E -I -p -r -o: -A: -G: -W: -P: -S: -X: -F:u -C:l
history | | -* | -c! -d:! -a -n -r -w! -p -s!
fc | alters | -* | -e:l -l -n -r -s
`

// builtin handles shell builtins.
func (c *call) builtin() {
	switch c.prog.special {
	case "echo":
		c.echo()
	case "printf":
		c.printf()
	case "test":
		c.test()
	case "cd":
		c.cd()
	case "pushd":
		c.cd()
	case "popd":
		c.out.chdir = &word{text: "-", static: true}
	case "declare":
		c.declare()
	case "unset":
		for _, w := range c.remaining {
			c.set(w.text, word{})
		}
		if !c.has("-f") {
			c.out.evals = c.remaining
		}
	case "read":
		for _, w := range c.remaining {
			c.set(w.text, word{})
		}
		c.out.evals = c.remaining
		if len(c.remaining) == 0 {
			c.set("REPLY", word{})
			c.set("MAPFILE", word{})
		}
		for i := range c.given {
			if c.given[i].name == "-a" || c.given[i].name == "-A" {
				c.set(c.given[i].value.text, word{})
			}
		}
	case "eval":
		c.handled = true
		c.runLine(joined(c.remaining), "eval", c.inv.in)
		c.out.wrapper = len(c.out.runs) > 0
		c.sameShell()
		c.out.safe = c.out.unclear == ""
	case "source":
		c.source()
	case "trap":
		if len(c.remaining) > 1 && c.remaining[0].text != "-" {
			c.runLine(c.remaining[0], "trap", c.inv.in)
			c.sameShell()
		}
	case "alias":
		c.alias()
	case "let":
		for _, w := range c.args {
			c.checkEvaluated(w)
		}
	case "set":
		c.unsafe = c.unsafe || len(c.args) == 0 // prints every variable, including tokens
	case "compgen":
		if w, ok := c.value("-W"); ok {
			c.checkEvaluated(w)
		}
	case "hash":
		if w, ok := c.value("-p"); ok {
			c.out.unclear = "hash -p makes a name run " + w.text
		}
	case "enable":
		if w, ok := c.value("-f"); ok {
			c.applyRole(w, w.text, roleCode)
			c.out.unclear = "cannot determine which commands enable -f loads"
		}
	default:
		c.programs()
	}
}

func (c *call) set(name string, value word) {
	if c.out.sets == nil {
		c.out.sets = map[string]word{}
	}
	name, subscript, _ := strings.Cut(name, "[")
	c.checkEvaluated(word{text: subscript, static: true})
	c.out.sets[name] = value
}

// checkEvaluated handles text that the shell expands again.
func (c *call) checkEvaluated(w word) {
	if strings.Contains(w.text, "$(") || strings.Contains(w.text, "`") {
		c.out.unclear = "the argument of " + c.via + " runs a command: " + w.text
	}
}

func (c *call) cd() {
	switch {
	case len(c.remaining) == 0 && c.prog.name == "pushd":
		c.out.chdir = &word{text: "-", static: true}
	case len(c.remaining) == 0:
		c.out.chdir = &word{static: true}
	case len(c.remaining) > 1:
		c.out.chdir = &word{text: "-", static: true} // zsh: cd old new
	case c.prog.name == "pushd" && c.has("-n"):
	case strings.HasPrefix(c.remaining[0].text, "+"):
		c.out.chdir = &word{text: "-", static: true}
	default:
		c.addPath(c.remaining[0], c.remaining[0].text, Read, FromArgument, false)
		c.out.chdir = &c.remaining[0]
	}
	c.remaining = nil
}

// declare: the parser has already handled the assignments that it recognizes.
func (c *call) declare() {
	c.unsafe = c.unsafe || c.has("-p") || len(c.remaining) == 0 // prints values
	for _, w := range c.remaining {
		if strings.Contains(w.text, "[") && (strings.Contains(w.text, "$(") || strings.Contains(w.text, "`")) {
			c.out.unclear = "cannot determine what the subscript in " + w.text + " runs"
		}
		name, value, ok := strings.Cut(w.text, "=")
		if ok && isVariableName(name) {
			c.set(name, word{text: value, static: w.static})
			c.unsafe = c.unsafe || isDangerous(name)
		}
	}
}

// echo prints its operands; some shells interpret escapes even without -e.
func (c *call) echo() {
	var b strings.Builder
	newline, escapes := "\n", false
	args := c.args
	for len(args) > 0 && args[0].static && len(args[0].text) > 1 && args[0].text[0] == '-' && strings.Trim(args[0].text[1:], "neE") == "" {
		if strings.Contains(args[0].text, "n") {
			newline = ""
		}
		escapes = escapes || strings.Contains(args[0].text, "e")
		args = args[1:]
	}
	c.remaining, c.given, c.unknown, c.unclear = nil, nil, "", false
	c.out.paths = nil
	for i, w := range args {
		if !w.static || w.glob {
			return
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	text := b.String()
	if escapes {
		var ok bool
		if text, ok = unescape(text); !ok {
			return
		}
	} else if strings.Contains(text, `\`) {
		return
	}
	text += newline
	c.out.output = &text
}

// printf prints its format; the output is only known for formats of text.
func (c *call) printf() {
	if w, ok := c.value("-v"); ok {
		c.set(w.text, word{})
		c.out.evals = []word{w}
		return
	}
	args := c.remaining
	if len(args) == 0 || !args[0].static {
		return
	}
	for _, w := range args {
		if !w.static || w.glob {
			return
		}
	}
	var b strings.Builder
	format, rest := args[0].text, args[1:]
	for first := true; first || len(rest) > 0; first = false {
		before := len(rest)
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 == len(format) {
				b.WriteByte(format[i])
				continue
			}
			i++
			switch format[i] {
			case '%':
				b.WriteString("%%")
			case 's', 'b', 'd':
				if len(rest) > 0 {
					if strings.Contains(rest[0].text, `\`) {
						return
					}
					b.WriteString(rest[0].text)
					rest = rest[1:]
				}
			default:
				return
			}
		}
		if len(rest) == before {
			break
		}
		if b.Len() > MaxLine {
			return
		}
	}
	text, ok := unescape(b.String())
	if !ok {
		return
	}
	text = strings.ReplaceAll(text, "%%", "%")
	c.out.output = &text
}

// unescape decodes the escapes that echo -e and printf have in common. It returns false if there
// are other escapes.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '\\':
			b.WriteByte('\\')
		case 'x':
			n := 0
			for n < 2 && i+1+n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i+1+n]) >= 0 {
				n++
			}
			v, err := strconv.ParseUint(s[i+1:i+1+n], 16, 8)
			if err != nil {
				return "", false
			}
			b.WriteByte(byte(v))
			i += n
		case '0', '1', '2', '3', '4', '5', '6', '7':
			start, n := i, 0
			if s[i] == '0' {
				start++
			}
			for n < 3 && start+n < len(s) && s[start+n] >= '0' && s[start+n] <= '7' {
				n++
			}
			if n == 0 {
				b.WriteByte(0)
				continue
			}
			v, err := strconv.ParseUint(s[start:start+n], 8, 16)
			if err != nil || v > 255 {
				return "", false
			}
			b.WriteByte(byte(v))
			i = start + n - 1
		default:
			return "", false
		}
	}
	return b.String(), true
}

// testFiles are the tests whose operand is a file.
const testFiles = "-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -L -O -G -N -S"

// test only reads the metadata of files.
func (c *call) test() {
	c.handled = true
	for i, w := range c.args {
		if i+1 < len(c.args) && len(w.text) == 2 && strings.Contains(testFiles, w.text) {
			c.addPath(c.args[i+1], c.args[i+1].text, Read, FromArgument, false)
		}
		if i+1 < len(c.args) && (w.text == "-v" || w.text == "-R") {
			c.checkEvaluated(c.args[i+1])
		}
		if w.text == "-nt" || w.text == "-ot" || w.text == "-ef" {
			for _, k := range []int{i - 1, i + 1} {
				if k >= 0 && k < len(c.args) {
					c.addPath(c.args[k], c.args[k].text, Read, FromArgument, false)
				}
			}
		}
	}
	c.out.safe = c.out.unclear == ""
}

// sameShell marks the command line as one that runs in the same shell.
func (c *call) sameShell() {
	if n := len(c.out.runs); n > 0 {
		c.out.runs[n-1].here = true
	}
}

func (c *call) source() {
	c.handled = true
	if len(c.remaining) == 0 {
		return
	}
	w := c.remaining[0]
	if w.static && openFileNumber(w.text) == "0" {
		c.shellReads("source")
		c.sameShell()
		return
	}
	if !w.static {
		c.out.unclear = "cannot determine the file of commands that source runs"
		return
	}
	c.applyRole(w, w.text, roleCode)
}

// alias: the command of an alias may run when its name is used.
func (c *call) alias() {
	for _, w := range c.remaining {
		if _, value, ok := strings.Cut(w.text, "="); ok {
			if !w.static {
				c.out.unclear = "cannot determine what an alias stands for"
				continue
			}
			c.runLine(word{text: value, static: true}, "alias", stdin{})
		}
	}
	c.opaque("changes what command names run")
}
