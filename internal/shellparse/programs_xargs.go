package shellparse

import (
	"slices"
	"strings"
)

// maxBatches is the maximum number of runs that are derived from the input of xargs and parallel.
const maxBatches = 64

// xargs runs its operands. The words of its standard input are appended to them, or replace the
// word of -I.
func (c *call) xargs() {
	argv := c.remaining
	if len(argv) == 0 {
		argv = []word{{text: "echo", static: true}}
	}
	if c.vagueBefore(argv) {
		c.out.unclear = "cannot determine what xargs runs"
	}
	c.remaining = nil
	mark, replaces := c.value("-I")
	if !replaces {
		if mark, replaces = c.value("-i"); replaces && mark.text == "" {
			mark = word{text: "{}", static: true}
		} else if !replaces {
			if mark, replaces = c.value("-J"); replaces {
				replaces = true
			}
		}
	}
	words, known := c.inputWords(replaces)
	add := func(argv []word) {
		c.out.runs = append(c.out.runs, run{via: "xargs", argv: argv})
	}
	if replaces && !mark.static {
		c.out.unclear = "cannot determine what xargs replaces"
		return
	}
	if replaces {
		if !known {
			words = []word{c.unknownInput("{}")}
		}
		for _, w := range words {
			add(replaceMark(argv, mark.text, w))
		}
		return
	}
	if !known {
		add(append(slices.Clone(argv), c.unknownInput("$input")))
		return
	}
	size := len(words)
	if c.has("-n") || c.has("-L") || c.has("-l") {
		size = 1
		if n, _ := c.value("-n"); n.static && isNumber(n.text) && len(n.text) < 4 {
			size = 0
			for _, d := range n.text {
				size = size*10 + int(d-'0')
			}
		}
	}
	if len(words) == 0 {
		add(argv)
		return
	}
	for batch := range slices.Chunk(words, max(1, size)) {
		add(append(slices.Clone(argv), batch...))
	}
}

// unknownInput returns an unknown word of the input. At most the folder of the file that it names is
// known. Names that do not end with a NUL may be split at any position.
func (c *call) unknownInput(text string) word {
	if b := c.inv.in.below; b != nil && c.has("-0") && !c.has("-a") {
		return word{text: "{}", below: b}
	}
	return word{text: text}
}

// inputWords returns the words that xargs reads from its input, if they are known and not too many.
func (c *call) inputWords(lines bool) ([]word, bool) {
	if c.has("-a") {
		return nil, false
	}
	if c.inv.in.kind != stdinKnown {
		return c.inv.in.words, len(c.inv.in.words) > 0 && len(c.inv.in.words) <= maxBatches
	}
	text := c.inv.in.text
	sep := func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }
	switch {
	case c.has("-0"):
		sep = func(r rune) bool { return r == 0 }
	case c.has("-d") || c.has("-E") || c.has("-e") || strings.ContainsAny(text, "'\"\\"):
		return nil, false
	case lines:
		sep = func(r rune) bool { return r == '\n' }
	}
	var out []word
	for f := range strings.FieldsFuncSeq(text, sep) {
		if out = append(out, word{text: strings.TrimLeft(f, " \t"), static: true}); len(out) > maxBatches {
			return nil, false
		}
	}
	return out, true
}

// replaceMark replaces a mark in argv with a word.
func replaceMark(argv []word, mark string, by word) []word {
	out := slices.Clone(argv)
	if mark == "" {
		return out
	}
	for i, w := range out {
		if strings.Contains(w.text, mark) {
			out[i].text = strings.ReplaceAll(w.text, mark, by.text)
			out[i].static = w.static && by.static
			if w.text == mark {
				out[i].below = by.below
			}
			out[i].glob = w.glob || by.glob
		}
	}
	return out
}

// parallelMarks are placeholders that parallel replaces in its command.
var parallelMarks = strings.NewReplacer("{}", `"$input"`, "{.}", `"$input"`, "{/}", `"$input"`, "{//}", `"$input"`, "{/.}", `"$input"`,
	"{1}", `"$input"`, "{2}", `"$input"`, "{3}", `"$input"`, "{1/}", `"$input"`, "{1.}", `"$input"`, "{#}", "1", "{%}", "1")

// parallel passes its operands, up to :::, to a shell. Without operands, each line of its input is
// a command. In the line, an input is treated as an unknown variable, because parallel quotes it.
func (c *call) parallel() {
	argv, inputs, files := c.remaining, []word(nil), false
	for i, w := range c.remaining {
		if w.static && (strings.HasPrefix(w.text, ":::") && strings.Trim(w.text, ":+") == "") {
			argv, inputs, files = c.remaining[:i], c.remaining[i+1:], strings.HasPrefix(w.text, "::::")
			break
		}
	}
	c.remaining = nil
	if files {
		for _, w := range inputs {
			if !strings.HasPrefix(w.text, ":::") {
				c.addPath(w, w.text, Read, FromArgument, false)
			}
		}
		inputs = nil
	}
	if len(argv) == 0 {
		switch {
		case len(inputs) > 0:
			for _, w := range inputs {
				c.runLine(w, "parallel", stdin{})
			}
		case c.inv.in.kind == stdinKnown:
			c.runLine(word{text: c.inv.in.text, static: true}, "parallel", stdin{})
		default:
			c.out.unclear = "cannot determine the lines that parallel runs"
		}
		return
	}
	whole := joined(argv)
	if !whole.static || c.vagueBefore(argv) || c.has("-I") || c.has("-S") || strings.Contains(whole.text, "{=") {
		c.out.unclear = "cannot determine what parallel runs"
		if !argv[0].static {
			return
		}
	}
	template := parallelMarks.Replace(whole.text)
	if template == whole.text {
		template += ` "$input"`
	}
	n := min(len(inputs), maxBatches)
	if len(inputs) > n || slices.ContainsFunc(inputs, func(w word) bool { return !w.static || strings.HasPrefix(w.text, ":::") }) {
		n = 0
	}
	for _, w := range inputs[:n] {
		quoted := "'" + strings.ReplaceAll(w.text, "'", `'\''`) + "'"
		c.out.runs = append(c.out.runs, run{via: "parallel", line: strings.ReplaceAll(template, `"$input"`, quoted)})
	}
	if n == 0 {
		c.out.runs = append(c.out.runs, run{via: "parallel", line: template})
	}
}
