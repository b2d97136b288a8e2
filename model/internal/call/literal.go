package call

import (
	"bytes"
	"encoding/json"
	"iter"
)

// LiteralText returns the text between the quotes of a JSON string literal, or nil for anything else.
func LiteralText(lit []byte) []byte {
	if len(lit) < 2 || lit[0] != '"' || lit[len(lit)-1] != '"' {
		return nil
	}
	return lit[1 : len(lit)-1]
}

// AppendQuoted appends compact JSON as a JSON string that contains its text.
func AppendQuoted(dst, raw []byte) []byte {
	return append(AppendEscaped(append(dst, '"'), raw), '"')
}

// AppendEscaped does the same as [AppendQuoted], but without the quotes. Compact JSON has no
// control characters, so only two bytes need an escape.
func AppendEscaped(dst, raw []byte) []byte {
	for _, c := range raw {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return dst
}

// AppendInput appends the input of a tool use as a JSON object, which every API requires. Other
// values, such as the text of a malformed input, are wrapped in an object.
func AppendInput(dst, raw []byte) []byte {
	switch {
	case len(raw) == 0:
		return append(dst, "{}"...)
	case raw[0] == '{':
		return append(dst, raw...)
	}
	dst = append(dst, `{"malformed_input":`...)
	return append(append(dst, raw...), '}')
}

// ToolInput converts the text of a tool use's input to a JSON value. An empty text becomes an empty
// object. Text that is not JSON becomes a JSON string, and ok is false.
func ToolInput(text []byte) (input json.RawMessage, ok bool) {
	input, ok = Compact(text)
	switch {
	case !ok && len(bytes.TrimSpace(text)) == 0, ok && string(input) == "null":
		return json.RawMessage("{}"), true
	case !ok:
		s, _ := json.Marshal(string(text)) // a string is always valid
		return s, false
	}
	return input, true
}

// Objects yields each object of a list that is written without brackets, {…},{…}, with its index. It stops
// at the first error.
func Objects(list []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		start, depth := 0, 0
		for i := 0; i < len(list); i++ {
			switch list[i] {
			case '"':
				if i = literalEnd(list, i); i < 0 {
					return
				}
			case '{', '[':
				if depth++; depth == 1 {
					start = i
				}
			case '}', ']':
				if depth--; depth == 0 && !yield(start, list[start:i+1]) || depth < 0 {
					return
				}
			}
		}
	}
}

// literalEnd returns the index of the quote that ends the literal at i, or -1.
func literalEnd(b []byte, i int) int {
	for start := i + 1; ; {
		n := bytes.IndexByte(b[start:], '"')
		if n < 0 {
			return -1
		}
		end := start + n
		slashes := end
		for slashes > i+1 && b[slashes-1] == '\\' {
			slashes--
		}
		if (end-slashes)%2 == 0 {
			return end
		}
		start = end + 1
	}
}

// CutLiteral splits raw JSON that begins with prefix. The last byte of prefix is the quote that
// opens a JSON string. inner is that string, still escaped and without its quotes; rest is what
// follows its closing quote. CutLiteral parses the usual forms of parts in one pass.
func CutLiteral(raw []byte, prefix string) (inner, rest []byte, ok bool) {
	if len(raw) < len(prefix) || string(raw[:len(prefix)]) != prefix {
		return nil, nil, false
	}
	end := literalEnd(raw, len(prefix)-1)
	if end < 0 {
		return nil, nil, false
	}
	return raw[len(prefix):end], raw[end+1:], true
}

// TextLiteral returns the text of a text part, as an escaped JSON string without its quotes. It
// returns false if the part contains anything else.
func TextLiteral(part []byte) ([]byte, bool) {
	inner, rest, ok := CutLiteral(part, `{"type":"text","text":"`)
	return inner, ok && string(rest) == "}"
}

// PlainResult splits a tool result whose content is one text.
func PlainResult(part []byte) (id, text []byte, isError, ok bool) {
	id, rest, ok := CutLiteral(part, `{"type":"tool_result","use_id":"`)
	if !ok {
		return nil, nil, false, false
	}
	text, rest, ok = CutLiteral(rest, `,"content":[{"type":"text","text":"`)
	isError = string(rest) == `}],"is_error":true}`
	return id, text, isError, ok && (isError || string(rest) == `}]}`)
}

// Compact returns JSON without spaces between values; ok is false if the JSON is invalid.
func Compact(text []byte) (json.RawMessage, bool) {
	var buf bytes.Buffer
	if json.Compact(&buf, text) != nil {
		return nil, false
	}
	return buf.Bytes(), true
}
