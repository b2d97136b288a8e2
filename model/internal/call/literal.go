package call

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Inner returns what is between the quotes of a JSON string literal, or nil for
// anything else.
func Inner(lit []byte) []byte {
	if len(lit) < 2 || lit[0] != '"' || lit[len(lit)-1] != '"' {
		return nil
	}
	return lit[1 : len(lit)-1]
}

// AppendQuoted appends compact JSON as a JSON string that holds its text.
func AppendQuoted(dst, raw []byte) []byte {
	return append(AppendEscaped(append(dst, '"'), raw), '"')
}

// AppendEscaped is [AppendQuoted] without the quotes. Compact JSON has no
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

// AppendInput appends a tool use's input as the object that every wire wants.
// What is no object, such as the text of a malformed input, is put into one.
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

// ToolInput makes a value of the text that a model wrote as a tool use's input.
// Nothing is an empty object. Text that is not JSON becomes a JSON string of it
// and ok is false.
func ToolInput(text []byte) (input json.RawMessage, ok bool) {
	input, ok = Compact(text)
	switch {
	case !ok && len(bytes.TrimSpace(text)) == 0, ok && string(input) == "null":
		return json.RawMessage("{}"), true
	case !ok:
		s, _ := json.Marshal(string(text)) // a string always can be
		return s, false
	}
	return input, true
}

// Objects yields each object of a list that is written without brackets,
// {…},{…}, with its place in the list. It stops at the first fault.
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
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// Compact returns JSON without its spaces; ok is false when it is not JSON.
func Compact(text []byte) (json.RawMessage, bool) {
	var buf bytes.Buffer
	if json.Compact(&buf, text) != nil {
		return nil, false
	}
	return buf.Bytes(), true
}
