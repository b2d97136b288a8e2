// Package jsonscan checks whether bytes are valid JSON and finds where values end, several
// times faster than encoding/json decodes them.
//
//	valid, compact := jsonscan.Check(line)
//	end := jsonscan.ValueEnd(line, start)
//
// Like encoding/json it does not check UTF-8. It decodes nothing.
package jsonscan

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
)

// Valid returns the same as json.Valid.
func Valid(b []byte) bool {
	valid, _ := Check(b)
	return valid || json.Valid(b) // the text may be nested deeper
}

// MaxDepth is the maximum nesting depth of a text.
const MaxDepth = 1000

// Check reports whether b is one JSON text with a nesting depth of at most [MaxDepth], and
// whether it has no white space between its tokens.
func Check(b []byte) (valid, compact bool) {
	c := checker{b: b, compact: true}
	c.skip()
	if !c.value(0) {
		return false, false
	}
	c.skip()
	return c.i == len(b), c.compact
}

type checker struct {
	b       []byte
	i       int
	compact bool
}

func (c *checker) skip() {
	for c.i < len(c.b) && IsSpace(c.b[c.i]) {
		c.compact = false
		c.i++
	}
}

// IsSpace reports whether a byte is white space between the tokens of JSON.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (c *checker) eat(want byte) bool {
	if c.i < len(c.b) && c.b[c.i] == want {
		c.i++
		return true
	}
	return false
}

func (c *checker) value(depth int) bool {
	if c.i >= len(c.b) || depth > MaxDepth {
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
	c.skip()
	if c.eat(end) {
		return true
	}
	for {
		if named {
			if c.i >= len(c.b) || c.b[c.i] != '"' || !c.literal() {
				return false
			}
			c.skip()
			if !c.eat(':') {
				return false
			}
			c.skip()
		}
		if !c.value(depth + 1) {
			return false
		}
		c.skip()
		if c.eat(end) {
			return true
		}
		if !c.eat(',') {
			return false
		}
		c.skip()
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
