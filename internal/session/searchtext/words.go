package searchtext

import (
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast/session"
)

// Words is a search: all terms must be in one text.
type Words []Term

// Term is a word or a phrase. Tokens has its words in lower case and without accents.
type Term struct {
	Tokens []string
	Prefix bool // the last token is a prefix
}

// ParseWords parses user input: words, "phrases" in quotes, and prefixes that end in *. No other
// character has a meaning. A word with a separator in it, such as a.b, is a phrase. It returns
// ErrInvalid if the input contains no word.
func ParseWords(typed string) (Words, error) {
	var out Words
	for i, part := range strings.Split(typed, `"`) {
		if i%2 == 1 { // between quotes; the last quote may be missing
			out = out.add(part)
			continue
		}
		for _, word := range strings.FieldsFunc(part, unicode.IsSpace) {
			out = out.add(word)
		}
	}
	if len(out) == 0 {
		return nil, &session.Error{
			Op: "search", Err: session.ErrInvalid, Detail: "no search words",
			Hint: "enter at least one word with a letter or a digit",
		}
	}
	return out, nil
}

func (w Words) add(part string) Words {
	t := Term{Prefix: strings.HasSuffix(strings.TrimSpace(part), "*")}
	for tok := range Tokens(part) {
		t.Tokens = append(t.Tokens, string(tok.Word))
	}
	if len(t.Tokens) == 0 {
		return w
	}
	return append(w, t)
}

// maxMarks is the maximum number of positions that Find returns.
const maxMarks = 256

// Find reports whether all the terms are in a text, and their positions in bytes and in order:
// [from, to). It returns only the first of many positions.
func (w Words) Find(text string) (marks [][2]int, found bool) {
	longest, missing := 1, len(w)
	for _, t := range w {
		longest = max(longest, len(t.Tokens))
	}
	seen := make([]bool, len(w))
	last := make([]kept, 0, longest) // the current word and the ones before it
	for tok := range Tokens(text) {
		last = appendMax(last, longest, tok)
		for i, t := range w {
			if seen[i] && len(marks) >= maxMarks || !t.isLast(last) {
				continue
			}
			if !seen[i] {
				seen[i], missing = true, missing-1
			}
			marks = append(marks, [2]int{last[len(last)-len(t.Tokens)].from, tok.To})
		}
		if missing == 0 && len(marks) >= maxMarks {
			break
		}
	}
	return joined(marks), missing == 0 && len(w) > 0
}

type kept struct {
	word []byte
	from int
}

// appendMax appends a token to the last ones, of which at most n are kept.
func appendMax(last []kept, n int, t Token) []kept {
	if len(last) < n {
		last = append(last, kept{})
	} else {
		first := last[0]
		copy(last, last[1:])
		last[n-1] = first
	}
	k := &last[len(last)-1]
	k.word, k.from = append(k.word[:0], t.Word...), t.From
	return last
}

// isLast reports whether the last words are the words of the term.
func (t *Term) isLast(last []kept) bool {
	n := len(t.Tokens)
	if len(last) < n {
		return false
	}
	for i, k := range last[len(last)-n:] {
		if t.Prefix && i == n-1 && strings.HasPrefix(string(k.word), t.Tokens[i]) {
			continue
		}
		if string(k.word) != t.Tokens[i] {
			return false
		}
	}
	return true
}

// joined sorts marks and merges overlapping ones.
func joined(marks [][2]int) [][2]int {
	slices.SortFunc(marks, func(a, b [2]int) int { return a[0] - b[0] })
	out := marks[:0]
	for _, m := range marks {
		if n := len(out); n > 0 && m[0] < out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], m[1])
			continue
		}
		out = append(out, m)
	}
	return out
}
