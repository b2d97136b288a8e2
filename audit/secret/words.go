package secret

// word is a text, in lower case, that the secrets of a pattern contain.
type word struct {
	text    string
	pattern int
}

// words finds many words in one pass over a text, ignoring case: an Aho-Corasick automaton
// with all its transitions in one table.
type words struct {
	class [256]uint16 // the class of each byte; all bytes that occur in no word have class 0
	width int         // number of classes
	next  []uint32    // at state*width + class: the next state multiplied by width, with the hit bit if a word ends there
	ends  [][]word    // the words that end in each state
}

// hit marks a state in which a word ends.
const hit = 1 << 31

func newWords(list []word) *words {
	w, most := &words{width: 1}, 1 // the maximum number of states
	for _, word := range list {
		most += len(word.text)
		for _, c := range []byte(word.text) {
			if w.class[c] == 0 {
				w.class[c] = uint16(w.width)
				w.width++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		w.class[c-'a'+'A'] = w.class[c]
	}
	w.next, w.ends = make([]uint32, 0, most*w.width), make([][]word, 0, most)
	const none = ^uint32(0)
	grow := func() uint32 {
		for range w.width {
			w.next = append(w.next, none)
		}
		w.ends = append(w.ends, nil)
		return uint32(len(w.ends) - 1)
	}
	grow()
	for _, word := range list {
		at := uint32(0)
		for _, c := range []byte(word.text) {
			i := int(at)*w.width + int(w.class[c])
			if w.next[i] == none {
				s := grow()
				w.next[i] = s
			}
			at = w.next[i]
		}
		w.ends[at] = append(w.ends[at], word)
	}
	w.link(none)
	return w
}

// link sets the transitions for bytes that do not continue a word. It begins with the states near
// the root.
func (w *words) link(none uint32) {
	back := make([]uint32, len(w.ends))
	var queue []uint32
	for c := range w.width {
		if s := w.next[c]; s == none {
			w.next[c] = 0
		} else {
			queue = append(queue, s)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		w.ends[s] = append(w.ends[s], w.ends[back[s]]...)
		for c := range w.width {
			i, f := int(s)*w.width+c, int(back[s])*w.width+c
			if t := w.next[i]; t == none {
				w.next[i] = w.next[f]
			} else {
				back[t] = w.next[f]
				queue = append(queue, t)
			}
		}
	}
	for i, s := range w.next { // offsets of rows instead of their numbers, which saves a multiplication per byte
		row := s * uint32(w.width)
		if len(w.ends[s]) > 0 {
			row |= hit
		}
		w.next[i] = row
	}
}

// find searches from the index from. It returns the words that end at the first position where any
// word ends, and the index after that position; len(text)+1 if there is none. state is updated for
// the next call; it starts as 0.
func find[T ~string | ~[]byte](w *words, text T, from int, state *uint32) ([]word, int) {
	s, next := *state, w.next
	for i := from; i < len(text); i++ {
		s = next[s+uint32(w.class[text[i]])]
		if s&hit != 0 {
			s &^= hit
			*state = s
			return w.ends[int(s)/w.width], i + 1
		}
	}
	return nil, len(text) + 1
}

// has reports whether a text contains any of the words.
func has[T ~string | ~[]byte](w *words, text T) bool {
	var s uint32
	_, end := find(w, text, 0, &s)
	return end <= len(text)
}
