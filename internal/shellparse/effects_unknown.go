package shellparse

import (
	"path"
	"slices"
	"strings"
)

// If a program has no row, its effects are guessed from the names and shapes of its arguments. A
// file that belongs to an option with the name of an output is written. A value that belongs to an
// option with the name of a command is run, and so are the words after "--".

// outputNames are names of options whose value is a file or folder that is written.
const outputNames = `o O output out outfile out-file output-file outputfile outdir out-dir output-dir output-directory output-path outputpath outpath dest destination
	dest-dir dist-dir target-dir target-directory build-dir builddir prefix install-dir install-prefix destdir root-dir save save-to save-as save-dir write write-to writeto
	log log-file logfile log-dir report report-file export export-to extract-to extract-dir dump dump-file cache-dir cachedir download-dir pidfile pid-file tee record directory-prefix export-filename export-file`

// runNames are names of options whose value is a command.
const runNames = `exec execute command cmd run shell run-command on-change onchange pre-invoke post-invoke pager editor browser hook script-shell startup-command init-command
	pre-command post-command exec-command shell-command scripts`

// guess finds paths and commands in the arguments of a program without a row.
func (c *call) guess() {
	for i, w := range c.args {
		c.addPathLike(w, true)
		if len(w.text) < 2 || w.text[0] != '-' {
			continue
		}
		if w.text == "--" && w.static {
			c.guessCommand(c.args[i+1:])
			return
		}
		name, value, attached := strings.Cut(w.text, "=")
		long := strings.TrimLeft(name, "-")
		v := word{text: value, static: w.static, glob: w.glob}
		if !attached && i+1 < len(c.args) {
			v = c.args[i+1]
		}
		switch {
		case contains(outputNames, long) && (attached || mayBeValue(v)):
			c.addPath(v, w.text, Write, FromSyntax, true)
		case strings.HasPrefix(w.text, "-o") && w.static && looksLikePath(w.text[2:]) && w.text[2] != '=':
			c.addPath(word{text: w.text[2:], static: true}, w.text, Write, FromSyntax, true)
		case contains(runNames, long) && (attached || !v.static || !strings.HasPrefix(v.text, "-")):
			c.guessLine(v, c.via+" "+name)
		case long == "parameters" && strings.Contains(v.text, "command"): // aws ssm
			_, line, _ := strings.Cut(v.text, "=")
			c.codeLine(strings.Trim(line, `[]"' `), c.via+" "+name, !v.static)
		case contains("c C e x", long) && v.static && strings.Contains(v.text, " "):
			c.guessLine(v, c.via+" "+name)
		}
	}
}

// mayBeValue reports whether the word after an option may be the value of the option.
func mayBeValue(v word) bool { return !v.static || v.text != "" && v.text[0] != '-' }

func (c *call) guessLine(v word, via string) {
	switch {
	case !v.static:
		c.out.unclear = "cannot determine the command of " + via
	case looksLikeCommand(v.text):
		c.codeLine(v.text, via, false)
	}
}

// guessCommand runs the words after "--" if the first of them can be the name of a program.
func (c *call) guessCommand(argv []word) {
	for _, w := range argv {
		c.addPathLike(w, true)
	}
	if len(argv) == 0 || !argv[0].static || argv[0].glob {
		return
	}
	name := argv[0].text
	plain := name != "" && !strings.ContainsAny(name, "/.*?[]{}() \t\n\"'$=:,@\\") && name[0] != '-'
	if plain || slices.Contains(systemFolders, path.Dir(name)) {
		c.out.runs = append(c.out.runs, run{via: c.via, argv: argv, in: c.inv.in})
	}
}

// outputs finds what a known program writes with options that its row does not have, or without a meaning,
// but with a telling name; and its working folders.
func (c *call) outputs() {
	for i, w := range c.args {
		if len(w.text) < 2 || w.text[0] != '-' {
			continue
		}
		name, value, attached := strings.Cut(w.text, "=")
		if o := c.prog.options[name]; o != nil && o.role != roleData {
			continue
		}
		v := word{text: value, static: w.static, glob: w.glob}
		if !attached && i+1 < len(c.args) {
			v = c.args[i+1]
		}
		long := strings.TrimLeft(name, "-")
		switch {
		case contains(outputNames, long) && len(long) > 1 && (attached || mayBeValue(v)), strings.HasSuffix(long, "_out") && mayBeValue(v),
			contains("target pack-destination cwd Logfile", long) && looksLikePath(v.text),
			contains("d t w D o O p", long) && mayBeValue(v) && looksLikePath(v.text) && !strings.HasPrefix(c.prog.name, "git "):
			c.addPath(v, w.text, Write, FromSyntax, true)
		}
	}
}

// lastWritten records that a copying program writes its last operand, if a word of the command says
// that it copies.
func (c *call) lastWritten(verbs string) {
	n := len(c.args)
	if n < 2 || !slices.ContainsFunc(c.args[:n-1], func(w word) bool { return w.static && contains(verbs, w.text) }) {
		return
	}
	if last := c.args[n-1]; last.text != "" && last.text[0] != '-' && !strings.Contains(last.text, ":") {
		c.addPath(last, last.text, Write, FromSyntax, true)
	}
}
