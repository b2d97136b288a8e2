package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// maxJSONLine is the longest line in bytes that a batch reads.
const maxJSONLine = 4 << 20

var errLongLine = fmt.Errorf("the line is longer than %d MiB", maxJSONLine>>20)

// jsonLines reads a stream of JSON objects, one per line.
type jsonLines struct {
	r    *bufio.Reader
	line []byte
	n    int // of the line, from 1
}

func newJSONLines(r io.Reader) *jsonLines { return &jsonLines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line that is not blank; it is valid until the next call.
// errLongLine is about one line: the next can be read. Others end the stream.
func (l *jsonLines) next() ([]byte, error) {
	for {
		l.line = l.line[:0]
		l.n++
		long := false
		for {
			part, err := l.r.ReadSlice('\n')
			if long = long || len(l.line)+len(part) > maxJSONLine; !long {
				l.line = append(l.line, part...)
			}
			if err == nil {
				break
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if !errors.Is(err, io.EOF) || len(l.line) == 0 && !long {
				return nil, err
			}
			break // the last line has no newline
		}
		if long {
			return nil, errLongLine
		}
		if line := bytes.TrimSpace(l.line); len(line) > 0 {
			return line, nil
		}
	}
}

// idle reports whether the next line would have to be waited for.
func (l *jsonLines) idle() bool { return l.r.Buffered() == 0 }

// jsonMembers calls each for the members of one JSON object, in order. A member
// that stands there twice, and what is no object, are errors.
func jsonMembers(object []byte, each func(key string, value []byte) error) error {
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
		key, err := jsonText(rest[:n])
		if err != nil {
			return err
		}
		if slices.Contains(seen, key) {
			return fmt.Errorf("%q stands there twice", key)
		}
		seen = append(seen, key)
		rest = skipSpace(skipSpace(rest[n:])[1:]) // the colon
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

// jsonText reads a JSON string.
func jsonText(value []byte) (string, error) {
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

// valueLength is how long the value at the start of valid JSON is.
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
				return i // the end of what this value is in
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
