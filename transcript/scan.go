package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// The functions below walk JSON that is known to be valid: it came from this package's
// encoder, or json.Valid has seen it. On other bytes they stop early and report errSyntax.

var errSyntax = errors.New("malformed JSON")

// fields calls fn for each member of the object b, in order.
func fields(b []byte, fn func(key, value []byte) error) error {
	_, err := members(b, func(key []byte, at int) (int, error) {
		end := jsonscan.ValueEnd(b, at)
		if end < 0 {
			return end, nil
		}
		return end, fn(key, b[at:end])
	})
	return err
}

// members calls fn for each member of the object b, in order, with where its
// value starts; fn returns where it ends, or -1. It returns where b ends.
func members(b []byte, fn func(key []byte, at int) (int, error)) (int, error) {
	i := jsonscan.SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return 0, fmt.Errorf("%w: want an object", errSyntax)
	}
	i = jsonscan.SkipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for i < len(b) && b[i] == '"' {
		end := jsonscan.StringEnd(b, i)
		if end < 0 {
			return 0, errSyntax
		}
		key := b[i+1 : end-1]
		if !isPlain(key) {
			s, err := unquote(b[i:end])
			if err != nil {
				return 0, err
			}
			key = []byte(s)
		}
		i = jsonscan.SkipSpace(b, end)
		if i >= len(b) || b[i] != ':' {
			return 0, errSyntax
		}
		end, err := fn(key, jsonscan.SkipSpace(b, i+1))
		if err != nil {
			return 0, err
		}
		if end < 0 {
			return 0, errSyntax
		}
		i = jsonscan.SkipSpace(b, end)
		if i < len(b) && b[i] == '}' {
			return i + 1, nil
		}
		if i >= len(b) || b[i] != ',' {
			return 0, errSyntax
		}
		i = jsonscan.SkipSpace(b, i+1)
	}
	return 0, errSyntax
}

// uniqueFields is [fields] for an object whose keys must differ: of two values
// for one key, different readers would take different ones.
func uniqueFields(b []byte, fn func(key, value []byte) error) error {
	seen := map[string]bool{}
	return fields(b, func(key, v []byte) error {
		if seen[string(key)] {
			return fmt.Errorf("%w: key %q appears twice", errSyntax, key)
		}
		seen[string(key)] = true
		return fn(key, v)
	})
}

// elements yields each element of the array b. It stops at the first fault.
func elements(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := jsonscan.SkipSpace(b, 0)
		if i >= len(b) || b[i] != '[' {
			return
		}
		i = jsonscan.SkipSpace(b, i+1)
		for i < len(b) && b[i] != ']' {
			end := jsonscan.ValueEnd(b, i)
			if end < 0 || !yield(b[i:end]) {
				return
			}
			i = jsonscan.SkipSpace(b, end)
			if i < len(b) && b[i] == ',' {
				i = jsonscan.SkipSpace(b, i+1)
			}
		}
	}
}

// isPlain reports whether the inside of a literal is the text it stands for.
func isPlain(b []byte) bool { return bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) }

// unquote decodes a JSON string literal. The usual literal without escapes
// costs one copy.
func unquote(lit []byte) (string, error) {
	if len(lit) < 2 || lit[0] != '"' || lit[len(lit)-1] != '"' {
		return "", fmt.Errorf("%w: want a string", errSyntax)
	}
	body := lit[1 : len(lit)-1]
	if isPlain(body) {
		return string(body), nil
	}
	var s string
	if err := json.Unmarshal(lit, &s); err != nil {
		return "", err
	}
	return s, nil
}
