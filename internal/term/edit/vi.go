package edit

import (
	"slices"
	"strings"
)

// vi is the keymap of vi. In insert mode, keys are those of readline; Escape ends it. In normal mode,
// characters are commands and motions.
type vi struct {
	normal bool
	keys   []Key  // of the command so far, for its repetition
	dot    []Key  // of the last change
	start  int    // of its steps of undo, len(undo) before the command
	count  int    // before the command; 0 if none was typed
	op     string // the operator that waits for a motion: d, c, y or ""
	opN    int    // its count
	wait   string // the command that waits for a character: r, f, F, t, T, g or ""
	find   string // the last f, F, t or T
	target string // and its character
	lines  bool   // the newest entry of the kill ring is whole lines
}

// SetVi switches between the keys of vi and those of readline.
func (e *Editor) SetVi(on bool) {
	e.vi, e.keymap = nil, readline
	if on {
		v := &vi{}
		e.vi, e.keymap = v, v.press
	}
}

// Mode returns the mode of vi: "insert" or "normal"; "" without it.
func (e *Editor) Mode() string {
	switch {
	case e.vi == nil:
		return ""
	case e.vi.normal:
		return "normal"
	}
	return "insert"
}

// press is the keymap.
func (v *vi) press(e *Editor, k Key) (command, bool) {
	escape := k.Name == "esc" || k.Ctrl && !k.Alt && k.Code == '['
	switch {
	case !v.normal && escape:
		return edits(func(e *Editor) { v.record(k); v.leaveInsert(e) }), true
	case !v.normal:
		c, ok := readline(e, k)
		if ok && !c.submit {
			v.record(k)
		}
		return c, ok
	case escape:
		waiting := v.op != "" || v.wait != "" || v.count > 0
		v.reset()
		return command{}, waiting
	case k.Name == "space" || k.Text == " ":
		k = Key{Text: " "}
	case k.Name == "backspace" && v.wait == "":
		k = Key{Text: "h"}
	case k.Name != "" || k.Ctrl || k.Alt:
		v.reset()
		return readline(e, k)
	}
	if k.Text == "" {
		return command{}, false
	}
	if v.op == "" && v.wait == "" { // up and down keep their column
		switch n := max(v.count, 1); k.Text {
		case "j", "k":
			step := map[string]int{"j": +1, "k": -1}[k.Text]
			v.reset()
			return command{kind: moves, do: func(e *Editor) {
				for range n {
					e.vertical(step)
				}
				v.clamp(e)
			}}, true
		}
	}
	return edits(func(e *Editor) { v.command(e, k) }), true
}

// record notes a key of the current command.
func (v *vi) record(k Key) { v.keys = append(v.keys, k) }

func (v *vi) reset() { v.count, v.op, v.opN, v.wait, v.keys = 0, "", 0, "", nil }

// begin is called when the text is taken or replaced: a new text starts in insert mode.
func (v *vi) begin() {
	v.reset()
	v.normal, v.start = false, 0
}

// leaveInsert ends the insert mode. All that was typed is one step of undo.
func (v *vi) leaveInsert(e *Editor) {
	v.normal = true
	if e.cursor > e.lineStart() {
		e.cursor--
	}
	v.changed(e)
}

// changed ends a command that changes the text.
func (v *vi) changed(e *Editor) {
	for i := v.start + 1; i < len(e.undo); i++ {
		e.undo[i].chain = true
	}
	if len(v.keys) > 0 {
		v.dot = v.keys
	}
	v.reset()
	v.clamp(e)
}

// clamp keeps the cursor on a character of its line.
func (v *vi) clamp(e *Editor) {
	if v.normal && e.cursor > e.lineStart() && e.cursor == e.lineEnd() {
		e.cursor--
	}
}

// command handles a character in normal mode.
func (v *vi) command(e *Editor, k Key) {
	if len(v.keys) == 0 {
		v.start = len(e.undo)
	}
	v.record(k)
	r := k.Text
	switch {
	case v.wait != "":
		v.character(e, r)
	case r >= "1" && r <= "9" || r == "0" && v.count > 0:
		v.count = min(v.count*10+int(r[0]-'0'), 9999)
	case r == "r" || r == "f" || r == "F" || r == "t" || r == "T" || r == "g":
		v.wait = r
	case v.op == "" && (r == "d" || r == "c" || r == "y"):
		v.op, v.opN, v.count = r, v.count, 0
	case v.op == r:
		v.onLines(e, e.cursor, v.times()-1)
	case v.op != "" && (r == "j" || r == "k"):
		n := v.times()
		if r == "j" {
			v.onLines(e, e.cursor, n)
			return
		}
		from := e.cursor
		for range n {
			e.cursor = max(e.lineStart()-1, 0)
		}
		v.onLines(e, e.lineStart(), strings.Count(join(e.text[e.lineStart():from]), "\n"))
	default:
		if to, inclusive, ok := v.motion(e, r); ok {
			v.move(e, to, inclusive)
			return
		}
		if v.op != "" {
			v.reset()
			return
		}
		v.simple(e, r)
	}
}

// times returns the count of the command; those of an operator and its motion are multiplied.
func (v *vi) times() int { return min(max(v.count, 1)*max(v.opN, 1), 9999) }

// character handles the character for which r, f, t and g wait.
func (v *vi) character(e *Editor, c string) {
	wait := v.wait
	v.wait = ""
	switch wait {
	case "r":
		n := v.times()
		if cells := split(clean(c)); v.op == "" && len(cells) > 0 && e.cursor+n <= e.lineEnd() {
			at := e.cursor
			e.replace(at, at+n, slices.Repeat(cells[:1], n))
			e.cursor = at + n - 1
		}
		v.changed(e)
	case "g":
		if c == "g" {
			v.move(e, 0, false)
			return
		}
		v.reset()
	default:
		v.find, v.target = wait, c
		if to, ok := v.found(e, wait, c, false); ok {
			v.move(e, to, wait == "f" || wait == "t")
			return
		}
		v.reset()
	}
}

// move moves the cursor, or lets the operator have the text between it and the place.
func (v *vi) move(e *Editor, to int, inclusive bool) {
	if v.op == "" {
		e.cursor = to
		v.reset()
		v.clamp(e)
		return
	}
	from := e.cursor
	last := v.keys[len(v.keys)-1].Text
	switch {
	case last == "w" && v.op == "c" && from < len(e.text) && !e.text[from].isSpace(): // cw is ce
		to, inclusive = from-1, true
		for range v.times() {
			to = e.endOfWord(to)
		}
	case last == "w" && slices.ContainsFunc(e.text[from:to], cell.isNewline): // the last word of a line
		for i := to; i > from; i-- {
			if e.text[i-1].isNewline() && len(strings.TrimSpace(join(e.text[i:to]))) == 0 {
				to = i - 1
			}
		}
	}
	if inclusive && to < len(e.text) {
		to++
	}
	v.operate(e, min(from, to), max(from, to), false)
}

// onLines lets the operator have whole lines: that of a place and n more.
func (v *vi) onLines(e *Editor, at, n int) {
	e.cursor = at
	start := e.lineStart()
	e.cursor = v.lineBelow(e, n)
	end := e.lineEnd()
	e.cursor = at
	v.operate(e, start, end, true)
}

// operate deletes, changes or copies a part of the text.
func (v *vi) operate(e *Editor, start, end int, lines bool) {
	op := v.op
	v.copy(e, start, end, lines)
	from := start
	if lines && op == "d" { // with a line break: the one after it, or that before the last line
		if end < len(e.text) {
			end++
		} else if start > 0 {
			start--
		}
	}
	switch op {
	case "y":
		if e.cursor = from; lines {
			e.cursor = min(e.cursor, end)
		}
		v.reset()
		v.clamp(e)
		return
	case "c":
		e.replace(start, end, nil)
		e.cursor = start
		v.insert(e)
		return
	}
	e.replace(start, end, nil)
	e.cursor = min(start, len(e.text))
	if lines {
		e.cursor = e.indent()
	}
	v.changed(e)
}

// copy puts a part of the text into the kill ring.
func (v *vi) copy(e *Editor, start, end int, lines bool) {
	if start == end && !lines {
		return
	}
	e.kills = append(e.kills, slices.Clone(e.text[start:end]))
	e.kills = e.kills[max(0, len(e.kills)-maxKills):]
	v.lines = lines
}

// insert begins the insert mode; the command ends with it.
func (v *vi) insert(*Editor) { v.normal, v.count, v.op, v.opN = false, 0, "", 0 }

// simple handles the commands that are neither motions nor operators.
func (v *vi) simple(e *Editor, r string) {
	n := v.times()
	switch r {
	case "i":
		v.insert(e)
	case "a":
		e.cursor = min(e.cursor+1, e.lineEnd())
		v.insert(e)
	case "I":
		e.cursor = e.indent()
		v.insert(e)
	case "A":
		e.cursor = e.lineEnd()
		v.insert(e)
	case "o":
		e.cursor = e.lineEnd()
		e.insert([]cell{newline})
		v.insert(e)
	case "O":
		at := e.lineStart()
		e.replace(at, at, []cell{newline})
		e.cursor = at
		v.insert(e)
	case "x", "s":
		v.op = map[string]string{"x": "d", "s": "c"}[r]
		v.operate(e, e.cursor, min(e.cursor+n, e.lineEnd()), false)
	case "X":
		v.op = "d"
		v.operate(e, max(e.cursor-n, e.lineStart()), e.cursor, false)
	case "D", "C":
		v.op = strings.ToLower(r)
		v.operate(e, e.cursor, e.lineEnd(), false)
	case "S", "Y":
		v.op = map[string]string{"S": "c", "Y": "y"}[r]
		v.onLines(e, e.cursor, n-1)
	case "p", "P":
		v.put(e, r == "p", n)
	case "u":
		v.reset()
		for range n {
			e.Undo()
		}
		v.clamp(e)
	case ".":
		v.repeat(e)
	default:
		v.reset()
	}
}

// put inserts what was deleted or copied last, after the cursor or before it.
func (v *vi) put(e *Editor, after bool, n int) {
	if len(e.kills) == 0 {
		v.reset()
		return
	}
	cells := slices.Repeat(e.kills[len(e.kills)-1], n)
	at := e.cursor
	switch {
	case v.lines && after:
		at = e.lineEnd()
		one := append([]cell{newline}, e.kills[len(e.kills)-1]...)
		e.replace(at, at, slices.Repeat(one, n))
		e.cursor = at + 1
	case v.lines:
		at = e.lineStart()
		one := append(slices.Clone(e.kills[len(e.kills)-1]), newline)
		e.replace(at, at, slices.Repeat(one, n))
		e.cursor = at
	default:
		if after {
			at = min(at+1, e.lineEnd())
		}
		e.replace(at, at, cells)
		e.cursor = max(at, e.cursor-1)
	}
	v.changed(e)
}

// repeat does the last change again.
func (v *vi) repeat(e *Editor) {
	keys := v.dot
	v.reset()
	start := len(e.undo)
	for _, k := range keys {
		if c, ok := v.press(e, k); ok && c.do != nil {
			e.chain = false
			c.do(e)
			e.last = c.kind
		}
	}
	v.dot, v.start = keys, start
	for i := start + 1; i < len(e.undo); i++ {
		e.undo[i].chain = true
	}
}
