package secret

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// marker is the start of a placeholder for a secret.
const marker = "[secret:"

// These limit how many bytes of text around a word are searched with an expression. More is
// searched if a match reaches the edge.
const (
	contextBefore = 256
	contextAfter  = 1024
	minContext    = 512 // a later word is skipped if at least this many bytes after it were already searched
)

// rounds is the maximum number of times a text is masked: after a secret was replaced, the
// rest may look like another one.
const rounds = 8

// span is a secret in a text.
type span struct{ start, end, pattern int }

func (m *Masker) text(s string) (string, []string) {
	var found []string
	s = m.maskEach(s, func(_ string, pattern int) { found = append(found, m.patterns[pattern].ID) })
	return s, found
}

// maskEach masks a text and reports every secret.
func (m *Masker) maskEach(s string, report func(secret string, pattern int)) string {
	for range rounds {
		spans := m.spans(s)
		if len(spans) == 0 {
			break
		}
		var b strings.Builder
		b.Grow(len(s))
		at := 0
		for _, sp := range spans {
			b.WriteString(s[at:sp.start])
			b.WriteString(m.patterns[sp.pattern].Replacement)
			at = sp.end
			report(s[sp.start:sp.end], sp.pattern)
		}
		b.WriteString(s[at:])
		s = b.String()
	}
	return s
}

// shows reports whether a text contains a placeholder.
func (m *Masker) shows(s string) bool {
	return slices.ContainsFunc(m.patterns, func(p pattern) bool { return strings.Contains(s, p.Replacement) })
}

// spans finds the secrets in a text, in order and without overlaps.
func (m *Masker) spans(s string) []span {
	var (
		state    uint32
		spans    []span
		searched []int // for each pattern, where the searched text ends
	)
	for at := 0; ; {
		ends, end := find(m.words, s, at, &state)
		if end > len(s) {
			break
		}
		at = end
		if searched == nil {
			searched = make([]int, len(m.patterns))
		}
		for _, w := range ends {
			if end+minContext > searched[w.pattern] {
				spans, searched[w.pattern] = m.searchAround(s, w, end, max(searched[w.pattern]-minContext, 0), spans)
			}
		}
	}
	for _, p := range m.unkeyed {
		spans, _ = m.search(s, p, 0, len(s), spans)
	}
	return distinct(spans)
}

// searchAround searches the text on both sides of a word that ends at end. It returns the position
// up to which it searched.
func (m *Masker) searchAround(s string, w word, end, from int, spans []span) ([]span, int) {
	p := &m.patterns[w.pattern]
	from = max(from, end-len(w.text)-contextBefore)
	if p.Starts {
		from = end - len(w.text)
		if p.WordStart && from > 0 && alnum(s[from-1]) {
			return spans, 0
		}
	}
	for reach := contextAfter; ; reach *= 4 {
		to := min(end+reach, len(s))
		if to+minContext > len(s) {
			to = len(s)
		}
		more, edge := m.search(s, w.pattern, from, to, spans)
		switch {
		case edge && to < len(s):
			continue
		case p.Starts && len(more) == len(spans):
			return more, 0
		case p.Starts: // no other match starts within the match just found
			return more, more[len(more)-1].end + minContext
		case to == len(s):
			return more, len(s) + minContext
		}
		return more, to
	}
}

func alnum(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// search appends the matches of an expression in s[from:to] to spans. edge reports whether a match
// ends at to.
func (m *Masker) search(s string, pattern, from, to int, spans []span) (_ []span, edge bool) {
	p := &m.patterns[pattern]
	for _, loc := range p.expr().FindAllStringSubmatchIndex(s[from:to], -1) {
		edge = edge || from+loc[1] == to
		start, end := loc[0], loc[1]
		for g := 2; g+1 < len(loc); g += 2 {
			if loc[g] >= 0 {
				start, end = loc[g], loc[g+1]
				break
			}
		}
		sp := span{from + start, from + end, pattern}
		if start < end && p.matches(s[sp.start:sp.end]) && !masked(s, sp) {
			spans = append(spans, sp)
		}
	}
	return spans, edge
}

// masked reports whether a span overlaps a placeholder.
func masked(s string, sp span) bool {
	if strings.Contains(s[sp.start:sp.end], marker) {
		return true
	}
	i := strings.LastIndex(s[max(0, sp.start-80):sp.start], marker)
	return i >= 0 && !strings.Contains(s[max(0, sp.start-80)+i:sp.start], "]")
}

// distinct sorts spans and merges overlapping ones. The merged span has the pattern of the span
// that starts first. If several spans start at the same place, the pattern with the lowest index is
// used.
func distinct(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pattern, b.pattern))
	})
	out := spans[:0]
	for _, sp := range spans {
		if n := len(out); n > 0 && sp.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, sp.end)
			continue
		}
		out = append(out, sp)
	}
	return out
}

// matches reports whether a text looks like a secret of the pattern.
func (p *pattern) matches(s string) bool {
	return (!p.Digits || mixed(s)) && (p.Entropy == 0 || entropy(s) >= p.Entropy) && (!p.Literal || isLiteral(s))
}

// mixed reports whether a text contains both a digit and a letter.
func mixed(s string) bool {
	digit, letter := false, false
	for _, c := range []byte(s) {
		digit = digit || c >= '0' && c <= '9'
		letter = letter || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	return digit && letter
}

// entropy returns the entropy of a text in bits per character. It is computed from how often each
// character occurs in the text.
func entropy(s string) float64 {
	var count [256]int
	for _, c := range []byte(s) {
		count[c]++
	}
	h, n := 0.0, float64(len(s))
	for _, c := range count {
		if c > 0 {
			h -= float64(c) / n * math.Log2(float64(c)/n)
		}
	}
	return h
}
