package shellparse

import (
	"slices"
	"strings"
)

// call is the state while one invocation is analyzed.
type call struct {
	inv       *invocation
	prog      *program
	via       string // the name under which the commands that it runs are reported
	args      []word // of the program, or of the subcommand
	given     []given
	remaining []word // the operands; for a program that runs a command, the command and all words after it
	unknown   string // the first option that the table does not have
	unclear   bool   // there is an unknown word that may be an option, or more than one word
	dashes    bool   // there was a "--"
	tree      bool
	writes    bool
	only      bool
	unsafe    bool
	instead   bool
	handled   bool // the program's own function (see special) handled everything: operands and options are not interpreted again
	out       effects
}

// given is an option as it was written.
type given struct {
	*option
	value word
	has   bool
	arg   string
}

// value returns the last value of an option; the option is named by its first spelling.
func (c *call) value(name string) (word, bool) {
	for _, g := range slices.Backward(c.given) {
		if g.name == name {
			return g.value, true
		}
	}
	return word{}, false
}

func (c *call) has(name string) bool {
	_, ok := c.value(name)
	return ok
}

// parse separates the arguments into options and operands, like getopt.
func (c *call) parse() {
	command := c.prog.command()
	if c.remaining == nil && len(c.args) > 0 {
		c.remaining = make([]word, 0, len(c.args))
	}
	for i := 0; i < len(c.args); {
		w := unquoted(c.args[i])
		option := !c.dashes && len(w.text) > 1 && w.text[0] == '-'
		c.unclear = c.unclear || !c.dashes && mayBeOption(w) || !w.static && maySplit(w)
		switch {
		case option && w.static && w.text == "--":
			c.dashes = true
			i++
		case option:
			i += c.option(w, c.args[i+1:])
		case c.prog.marks.early && len(c.remaining) == 0 && c.prog.special == "shell" && len(w.text) > 1 && w.text[0] == '+':
			i++ // bash +x, bash +o posix
			if strings.ContainsAny(w.text, "oO") {
				i++
			}
		case c.prog.marks.early || command >= 0 && (len(c.remaining) >= command || !c.prog.marks.late):
			c.remaining = append(c.remaining, c.args[i:]...)
			return
		case !c.dashes && len(w.text) > 1 && w.text[0] == '+' && c.prog.options["-#"] != nil:
			i++ // tail +5, vim +5
		default:
			c.remaining = append(c.remaining, w)
			i++
		}
	}
}

// option parses one word of options, and returns how many words it used.
func (c *call) option(w word, next []word) int {
	name, value, eq := strings.Cut(w.text, "=")
	attached := word{text: value, static: w.static, glob: w.glob}
	if c.prog.marks.once || strings.HasPrefix(name, "--") {
		o := c.prog.long(name)
		if o == nil && c.prog.marks.once && len(name) > 1 {
			if name[1] == '-' {
				o = c.prog.long(name[1:])
			} else if o = c.prog.options[name[:2]]; o != nil && (o.value || o.attached) && len(name) > 2 {
				attached, eq = word{text: w.text[2:], static: w.static, glob: w.glob}, true // gcc -Idir
			} else {
				o = nil
			}
		}
		switch {
		case o == nil:
			c.addUnknownOption(w, eq)
			return 1
		case eq || !o.value:
			if eq && !o.value && !o.attached {
				c.addPathLike(w, false)
			}
			c.addGiven(given{o, attached, eq, w.text})
			return 1
		}
		return 1 + c.nextValue(o, w, next)
	}
	if c.prog.options["-#"] != nil && isNumber(w.text[1:]) {
		return 1
	}
	for k := 1; k < len(w.text); k++ {
		o := c.prog.options["-"+w.text[k:k+1]]
		if o == nil {
			c.addUnknownOption(w, k > 1 || len(w.text) > 2)
			return 1
		}
		rest := w.text[k+1:]
		if o.number {
			n := len(rest) - len(strings.TrimLeft(rest, "0123456789xX"))
			c.addGiven(given{o, word{text: rest[:n], static: w.static}, n > 0, w.text})
			k += n
			continue
		}
		if (o.value || o.attached) && rest != "" {
			c.addGiven(given{o, word{text: rest, static: w.static, glob: w.glob}, true, w.text})
			return 1
		}
		if o.value {
			return 1 + c.nextValue(o, w, next)
		}
		c.addGiven(given{o, word{}, false, w.text})
	}
	return 1
}

func (c *call) nextValue(o *option, w word, next []word) int {
	if len(next) == 0 {
		c.addGiven(given{o, word{}, false, w.text})
		return 0
	}
	c.unclear = c.unclear || maySplit(next[0])
	if o.two && len(next) > 1 {
		c.addGiven(given{o, next[1], true, next[1].text})
		return 2
	}
	c.addGiven(given{o, next[0], true, next[0].text})
	return 1
}

func (c *call) addGiven(g given) {
	if c.given == nil {
		c.given = make([]given, 0, 4)
	}
	c.given = append(c.given, g)
	c.tree = c.tree || g.tree
	c.writes = c.writes || g.writes
	c.only = c.only || g.only
	c.unsafe = c.unsafe || g.unsafe
	c.instead = c.instead || g.instead
	c.dashes = c.dashes || g.last
}

// addUnknownOption records an option that the table does not have. Its value is classified by its shape.
func (c *call) addUnknownOption(w word, attached bool) {
	if c.unknown == "" && (!c.prog.marks.any || !attached && len(w.text) > 2 && w.text[1] == '-') {
		c.unknown = w.text
	}
	if c.prog.marks.any {
		c.unsafe = true
	}
	c.addPathLike(w, false)
}

// unquoted removes the double quotes from an option whose value is unknown.
func unquoted(w word) word {
	if t := w.text; !w.static && len(t) > 3 && t[:2] == `"-` && strings.IndexByte(t[1:], '"') == len(t)-2 {
		w.text = t[1 : len(t)-1]
	}
	return w
}

// mayBeOption reports whether an unknown word may start with a dash when the command runs.
func mayBeOption(w word) bool {
	if w.static {
		return w.glob && w.text != "" && strings.IndexByte("*?[", w.text[0]) >= 0
	}
	t := strings.TrimLeft(w.text, `"`)
	return maySplit(w) || t == "" || strings.IndexByte("$`-", t[0]) >= 0
}

// maySplit reports whether a word may become no word or several words when the command runs,
// because it is unknown and contains an expansion outside of double quotes.
func maySplit(w word) bool {
	if w.static {
		return false
	}
	quoted := false
	for i := 0; i < len(w.text); i++ {
		switch w.text[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case '$', '`':
			if !quoted || strings.HasPrefix(w.text[i:], "$@") || strings.Contains(w.text[i:], "[@]") || strings.HasPrefix(w.text[i:], "${@") {
				return true
			}
		}
	}
	return false
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
