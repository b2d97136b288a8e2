package convert

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Parts reads the content of a message as the Anthropic API has it: a string, or an
// array of blocks. Blocks that are not known here become [transcript.Custom] parts of
// the kind "anthropic/" and their type. An error says that it is no JSON, or that a
// block has what no part may have, such as a key twice.
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
