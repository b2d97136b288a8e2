package importsettings

import (
	"bytes"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// parseJSON parses JSON that may contain comments and trailing commas.
func parseJSON(data []byte) (jsontree.Node, error) {
	plain := withoutComments(data)
	if len(bytes.TrimSpace(plain)) == 0 { // an empty file created by a program
		return jsontree.Node{Kind: jsontree.Object}, nil
	}
	root, err := jsontree.Parse(plain)
	if e, ok := asJSONError(err); ok {
		line, col := position(data, e.Offset)
		return root, &Error{Line: line, Col: col, Detail: e.Error(), Hint: e.Hint}
	}
	return root, err
}

// withoutComments replaces comments and trailing commas with spaces, so that the positions of
// values do not change.
func withoutComments(data []byte) []byte {
	out := slices.Clone(data)
	comma := -1 // the last comma, if only spaces have followed it so far
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			i = endOfText(out, i)
			comma = -1
			continue
		case bytes.HasPrefix(out[i:], []byte("//")):
			end := bytes.IndexByte(out[i:], '\n')
			if end < 0 {
				end = len(out) - i
			}
			blank(out[i : i+end])
			i += end
			continue
		case bytes.HasPrefix(out[i:], []byte("/*")):
			end := bytes.Index(out[i+2:], []byte("*/"))
			if end < 0 {
				return out // the JSON parser rejects it
			}
			blank(out[i : i+end+4])
			i += end + 4
			continue
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
		i++
	}
	return out
}

// endOfText returns the offset after the string that starts at i.
func endOfText(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"', '\n':
			return i + 1
		}
	}
	return len(b)
}

func blank(b []byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = ' '
		}
	}
}
