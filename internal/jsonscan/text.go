package jsonscan

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without HTML escapes: "<", ">" and "&" stay unchanged.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Quote returns s as a JSON string, encoded as [Marshal] does.
func Quote(s string) string {
	b, err := Marshal(s)
	if err != nil {
		panic(err) // every string can be encoded
	}
	return string(b)
}

// Compact returns b without white space between its tokens, or b itself if it is not valid JSON.
func Compact(b []byte) []byte {
	var c bytes.Buffer
	if json.Compact(&c, b) != nil {
		return b
	}
	return c.Bytes()
}

// Equal reports whether a and b are the same bytes, or JSON texts that differ only in white
// space between their tokens.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// IsObject reports whether b is one JSON object.
func IsObject(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && b[0] == '{' && json.Valid(b)
}
