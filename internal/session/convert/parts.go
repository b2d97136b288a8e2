package convert

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Parts reads the content of a message in the form of the Anthropic API: a string, or an array
// of blocks. Unknown blocks become [transcript.Custom] parts of the kind "anthropic/" plus
// their type. It returns an error if the content is not JSON, or if a block contains something
// that no part may contain, such as a duplicate key.
func Parts(content json.RawMessage) ([]transcript.Part, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, content); err != nil {
		return nil, fmt.Errorf("content of a message: %w", err)
	}
	j := appendParts([]byte(`{"role":"user","parts":[`), partsOf(b.Bytes()))
	var e transcript.Encoded
	if err := e.Parse(append(j, `]}`...)); err != nil {
		return nil, fmt.Errorf("content of a message: %w", err)
	}
	it, err := e.Decode()
	return it.Parts, err
}
