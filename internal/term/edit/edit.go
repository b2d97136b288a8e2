// Package edit is the input box of the conversation, without a terminal: it receives keys and
// returns rows of text and the position of the cursor. It reads no keys, draws nothing and knows no
// colors.
//
//	keys, pastes ──▶ Editor ──▶ View: rows and cursor
//	                  │  ▲
//	             Take ▼  │ Up, Down, Ctrl-R
//	                 History ◀──▶ a file, shared with other programs
//
// The shortest use:
//
//	e := edit.New(&edit.Options{History: h, Placeholder: "Ask anything"})
//	switch e.Press(key) {
//	case edit.Submit:
//		send(e.Take().Text)
//	case edit.Ignored:
//		// the key is for the program
//	}
//	rows, row, col := e.View(80)
//
// What it shows is safe for a terminal: control characters of pasted text are escaped.
package edit

import "slices"

// Options configures an [Editor].
type Options struct {
	History     *History // nil for an editor without a history
	Placeholder string   // shown while the editor is empty
}

// Editor is a text of several lines with a cursor. It is not safe for concurrent use.
type Editor struct {
	placeholder []cell
	keymap      func(*Editor, Key) (command, bool)
	vi          *vi // the state of that keymap, or nil

	text   []cell
	cursor int // index in text, from 0 to len(text)
	goal   int // the column to which up and down return, or -1
	width  int // of the last View

	undo  []change
	redo  []change // that were undone, the newest last
	chain bool     // the next change belongs to the last undo step

	kills [][]cell // the kill ring, newest last
	last  kind     // of the last command
	yank  struct{ start, index int }

	history *History
	back    int   // which entry is shown, counted from the newest; 0 for a new text
	draft   Entry // the new text, while an entry is shown
	search  *search
}

// New returns an empty editor.
func New(o *Options) *Editor {
	e := &Editor{keymap: readline, goal: -1, width: 80}
	if o != nil {
		e.history, e.placeholder = o.History, split(clean(o.Placeholder))
	}
	return e
}

// Text returns the whole text, with the content of pasted blocks.
func (e *Editor) Text() string { return join(e.text) }

// Empty reports whether the text is empty, so that View shows the placeholder.
func (e *Editor) Empty() bool { return len(e.text) == 0 && e.search == nil }

// Take returns the text with the places of its pasted blocks, and empties the editor. The kill ring
// stays.
func (e *Editor) Take() Entry {
	taken := newEntry(e.text)
	e.text, e.cursor, e.goal = nil, 0, -1
	e.undo, e.redo, e.chain, e.last = nil, nil, false, other
	e.back, e.draft, e.search = 0, Entry{}, nil
	if e.vi != nil {
		e.vi.begin()
	}
	return taken
}

// Set replaces the text, as one step of undo, and moves the cursor to its end. It is for text that
// comes back, such as a queued message that the user edits or the result of $EDITOR.
func (e *Editor) Set(entry Entry) {
	e.endStep()
	e.replace(0, len(e.text), entry.cells())
	e.cursor = len(e.text)
	if e.vi != nil {
		e.vi.clamp(e)
	}
}

// Clear empties the editor as one step of undo, so that the user can bring the text back.
func (e *Editor) Clear() {
	e.Set(Entry{})
	e.back, e.draft = 0, Entry{}
	if e.vi != nil {
		e.vi.begin()
		e.vi.start = len(e.undo)
	}
}

// Paste inserts pasted text at the cursor. More than 3 lines or 400 characters become a block: it
// is shown as "[pasted 42 lines]", it is deleted as a whole, and Text contains its content.
func (e *Editor) Paste(text string) {
	text = clean(text)
	if e.search != nil {
		e.searchFor(e.search.query + firstLine(text))
		return
	}
	e.endStep()
	e.insert(pasted(text))
	e.endStep()
}

// Searching reports whether the user searches in the history. Then all keys are for the editor first.
func (e *Editor) Searching() bool { return e.search != nil }

// Word returns the text between the last space or block before the cursor and the cursor, and the
// start of it for [Editor.Replace]. It is what a completion completes, such as @file or /command.
func (e *Editor) Word() (word string, start int) {
	for start = e.cursor; start > 0 && !e.text[start-1].isSpace() && !e.text[start-1].paste; {
		start--
	}
	return join(e.text[start:e.cursor]), start
}

// Block replaces the text between start and the cursor by a block that shows its whole text, such as
// the label of an image. A start of -1 is the cursor.
func (e *Editor) Block(start int, text string) {
	if start < 0 {
		start = e.cursor
	}
	e.endStep()
	e.replace(min(start, e.cursor), e.cursor, []cell{label(text)})
	e.endStep()
}

// Replace replaces the text between start, which [Editor.Word] returned, and the cursor.
func (e *Editor) Replace(start int, text string) {
	e.endStep()
	e.replace(min(max(start, 0), e.cursor), e.cursor, split(clean(text)))
	e.endStep()
}

// endStep ends the current step of undo and the current sequence of kills or vertical motions.
func (e *Editor) endStep() { e.chain, e.last, e.goal = false, other, -1 }

func (e *Editor) insert(cells []cell) { e.replace(e.cursor, e.cursor, cells) }

// replace is the only function that changes the text. It moves the cursor to the end of the new
// cells. Characters that are new neighbors can form one cluster, such as a letter and a mark, so
// the text around the new cells is divided into clusters again. Before them, one cell is enough,
// because whether a cluster ends depends only on the cluster and the next character. After them, a
// joiner or a virama can join two cells, and half a flag changes all flags that follow it.
func (e *Editor) replace(start, end int, cells []cell) {
	from, to := max(start-1, 0), min(end+3, len(e.text))
	for to < len(e.text) && to > 0 && e.text[to-1].isFlag() {
		to++
	}
	before := slices.Concat(e.text[from:start], cells)
	fresh := segment(slices.Concat(before, e.text[end:to]))
	offset, cursor := size(before), 0
	for at := 0; at < offset; cursor++ { // a cursor in a new cluster moves behind it
		at += len(fresh[cursor].text)
	}
	e.apply(from, e.text[from:to], fresh, from+cursor)
}

// segment divides the text between blocks into clusters.
func segment(cells []cell) (out []cell) {
	for len(cells) > 0 {
		n := slices.IndexFunc(cells, func(c cell) bool { return c.paste })
		if n == 0 {
			out, cells = append(out, cells[0]), cells[1:]
			continue
		}
		if n < 0 {
			n = len(cells)
		}
		out, cells = append(out, split(join(cells[:n]))...), cells[n:]
	}
	return out
}

// A change is the difference between two states of the text.
type change struct {
	at     int
	old    []cell // what the change removed
	fresh  []cell // what it added
	before int    // the cursor before the change
	after  int    // and after it
	chain  bool   // it is undone together with the change before it
}

// apply replaces the cells old at an index, and notes only what differs.
func (e *Editor) apply(at int, old, fresh []cell, cursor int) {
	n := 0
	for n < min(len(old), len(fresh)) && old[n] == fresh[n] {
		n++
	}
	at, old, fresh = at+n, old[n:], fresh[n:]
	for n = 0; n < min(len(old), len(fresh)) && old[len(old)-1-n] == fresh[len(fresh)-1-n]; {
		n++
	}
	old, fresh = old[:len(old)-n], fresh[:len(fresh)-n]
	if len(old)+len(fresh) > 0 {
		c := change{at: at, old: slices.Clone(old), fresh: slices.Clone(fresh), before: e.cursor, after: cursor, chain: e.chain && len(e.undo) > 0}
		e.undo, e.redo = append(e.undo, c), nil
		e.text = slices.Replace(e.text, at, at+len(old), fresh...)
	}
	e.cursor = cursor
}

// Undo undoes the last step: a typed word, a paste or one command.
func (e *Editor) Undo() {
	for again := true; again && len(e.undo) > 0; {
		c := e.undo[len(e.undo)-1]
		e.undo, e.redo = e.undo[:len(e.undo)-1], append(e.redo, c)
		e.text = slices.Replace(e.text, c.at, c.at+len(c.fresh), c.old...)
		e.cursor, again = c.before, c.chain
	}
	e.endStep()
}

// Redo does again the step that was undone last. A change ends what can be done again.
func (e *Editor) Redo() {
	for again := true; again && len(e.redo) > 0; {
		c := e.redo[len(e.redo)-1]
		e.undo, e.redo = append(e.undo, c), e.redo[:len(e.redo)-1]
		e.text = slices.Replace(e.text, c.at, c.at+len(c.old), c.fresh...)
		e.cursor, again = c.after, len(e.redo) > 0 && e.redo[len(e.redo)-1].chain
	}
	e.endStep()
}
