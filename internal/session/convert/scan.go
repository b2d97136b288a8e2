package convert

import (
	"bytes"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// maxDepth is the maximum nesting depth of JSON.
const maxDepth = jsonscan.MaxDepth

// check reports whether b is one JSON text, and whether it has no white space between
// its tokens.
func check(b []byte) (valid, compact bool) { return jsonscan.Check(b) }

// members calls do with each member of an object until do returns false. If the object is
// truncated, it calls do with the complete members. Keys are without quotes and escapes.
func members(b []byte, do func(key string, value []byte) bool) {
	eachMember(b, func(key, value []byte) bool { return do(string(key), value) })
}

// eachMember is like members but does not decode the keys, for callers that only compare them.
func eachMember(b []byte, do func(key, value []byte) bool) {
	i := jsonscan.SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return
	}
	for i = jsonscan.SkipSpace(b, i+1); i < len(b) && b[i] == '"'; {
		end := jsonscan.StringEnd(b, i)
		if end < 0 {
			return
		}
		key := b[i:end]
		if i = jsonscan.SkipSpace(b, end); i >= len(b) || b[i] != ':' {
			return
		}
		i = jsonscan.SkipSpace(b, i+1)
		if end = jsonscan.ValueEnd(b, i); end < 0 || !do(keyOf(key), b[i:end]) {
			return
		}
		if i = jsonscan.SkipSpace(b, end); i < len(b) && b[i] == ',' {
			i = jsonscan.SkipSpace(b, i+1)
		}
	}
}

// elements calls do with each element of an array until do returns false.
func elements(b []byte, do func(value []byte) bool) {
	i := jsonscan.SkipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return
	}
	for i = jsonscan.SkipSpace(b, i+1); i < len(b) && b[i] != ']'; {
		end := jsonscan.ValueEnd(b, i)
		if end <= i || !do(b[i:end]) {
			return
		}
		if i = jsonscan.SkipSpace(b, end); i < len(b) && b[i] == ',' {
			i = jsonscan.SkipSpace(b, i+1)
		}
	}
}

// eachString calls do with the position of each string of a JSON text, except member names,
// until it returns false.
func eachString(b []byte, do func(from, to int) bool) {
	for i := 0; i < len(b); {
		if b[i] != '"' {
			i++
			continue
		}
		from, to := i, jsonscan.StringEnd(b, i)
		if to < 0 {
			return
		}
		if i = jsonscan.SkipSpace(b, to); i < len(b) && b[i] == ':' {
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

// field returns a member's value, or nil. If a key is duplicated, it returns the last value, as the
// programs that wrote the files do.
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

// str reads a string literal, or returns false for any other value.
func str(lit []byte) (s string, ok bool) {
	if len(lit) < 2 || lit[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(lit, '\\') < 0 {
		return string(lit[1 : len(lit)-1]), true
	}
	return s, json.Unmarshal(lit, &s) == nil
}

// text is like str, but returns "" for any other value.
func text(lit []byte) string {
	s, _ := str(lit)
	return s
}

func isString(v []byte) bool { return len(v) >= 2 && v[0] == '"' }
func isObject(v []byte) bool { return len(v) >= 2 && v[0] == '{' }
func isArray(v []byte) bool  { return len(v) >= 2 && v[0] == '[' }
func isTrue(v []byte) bool   { return string(v) == "true" }

// compacted returns v without white space between its tokens.
func compacted(v []byte) []byte {
	if valid, compact := check(v); !valid || compact {
		return v
	}
	var b bytes.Buffer
	_ = json.Compact(&b, v) // already checked
	return b.Bytes()
}
