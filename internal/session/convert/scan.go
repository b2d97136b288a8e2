package convert

import (
	"bytes"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/jsoncheck"
)

// maxDepth bounds how deep JSON may be nested.
const maxDepth = jsoncheck.MaxDepth

// check reports whether b is one JSON text, and whether it has no white space between
// its tokens.
func check(b []byte) (valid, compact bool) { return jsoncheck.Check(b) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

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
	eachMember(b, func(key, value []byte) bool { return do(string(key), value) })
}

// eachMember is members for who only compares the keys.
func eachMember(b []byte, do func(key, value []byte) bool) {
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

// eachString calls do with where each string of a JSON text is, names of members
// excepted, until it says no.
func eachString(b []byte, do func(from, to int) bool) {
	for i := 0; i < len(b); {
		if b[i] != '"' {
			i++
			continue
		}
		from, to := i, stringEnd(b, i)
		if to < 0 {
			return
		}
		if i = skipSpace(b, to); i < len(b) && b[i] == ':' {
			i++
		} else if !do(from, to) {
			return
		}
	}
}

func keyOf(lit []byte) []byte {
	if bytes.IndexByte(lit, '\\') < 0 {
		return lit[1 : len(lit)-1]
	}
	return []byte(text(lit))
}

// field returns a member's value, or nil. The last one of a name counts, as it does
// for the programs that wrote it.
func field(b []byte, name string) []byte {
	var found []byte
	eachMember(b, func(key, v []byte) bool {
		if string(key) == name {
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
