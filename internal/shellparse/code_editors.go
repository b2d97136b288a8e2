package shellparse

import "strings"

// maxEx is the maximum number of consecutive vi commands in a line.
const maxEx = 64

// exCode parses a command of vi's command line: "!cmd", "r file", "w !cmd".
func (c *call) exCode(w word, depth int) {
	via := c.inv.name + " :"
	if !w.static {
		c.out.unclear = "cannot determine the command of " + via
		return
	}
	for line := range strings.SplitSeq(w.text, "\n") {
		c.exLine(line, via, depth)
	}
}

// exHarmless are commands that move the cursor, show or edit the text, or quit.
const exHarmless = `q qa quit qall q! qa! quit! qall! cq cq! noh nohlsearch e edit bn bp bd n next N prev last first rew sort retab join j d delete y yank pu put t m co copy move k mark p print P l list nu number = z u undo red redo
	> < help h version ve syntax syn filetype filet colorscheme colo hi highlight split sp vsplit vs only on tabnew tabe set se setlocal setl echo ec echom wincmd winc close clo bdelete`

func (c *call) exLine(line, via string, depth int) {
	if depth > maxEx {
		c.out.unclear = "the commands of " + via + " are nested too deep"
		return
	}
	line = strings.TrimLeft(line, ": \t0123456789$%.,;+-*'<>")
	name, arg := cutName(line)
	bang := strings.HasPrefix(arg, "!")
	rest := strings.TrimSpace(strings.TrimPrefix(arg, "!"))
	run := func(l string) {
		if l = strings.TrimSpace(l); l != "" {
			c.runLine(word{text: l, static: true}, via+"!", stdin{})
		}
	}
	file := func(access Access) {
		rest := strings.TrimLeft(strings.TrimSpace(arg), "!> ")
		for strings.HasPrefix(rest, "++") {
			_, rest, _ = strings.Cut(rest, " ")
		}
		if strings.HasPrefix(strings.TrimSpace(arg), "!") && strings.HasPrefix(arg, " ") {
			run(strings.TrimPrefix(strings.TrimSpace(arg), "!"))
			return
		}
		rest, next, bar := strings.Cut(rest, "|")
		if bar {
			c.exLine(next, via, depth+1)
		}
		if f, _, _ := strings.Cut(rest, " "); f != "" && f != "%" {
			c.addPath(word{text: f, static: true}, f, access, FromCode, false)
		}
	}
	switch {
	case line == "" || strings.HasPrefix(line, `"`):
	case name == "" && bang:
		run(arg[1:])
	case contains("sil silent verb verbose keepj keepjumps keepa keepalt noa noautocmd bufdo windo argdo tabdo cdo lockm vert vertical tab topleft bo botright bel conf confirm bro browse", name):
		c.exLine(strings.TrimLeft(strings.TrimPrefix(arg, "!"), "0123456789 "), via, depth+1)
	case contains("g global v vglobal", name):
		if len(rest) > 1 {
			if parts := strings.SplitN(rest[1:], rest[:1], 2); len(parts) == 2 {
				c.exLine(parts[1], via, depth+1)
			}
		}
	case contains("r read", name) && bang:
		run(rest)
	case contains("r read", name):
		file(Read)
	case contains("e edit sp split vs vsplit tabe tabnew tabedit vi view new vnew fin find dr drop diffs diffsplit badd bad ar args", name):
		file(Read)
	case contains("w write sav saveas up update wn wq wqa x xit exit xa wa wall wp f file", name):
		file(Write)
	case contains("so source ru runtime luaf luafile pyf pyfile py3f py3file rubyf rubyfile pers perlf", name):
		c.applyRole(word{text: rest, static: true}, rest, roleCode)
	case contains("mks mksession mkv mkview mkvimrc mkexrc wv wviminfo wundo redi redir", name):
		file(Write)
	case contains("ter term terminal", name):
		run(strings.TrimLeft(rest, "+ "))
	case contains("s substitute & sm sno", name):
		if i := strings.LastIndexByte(arg, '|'); i >= 0 {
			c.exLine(arg[i+1:], via, depth+1)
		}
		if strings.Contains(arg, `\=`) {
			c.out.unclear = "cannot determine what " + via + "s runs"
		}
	case contains(exHarmless, name) && !strings.Contains(arg, "`") && (name != "echo" || !strings.Contains(arg, "(")):
		if _, next, ok := strings.Cut(arg, "|"); ok {
			c.exLine(next, via, depth+1)
		}
	default:
		c.out.unclear = "cannot determine what " + via + name + " runs"
		for _, t := range (&language{quotes: `"'`, comment: "\x00"}).tokens(arg) {
			if t.kind == tokenString {
				c.codeLine(strings.TrimLeft(t.text, ":!"), via+name, true)
			}
		}
	}
}

func cutName(s string) (name, rest string) {
	i := 0
	for i < len(s) && (s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' || i > 0 && s[i] == '3') {
		i++
	}
	return s[:i], s[i:]
}

// edCode parses the commands that ed reads from standard input.
func (c *call) edCode(text string) {
	inserting := false
	for line := range strings.SplitSeq(text, "\n") {
		switch t := strings.TrimSpace(line); {
		case inserting:
			inserting = t != "."
		case t == "a" || t == "i" || t == "c" || strings.HasSuffix(t, "a") && strings.Trim(t[:len(t)-1], "0123456789$.,") == "":
			inserting = true
		default:
			c.exLine(strings.TrimPrefix(strings.TrimLeft(t, "0123456789$%.,"), "H"), "ed ", 0)
		}
	}
}
