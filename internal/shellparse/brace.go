package shellparse

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraces is the maximum number of words that the braces of one word may produce.
const maxBraces = 1024

// expandBraces expands {a,b} and {1..3} in a word. It returns false if the result would be too large.
func expandBraces(w *syntax.Word) ([][]syntax.WordPart, bool) {
	split := *w // the caller's word must not change
	if !syntax.SplitBraces(&split) {
		return [][]syntax.WordPart{w.Parts}, true
	}
	if countBraces(split.Parts) > maxBraces {
		return nil, false
	}
	return expandParts(split.Parts), true
}

// mayHaveBraces reports whether the parts may contain braces that are expanded.
func mayHaveBraces(parts []syntax.WordPart) bool {
	for _, p := range parts {
		if l, ok := p.(*syntax.Lit); ok && strings.IndexByte(l.Value, '{') >= 0 {
			return true
		}
	}
	return false
}

// countBraces returns the number of words that the parts produce, or any number above maxBraces if
// there are more.
func countBraces(parts []syntax.WordPart) int {
	n := 1
	for _, p := range parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		here := 0
		if b.Sequence {
			from, to, step, _ := sequence(b)
			const far = 1 << 40
			if here = maxBraces + 1; max(from, to) < far && min(from, to) > -far {
				here = (max(from, to)-min(from, to))/step + 1
			}
		} else {
			for _, e := range b.Elems {
				here = min(here+countBraces(e.Parts), maxBraces+1)
			}
		}
		n = min(n*min(here, maxBraces+1), maxBraces+1)
	}
	return n
}

// expandParts produces every combination of values; the values of the last braces change fastest.
func expandParts(parts []syntax.WordPart) [][]syntax.WordPart {
	out := [][]syntax.WordPart{nil}
	for _, p := range parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			for i := range out {
				out[i] = append(out[i], p)
			}
			continue
		}
		var ends [][]syntax.WordPart
		if b.Sequence {
			for _, text := range sequenceValues(b) {
				ends = append(ends, []syntax.WordPart{&syntax.SglQuoted{Value: text}})
			}
		} else {
			for _, e := range b.Elems {
				ends = append(ends, expandParts(e.Parts)...)
			}
		}
		next := make([][]syntax.WordPart, 0, len(out)*len(ends))
		for _, start := range out {
			for _, end := range ends {
				next = append(next, append(slices.Clip(start), end...))
			}
		}
		out = next
	}
	return out
}

// sequence parses {from..to..step}.
func sequence(b *syntax.BraceExp) (from, to, step int, letters bool) {
	bound := func(i int) int {
		text := (&syntax.Word{Parts: b.Elems[i].Parts}).Lit()
		n, err := strconv.Atoi(text)
		if err != nil && len(text) > 0 {
			letters = true
			return int(text[0])
		}
		return n
	}
	from, to, step = bound(0), bound(1), 1
	if len(b.Elems) > 2 {
		n, _ := strconv.Atoi(b.Elems[2].Lit())
		if n < 0 {
			n = -n
		}
		step = max(n, 1)
	}
	return from, to, step, letters
}

func sequenceValues(b *syntax.BraceExp) []string {
	from, to, step, letters := sequence(b)
	width := 0
	if !letters {
		for _, e := range b.Elems[:2] {
			text := e.Lit()
			digits := strings.TrimLeft(text, "+-")
			if len(digits) > 1 && digits[0] == '0' {
				width = max(width, len(text))
			}
		}
	}
	var out []string
	add := func(n int) {
		if letters {
			out = append(out, string(rune(n)))
			return
		}
		text := strconv.Itoa(n)
		if pad := width - len(text); pad > 0 {
			sign := ""
			if n < 0 {
				sign, text = "-", text[1:]
			}
			text = sign + strings.Repeat("0", pad) + text
		}
		out = append(out, text)
	}
	if from <= to {
		for n := from; n <= to && len(out) <= maxBraces; n += step {
			add(n)
		}
	} else {
		for n := from; n >= to && len(out) <= maxBraces; n -= step {
			add(n)
		}
	}
	return out
}
