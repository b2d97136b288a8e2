package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"
)

// The functions below read JSON that is known to be valid: written by this program's encoder,
// or checked by json.Valid. On other bytes they stop early and return ErrSyntax.

// ErrSyntax is the error for bytes that are not the expected JSON.
var ErrSyntax = errors.New("malformed JSON")

// Fields calls fn for each member of the object b, in order.
func Fields(b []byte, fn func(key, value []byte) error) error {
	_, err := Members(b, func(key []byte, at int) (int, error) {
		end := ValueEnd(b, at)
		if end < 0 {
			return end, nil
		}
		return end, fn(key, b[at:end])
	})
	return err
}

// Members calls fn for each member of the object b, in order, with the index where its value
// starts; fn returns the index where it ends, or -1. Members returns the index where b ends.
func Members(b []byte, fn func(key []byte, at int) (int, error)) (int, error) {
	i := SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return 0, fmt.Errorf("%w: want an object", ErrSyntax)
	}
	i = SkipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for i < len(b) && b[i] == '"' {
		end := StringEnd(b, i)
		if end < 0 {
			return 0, ErrSyntax
		}
		key := b[i+1 : end-1]
		if !IsPlain(key) {
			s, err := Unquote(b[i:end])
			if err != nil {
				return 0, err
			}
			key = []byte(s)
		}
		i = SkipSpace(b, end)
		if i >= len(b) || b[i] != ':' {
			return 0, ErrSyntax
		}
		end, err := fn(key, SkipSpace(b, i+1))
		if err != nil {
			return 0, err
		}
		if end < 0 {
			return 0, ErrSyntax
		}
		i = SkipSpace(b, end)
		if i < len(b) && b[i] == '}' {
			return i + 1, nil
		}
		if i >= len(b) || b[i] != ',' {
			return 0, ErrSyntax
		}
		i = SkipSpace(b, i+1)
	}
	return 0, ErrSyntax
}

// UniqueFields is [Fields] for an object whose keys must differ: for a duplicate key,
// different readers would use different values.
func UniqueFields(b []byte, fn func(key, value []byte) error) error {
	seen := map[string]bool{}
	return Fields(b, func(key, v []byte) error {
		if seen[string(key)] {
			return fmt.Errorf("%w: key %q appears twice", ErrSyntax, key)
		}
		seen[string(key)] = true
		return fn(key, v)
	})
}

// Elements yields each element of the array b. It stops at the first syntax error.
func Elements(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := SkipSpace(b, 0)
		if i >= len(b) || b[i] != '[' {
			return
		}
		i = SkipSpace(b, i+1)
		for i < len(b) && b[i] != ']' {
			end := ValueEnd(b, i)
			if end < 0 || !yield(b[i:end]) {
				return
			}
			i = SkipSpace(b, end)
			if i < len(b) && b[i] == ',' {
				i = SkipSpace(b, i+1)
			}
		}
	}
}

// IsPlain reports whether the inside of a literal equals the text that it represents.
func IsPlain(b []byte) bool { return bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) }

// Unquote decodes a JSON string literal. A literal without escapes costs one copy.
func Unquote(lit []byte) (string, error) {
	if len(lit) < 2 || lit[0] != '"' || lit[len(lit)-1] != '"' {
		return "", fmt.Errorf("%w: want a string", ErrSyntax)
	}
	body := lit[1 : len(lit)-1]
	if IsPlain(body) {
		return string(body), nil
	}
	var s string
	if err := json.Unmarshal(lit, &s); err != nil {
		return "", err
	}
	return s, nil
}

// Object is a JSON object as stored.
type Object []byte

// Type returns the object's "type", or "".
func (p Object) Type() string {
	// The encoder writes the type first, so the common case is a prefix.
	const prefix = `{"type":"`
	if bytes.HasPrefix(p, []byte(prefix)) {
		rest := p[len(prefix):]
		if before, _, ok := bytes.Cut(rest, []byte{'"'}); ok {
			switch string(before) { // no copies of the common names
			case "text":
				return "text"
			case "thinking":
				return "thinking"
			case "tool_use":
				return "tool_use"
			case "tool_result":
				return "tool_result"
			}
			if IsPlain(before) {
				return string(before)
			}
		}
	}
	s, _ := Unquote(p.Field("type"))
	return s
}

var errFound = errors.New("found")

// Field returns the raw JSON of one member, or nil. A string keeps its quotes
// and escapes, so it can be copied into another document as it is.
func (p Object) Field(name string) []byte {
	var found []byte
	_ = Fields(p, func(key, v []byte) error {
		if string(key) == name {
			found = v
			return errFound
		}
		return nil
	})
	return found
}

// Elements yields the elements of an array member.
func (p Object) Elements(name string) iter.Seq[Object] {
	return func(yield func(Object) bool) {
		for v := range Elements(p.Field(name)) {
			if !yield(Object(v)) {
				return
			}
		}
	}
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string literal. Unlike encoding/json it does not escape
// HTML characters, so text does not become longer; bytes that are not UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(b, s[start:i]...)
				b = append(b, "\uFFFD"...)
				i++
				start = i
				continue
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
