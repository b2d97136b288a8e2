package pick

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/term"
)

// maxText is how many bytes of a text are searched.
const maxText = 1 << 10

// entry is what is searched of an item. Its text has the length of the item's text, so that
// positions are the same in both.
type entry struct {
	exact, folded string // folded is in lower case
	base          int    // where the last part of a path begins
	mask          uint64 // which characters the text has
}

func newEntry(text string) entry {
	if len(text) > maxText {
		text = text[:maxText]
	}
	e := entry{exact: text, folded: term.Fold(text)}
	e.base = 1 + strings.LastIndexByte(strings.TrimSuffix(text, "/"), '/')
	e.mask = maskOf(e.folded)
	return e
}

// maskOf returns a set of bytes in which two bytes can share a bit. A text whose set lacks a bit of
// the query does not match.
func maskOf(s string) (mask uint64) {
	for i := range len(s) {
		mask |= 1 << (s[i] & 63)
	}
	return mask
}

// A word is a part of the query without spaces. Its characters must occur in the text in this order.
type word struct {
	chars []string
	exact bool // it has an upper case letter, so that case matters
	mask  uint64
}

// words returns the words of a query.
func words(query string) (out []word) {
	for field := range strings.FieldsSeq(query) {
		w := word{exact: term.Fold(field) != field, mask: maskOf(term.Fold(field))}
		for _, r := range field {
			w.chars = append(w.chars, string(r))
		}
		out = append(out, w)
	}
	return out
}

// text returns the text of an entry in which the word is searched.
func (w *word) text(e *entry) string {
	if w.exact {
		return e.exact
	}
	return e.folded
}

// The points of a matched character.
const (
	startsBase = 14 // it starts the last part of a path, or the text
	startsPart = 9  // it starts another part of a path
	startsWord = 8
	inBase     = 1 // it is in the last part
	follows    = 9 // it follows the matched character before it; otherwise each byte between costs 1
)

// A hit is a place where a character of the word occurs, with the best score of the word up to it.
type hit struct {
	at, end, score int32
	from           int32 // index of the hit of the character before
}

// matcher finds the best match of a word. It keeps its memory.
type matcher struct {
	hits []hit
	best int32 // index of the last hit of the best match
}

// match returns the score of the best match, and whether there is one. It looks at all places of
// each character, and keeps for each the best way to get there.
func (m *matcher) match(e *entry, w *word) (score int, ok bool) {
	if w.mask&^e.mask != 0 {
		return 0, false
	}
	text := w.text(e)
	m.hits = m.hits[:0]
	before, from := 0, 0 // the first hit of the character before; where the next one can be
	for j, char := range w.chars {
		start, next, best := len(m.hits), before, -1
		for i := find(text, char, from); i >= 0; i = find(text, char, i+1) {
			h := hit{at: int32(i), end: int32(i + len(char)), score: e.points(i), from: -1}
			if j > 0 {
				for ; next < start && m.hits[next].end <= h.at; next++ {
					if b := &m.hits[next]; best < 0 || b.score+b.end >= m.hits[best].score+m.hits[best].end {
						best = next
					}
				}
				gain := m.hits[best].score + m.hits[best].end - h.at
				h.from = int32(best)
				if b := &m.hits[next-1]; b.end == h.at && b.score+follows >= gain {
					h.from, gain = int32(next-1), b.score+follows
				}
				h.score += gain
			}
			m.hits = append(m.hits, h)
		}
		if len(m.hits) == start {
			return 0, false
		}
		before, from = start, int(m.hits[start].end)
	}
	m.best = int32(before)
	for i := before; i < len(m.hits); i++ {
		if m.hits[i].score > m.hits[m.best].score {
			m.best = int32(i)
		}
	}
	return int(m.hits[m.best].score), true
}

// estimate returns the score of the match whose characters are as late in the text as possible, and
// whether there is a match. It takes a third of the time, and is often the best match, because the
// last part of a path counts most.
func (m *matcher) estimate(e *entry, w *word) (score int, ok bool) {
	if len(w.chars) == 1 || w.mask&^e.mask != 0 {
		return m.match(e, w)
	}
	text := w.text(e)
	at, last, total := len(text), len(w.chars)-1, int32(0)
	for j := last; j >= 0; j-- {
		char, next := w.chars[j], at
		if len(char) == 1 {
			c := char[0]
			for at--; at >= 0 && text[at] != c; at-- {
			}
		} else {
			at = strings.LastIndex(text[:at], char)
		}
		if at < 0 {
			return 0, false
		}
		total += e.points(at)
		switch gap := int32(next - at - len(char)); {
		case j == last:
		case gap == 0:
			total += follows
		default:
			total -= gap
		}
	}
	return int(total), true
}

// places returns the hits of the best match, the last one first.
func (m *matcher) places(e *entry, w *word) (out []hit) {
	if _, ok := m.match(e, w); !ok {
		return nil
	}
	for i := m.best; i >= 0; i = m.hits[i].from {
		out = append(out, m.hits[i])
	}
	return out
}

// points returns the points of a matched character for its place.
func (e *entry) points(at int) int32 {
	switch {
	case at == e.base:
		return startsBase
	case at == 0:
		return startsPart
	}
	p := starts[kinds[e.exact[at-1]]][kinds[e.exact[at]]]
	if at > e.base {
		p += inBase
	}
	return p
}

// The kinds of characters.
const (
	other = iota
	upper
	digit
	separator
	slash
)

var kinds = [256]uint8{
	'/': slash, ' ': separator, '-': separator, '_': separator, '.': separator, ':': separator, ',': separator, '(': separator,
	'0': digit, '1': digit, '2': digit, '3': digit, '4': digit, '5': digit, '6': digit, '7': digit, '8': digit, '9': digit,
	'A': upper, 'B': upper, 'C': upper, 'D': upper, 'E': upper, 'F': upper, 'G': upper, 'H': upper, 'I': upper, 'J': upper,
	'K': upper, 'L': upper, 'M': upper, 'N': upper, 'O': upper, 'P': upper, 'Q': upper, 'R': upper, 'S': upper, 'T': upper,
	'U': upper, 'V': upper, 'W': upper, 'X': upper, 'Y': upper, 'Z': upper,
}

// starts has the points of a character by the kind of the character before it and its own kind.
var starts = [5][5]int32{
	other:     {upper: startsWord - 1, digit: startsWord - 1},
	upper:     {digit: startsWord - 1},
	digit:     {upper: startsWord - 1},
	separator: {startsWord, startsWord, startsWord, startsWord, startsWord},
	slash:     {startsPart, startsPart, startsPart, startsPart, startsPart},
}

// find returns the index of a character in text, at from or later, or -1.
func find(text, char string, from int) int {
	if from >= len(text) {
		return -1
	}
	if len(char) == 1 { // most places are near, where a loop takes less time than IndexByte
		for ; from < len(text); from++ {
			if text[from] == char[0] {
				return from
			}
		}
		return -1
	}
	if i := strings.Index(text[from:], char); i >= 0 {
		return from + i
	}
	return -1
}
