package edit

import "slices"

func (e *Editor) lineStart() int {
	i := e.cursor
	for i > 0 && !e.text[i-1].isNewline() {
		i--
	}
	return i
}

func (e *Editor) lineEnd() int {
	i := e.cursor
	for i < len(e.text) && !e.text[i].isNewline() {
		i++
	}
	return i
}

// wordStart returns where the word before the cursor begins.
func (e *Editor) wordStart() int {
	i := e.cursor
	for i > 0 && !e.text[i-1].isWord() {
		i--
	}
	for i > 0 && e.text[i-1].isWord() {
		if i--; e.text[i].paste || i > 0 && e.text[i-1].paste {
			break
		}
	}
	return i
}

// wordEnd returns where the word after the cursor ends.
func (e *Editor) wordEnd() int {
	i := e.cursor
	for i < len(e.text) && !e.text[i].isWord() {
		i++
	}
	for i < len(e.text) && e.text[i].isWord() {
		if i++; e.text[i-1].paste || i < len(e.text) && e.text[i].paste {
			break
		}
	}
	return i
}

// blankStart returns where the run of characters that are not spaces before the cursor begins.
func (e *Editor) blankStart() int {
	i := e.cursor
	for i > 0 && e.text[i-1].isSpace() {
		i--
	}
	for i > 0 && !e.text[i-1].isSpace() {
		i--
	}
	return i
}

// maxKills is the size of the kill ring.
const maxKills = 10

// kill removes the text between the cursor and an index and puts it in the kill ring. Kills one
// after the other form one entry.
func (e *Editor) kill(to int) {
	start, end := min(e.cursor, to), max(e.cursor, to)
	if start == end {
		return
	}
	killed := slices.Clone(e.text[start:end])
	switch n := len(e.kills) - 1; {
	case e.last != kills || n < 0:
		if e.kills = append(e.kills, killed); len(e.kills) > maxKills {
			e.kills = slices.Delete(e.kills, 0, 1)
		}
	case to < e.cursor:
		e.kills[n] = append(killed, e.kills[n]...)
	default:
		e.kills[n] = append(e.kills[n], killed...)
	}
	e.replace(start, end, nil)
}

// killLineEnd kills to the end of the line, or the line break if the cursor is there.
func (e *Editor) killLineEnd() {
	to := e.lineEnd()
	if to == e.cursor && to < len(e.text) {
		to++
	}
	e.kill(to)
}

// killLineStart kills to the start of the line, or the line break if the cursor is there.
func (e *Editor) killLineStart() {
	to := e.lineStart()
	if to == e.cursor && to > 0 {
		to--
	}
	e.kill(to)
}

// yankLast inserts the newest entry of the kill ring.
func (e *Editor) yankLast() {
	if len(e.kills) > 0 {
		e.yank.index = len(e.kills) - 1
		e.yankAt(e.cursor)
	}
}

// yankOlder follows a yank. It replaces the yanked text by the entry before it in the ring.
func (e *Editor) yankOlder() {
	if len(e.kills) > 0 {
		e.yank.index = (e.yank.index + len(e.kills) - 1) % len(e.kills)
		e.yankAt(min(e.yank.start, e.cursor))
	}
}

func (e *Editor) yankAt(start int) {
	e.replace(start, e.cursor, e.kills[e.yank.index])
	e.yank.start = start
}

// transpose swaps the characters around the cursor, or the last two at the end of a line.
func (e *Editor) transpose() {
	at := e.cursor
	if at == e.lineEnd() {
		at--
	}
	if at-1 < e.lineStart() {
		return
	}
	e.replace(at-1, at+1, []cell{e.text[at], e.text[at-1]})
}

// remove deletes the cells between the cursor and an index.
func (e *Editor) remove(to int) {
	to = min(max(to, 0), len(e.text))
	e.replace(min(e.cursor, to), max(e.cursor, to), nil)
}
