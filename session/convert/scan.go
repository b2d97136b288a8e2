package convert

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
)

// maxDepth bounds how deep JSON may be nested.
const maxDepth = 1000

// check reports whether b is one JSON text, and whether it has no white space between
// its tokens.
func check(b []byte) (valid, compact bool) {
	c := checker{b: b, compact: true}
	c.space()
	if !c.value(0) {
		return false, false
	}
	c.space()
	return c.i == len(b), c.compact
}

type checker struct {
	b       []byte
	i       int
	compact bool
}

func (c *checker) space() {
	for c.i < len(c.b) && isSpace(c.b[c.i]) {
		c.compact = false
		c.i++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (c *checker) eat(want byte) bool {
	if c.i < len(c.b) && c.b[c.i] == want {
		c.i++
		return true
	}
	return false
}

func (c *checker) value(depth int) bool {
	if c.i >= len(c.b) || depth > maxDepth {
		return false
	}
	switch c.b[c.i] {
	case '{':
		return c.list('}', depth, true)
	case '[':
		return c.list(']', depth, false)
	case '"':
		return c.literal()
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	}
	return c.number()
}

// list checks an object or an array.
func (c *checker) list(end byte, depth int, named bool) bool {
	c.i++
	c.space()
	if c.eat(end) {
		return true
	}
	for {
		if named {
			if c.i >= len(c.b) || c.b[c.i] != '"' || !c.literal() {
				return false
			}
			c.space()
			if !c.eat(':') {
				return false
			}
			c.space()
		}
		if !c.value(depth + 1) {
			return false
		}
		c.space()
		if c.eat(end) {
			return true
		}
		if !c.eat(',') {
			return false
		}
		c.space()
	}
}

func (c *checker) word(w string) bool {
	if !bytes.HasPrefix(c.b[c.i:], []byte(w)) {
		return false
	}
	c.i += len(w)
	return true
}

func (c *checker) digits() bool {
	from := c.i
	for c.i < len(c.b) && c.b[c.i] >= '0' && c.b[c.i] <= '9' {
		c.i++
	}
	return c.i > from
}

func (c *checker) number() bool {
	c.eat('-')
	if !c.eat('0') && !c.digits() {
		return false
	}
	if c.eat('.') && !c.digits() {
		return false
	}
	if c.eat('e') || c.eat('E') {
		if !c.eat('+') {
			c.eat('-')
		}
		return c.digits()
	}
	return true
}

// literal checks the string that starts at c.i.
func (c *checker) literal() bool {
	b := c.b
	for i := c.i + 1; i < len(b); i++ {
		for i+8 <= len(b) && plain(binary.LittleEndian.Uint64(b[i:])) {
			i += 8
		}
		if i >= len(b) {
			return false
		}
		switch ch := b[i]; {
		case ch == '"':
			c.i = i + 1
			return true
		case ch < ' ':
			return false
		case ch != '\\':
			continue
		}
		if i++; i >= len(b) {
			return false
		}
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			for range 4 {
				if i++; i >= len(b) || !isHex(b[i]) {
					return false
				}
			}
		default:
			return false
		}
	}
	return false
}

// plain reports whether none of eight bytes is a quote, a backslash or below a space.
func plain(w uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, back := w^ones*'"', w^ones*'\\'
	return ((w-ones*' ')&^w|(quote-ones)&^quote|(back-ones)&^back)&high == 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// stringEnd returns the index after the string that starts at b[i], or -1.
func stringEnd(b []byte, i int) int {
	i++
	for near := min(i+24, len(b)); i < near; i++ { // most are short
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	if i > len(b) {
		return -1
	}
	for from := i; ; {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			return -1
		}
		j += i
		k := j
		for k > from && b[k-1] == '\\' {
			k--
		}
		i = j + 1
		if (j-k)%2 == 0 {
			return i
		}
	}
}

// valueEnd returns the index after the value that starts at b[i], or -1. It trusts
// that b was checked and does not fail on what was not.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
	default:
		for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && !isSpace(b[i]) {
			i++
		}
		return i
	}
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// members calls do with the members of an object, until it says no. Of what is cut off
// it gives the members that are whole. Keys are without quotes and escapes.
func members(b []byte, do func(key string, value []byte) bool) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] == '"'; {
		end := stringEnd(b, i)
		if end < 0 {
			return
		}
		key := b[i:end]
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return
		}
		i = skipSpace(b, i+1)
		if end = valueEnd(b, i); end < 0 || !do(keyOf(key), b[i:end]) {
			return
		}
		if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
}

// elements calls do with the elements of an array, until it says no.
func elements(b []byte, do func(value []byte) bool) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] != ']'; {
		end := valueEnd(b, i)
		if end <= i || !do(b[i:end]) {
			return
		}
		if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
}

func keyOf(lit []byte) string {
	if bytes.IndexByte(lit, '\\') < 0 {
		return string(lit[1 : len(lit)-1])
	}
	s, _ := str(lit)
	return s
}

// field returns a member's value, or nil. The last one of a name counts, as it does
// for the programs that wrote it.
func field(b []byte, name string) []byte {
	var found []byte
	members(b, func(key string, v []byte) bool {
		if key == name {
			found = v
		}
		return true
	})
	return found
}

// str reads a string literal; no is false for any other value.
func str(lit []byte) (s string, ok bool) {
	if len(lit) < 2 || lit[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(lit, '\\') < 0 {
		return string(lit[1 : len(lit)-1]), true
	}
	return s, json.Unmarshal(lit, &s) == nil
}

// text is str for who does not care why there is none.
func text(lit []byte) string {
	s, _ := str(lit)
	return s
}

func isString(v []byte) bool { return len(v) >= 2 && v[0] == '"' }
func isObject(v []byte) bool { return len(v) >= 2 && v[0] == '{' }
func isArray(v []byte) bool  { return len(v) >= 2 && v[0] == '[' }
func isTrue(v []byte) bool   { return string(v) == "true" }

// compacted is v without white space between its tokens.
func compacted(v []byte) []byte {
	if valid, compact := check(v); !valid || compact {
		return v
	}
	var b bytes.Buffer
	_ = json.Compact(&b, v) // it was checked
	return b.Bytes()
}
