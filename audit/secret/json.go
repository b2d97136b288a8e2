package secret

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func (m *Masker) json(raw json.RawMessage) (json.RawMessage, []string) {
	words := len(m.unkeyed) > 0 || has(m.words, raw)
	if !words && bytes.IndexByte(raw, '\\') < 0 {
		return raw, nil
	}
	if words && !json.Valid(raw) {
		s, found := m.text(string(raw))
		if len(found) == 0 {
			return raw, nil
		}
		return json.RawMessage(s), found
	}
	was := raw
	var found []string
	for range rounds {
		w := walker{m: m, raw: raw}
		w.walk()
		if len(w.found) == 0 {
			break
		}
		raw = append(w.out, raw[w.done:]...)
		found = append(found, w.found...)
	}
	if len(found) > 0 && !words && !json.Valid(was) {
		return was, nil
	}
	return raw, found
}

// walker visits the strings of JSON text. On invalid JSON its result has no meaning, but it
// terminates.
type walker struct {
	m     *Masker
	raw   []byte
	out   []byte // masked copy of raw[:done]
	done  int
	found []string
	plain []byte // the current string, with its escapes removed
}

func (w *walker) walk() {
	key := "" // the name of the field whose value follows
	for i := 0; i < len(w.raw); {
		switch w.raw[i] {
		case '"':
			end := closing(w.raw, i+1)
			next := end + 1
			for next < len(w.raw) && strings.IndexByte(" \t\r\n", w.raw[next]) >= 0 {
				next++
			}
			if next < len(w.raw) && w.raw[next] == ':' {
				key = w.name(i+1, end)
				i = next + 1
				continue
			}
			w.value(key, i+1, end)
			key, i = "", end+1
		case ',', '{', '[':
			key = ""
			i++
		default:
			i++
		}
	}
}

// closing returns the index of the quote that ends a string. The content of the string starts at i.
// Without such a quote, it returns the end of b.
func closing(b []byte, i int) int {
	for i < len(b) && b[i] != '"' {
		if b[i] == '\\' {
			i++
		}
		i++
	}
	return min(i, len(b))
}

// name returns the name of a field if the name may show that the value is secret.
func (w *walker) name(start, end int) string {
	if b := w.raw[start:end]; end-start > 100 || !has(w.m.words, b) {
		return ""
	}
	w.decode(start, end)
	return string(w.plain)
}

// value masks one string. Everything except the secrets keeps its bytes.
func (w *walker) value(key string, start, end int) {
	text := w.raw[start:end]
	if bytes.IndexByte(text, '\\') >= 0 {
		w.decode(start, end)
		text = w.plain
	}
	var spans []span
	if len(w.m.unkeyed) > 0 || has(w.m.words, text) {
		spans = w.m.spans(string(text))
	}
	if len(spans) == 0 && key != "" {
		named := w.m.spans(key + `: "` + string(text) + `"`)
		before := len(key) + len(`: "`)
		for _, sp := range named {
			sp.start, sp.end = max(sp.start-before, 0), min(sp.end-before, len(text))
			if sp.start < sp.end {
				spans = append(spans, sp)
			}
		}
	}
	at := position{raw: start}
	for _, sp := range spans {
		at = w.advance(at, sp.start)
		from := at.raw
		at = w.advance(at, sp.end)
		w.replace(from, at.raw, sp.pattern)
	}
}

// position is an offset in a string, counted both with escapes and without them.
type position struct{ raw, plain int }

// advance advances p to the escaped source of a byte of the string without escapes.
func (w *walker) advance(p position, plain int) position {
	for p.plain < plain {
		if w.raw[p.raw] != '\\' {
			p.raw++
			p.plain++
			continue
		}
		r, next := escape(w.raw, p.raw)
		p.raw = next
		p.plain += len(string(r))
	}
	return p
}

// replace puts the placeholder of a pattern in place of raw[from:to].
func (w *walker) replace(from, to, pattern int) {
	p := &w.m.patterns[pattern]
	show, _ := json.Marshal(p.Replacement)
	w.out = append(w.out, w.raw[w.done:from]...)
	w.out = append(w.out, show[1:len(show)-1]...)
	w.done = to
	w.found = append(w.found, p.ID)
}

// decode removes the escapes of raw[start:end].
func (w *walker) decode(start, end int) {
	w.plain = slices.Grow(w.plain[:0], end-start)
	for i := start; i < end; {
		n := bytes.IndexByte(w.raw[i:end], '\\')
		if n < 0 {
			n = end - i
		}
		w.plain = append(w.plain, w.raw[i:i+n]...)
		if i += n; i < end {
			var r rune
			r, i = escape(w.raw, i)
			w.plain = utf8.AppendRune(w.plain, r)
		}
	}
}

// escape decodes the escape at raw[i] and returns the index after it.
func escape(raw []byte, i int) (rune, int) {
	if i+1 == len(raw) || raw[i+1] == 'u' && i+6 > len(raw) { // invalid JSON
		return utf8.RuneError, len(raw)
	}
	switch c := raw[i+1]; c {
	case 'n':
		return '\n', i + 2
	case 't':
		return '\t', i + 2
	case 'r':
		return '\r', i + 2
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'u':
		r := hex4(raw[i+2:])
		if utf16.IsSurrogate(r) && i+11 < len(raw) && raw[i+6] == '\\' && raw[i+7] == 'u' {
			if both := utf16.DecodeRune(r, hex4(raw[i+8:])); both != utf8.RuneError {
				return both, i + 12
			}
		}
		return r, i + 6
	default:
		return rune(c), i + 2
	}
}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c&^0x20 - 'A' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}
