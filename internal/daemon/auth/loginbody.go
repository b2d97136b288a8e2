package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// parseLogin reads {"code":"…"}: one object, that one key, once.
func parseLogin(b []byte) (string, error) {
	malformed := errors.New(`the body is not {"code":"…"}`)
	dec := json.NewDecoder(bytes.NewReader(b))
	var words []any
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || len(words) > 4 {
			return "", malformed
		}
		words = append(words, tok)
	}
	if len(words) != 4 || words[0] != json.Delim('{') || words[1] != "code" || words[3] != json.Delim('}') {
		return "", malformed
	}
	text, ok := words[2].(string)
	if !ok || text == "" {
		return "", malformed
	}
	return text, nil
}
