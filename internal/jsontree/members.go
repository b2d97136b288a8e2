package jsontree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Members calls the function each for every member of one JSON object, in order. It does not create
// a tree. It returns an error for a duplicate key, and for a value that is not an object.
func Members(object []byte, each func(key string, value []byte) error) error {
	if !json.Valid(object) || !utf8.Valid(object) {
		var v any
		if err := json.Unmarshal(object, &v); err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		return errors.New("not UTF-8")
	}
	rest := bytes.TrimSpace(object)
	if rest[0] != '{' {
		return errors.New("not an object")
	}
	var seen []string
	for rest = skipSpace(rest[1:]); rest[0] != '}'; {
		n := valueLength(rest)
		key, err := Unquote(rest[:n])
		if err != nil {
			return err
		}
		if slices.Contains(seen, key) {
			return fmt.Errorf("duplicate key %q", key)
		}
		seen = append(seen, key)
		rest = skipSpace(skipSpace(rest[n:])[1:]) // skip the colon
		n = valueLength(rest)
		if err := each(key, rest[:n]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if rest = skipSpace(rest[n:]); rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	return nil
}

// Unquote decodes a JSON string that is known to be valid.
func Unquote(value []byte) (string, error) {
	if len(value) < 2 || value[0] != '"' {
		return "", fmt.Errorf("%s is not a text", value)
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), nil
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// valueLength returns the length of the value at the start of valid JSON.
func valueLength(b []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted:
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return i // the end of the enclosing value
			}
			depth--
		case depth > 0:
			continue
		case c == ',' || c == ':' || c == ' ' || c == '\t' || c == '\n' || c == '\r':
			return i
		default:
			continue
		}
		if depth == 0 && !quoted {
			return i + 1
		}
	}
	return len(b)
}
