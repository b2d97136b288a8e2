package edit

import "slices"

// found returns where f, F, t or T goes. If t and T are done again, they skip the character that they
// stand before.
func (v *vi) found(e *Editor, how, c string, again bool) (int, bool) {
	step, at := 1, e.cursor
	if how == "F" || how == "T" {
		step = -1
	}
	if next := at + step; again && (how == "t" || how == "T") && next >= 0 && next < len(e.text) && e.text[next].text == c {
		at = next
	}
	for n := v.times(); n > 0; n-- {
		for at += step; ; at += step {
			if at < 0 || at >= len(e.text) || e.text[at].isNewline() {
				return 0, false
			}
			if e.text[at].text == c && !e.text[at].paste {
				break
			}
		}
	}
	switch how {
	case "t":
		at--
	case "T":
		at++
	}
	return at, true
}

// motion returns where a motion goes, and whether an operator takes the character there too.
func (v *vi) motion(e *Editor, r string) (to int, inclusive, ok bool) {
	to = e.cursor
	n := v.times()
	switch r {
	case "h":
		return max(to-n, e.lineStart()), false, true
	case "l", " ":
		return min(to+n, e.lineEnd()), false, true
	case "0":
		return e.lineStart(), false, true
	case "^":
		return e.indent(), false, true
	case "$":
		e.cursor = v.lineBelow(e, n-1)
		end := e.lineEnd()
		e.cursor = to
		return end, false, true
	case "w":
		for range n {
			to = e.nextWord(to)
		}
		return to, false, true
	case "e":
		for range n {
			to = e.endOfWord(to)
		}
		return to, true, true
	case "b":
		for range n {
			to = e.previousWord(to)
		}
		return to, false, true
	case "G":
		return len(e.text), false, true
	case ";":
		if v.find != "" {
			at, found := v.found(e, v.find, v.target, true)
			return at, v.find == "f" || v.find == "t", found
		}
	}
	return 0, false, false
}

// lineBelow returns a place in the line that is n lines below the cursor, or in the last line.
func (v *vi) lineBelow(e *Editor, n int) int {
	at := e.cursor
	for ; n > 0; n-- {
		next := slices.IndexFunc(e.text[at:], cell.isNewline)
		if next < 0 {
			break
		}
		at += next + 1
	}
	return at
}

// indent returns the first character of the line that is no space.
func (e *Editor) indent() int {
	i := e.lineStart()
	for i < len(e.text) && e.text[i].isSpace() && !e.text[i].isNewline() {
		i++
	}
	return i
}

// class says what a word of vi consists of: characters of words, or other characters.
func (c cell) class() int {
	switch {
	case c.isSpace():
		return 0
	case c.paste:
		return 3
	case c.isWord():
		return 1
	}
	return 2
}

// nextWord returns where the next word begins. An empty line is a word.
func (e *Editor) nextWord(i int) int {
	if i < len(e.text) {
		for c := e.text[i].class(); c > 0 && i < len(e.text) && e.text[i].class() == c; {
			if i++; c == 3 {
				break
			}
		}
	}
	for i < len(e.text) && e.text[i].class() == 0 {
		if i++; i < len(e.text) && e.text[i].isNewline() && e.text[i-1].isNewline() {
			break
		}
	}
	return i
}

// endOfWord returns the last character of the word after a place.
func (e *Editor) endOfWord(i int) int {
	for i++; i < len(e.text) && e.text[i].class() == 0; {
		i++
	}
	for i+1 < len(e.text) && e.text[i].class() != 3 && e.text[i+1].class() == e.text[i].class() {
		i++
	}
	return max(min(i, len(e.text)-1), 0)
}

// previousWord returns where the word before a place begins.
func (e *Editor) previousWord(i int) int {
	for i--; i > 0 && e.text[i].class() == 0; {
		i--
	}
	for i > 0 && e.text[i].class() != 3 && e.text[i-1].class() == e.text[i].class() {
		i--
	}
	return max(i, 0)
}
