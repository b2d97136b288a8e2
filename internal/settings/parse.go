package settings

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// maxFile is the maximum size of a settings file in bytes.
const maxFile = 1 << 20

// parse parses a settings text. Errors are *[jsontree.Error].
func parse(source []byte) (jsontree.Node, error) {
	root, err := jsontree.Parse(source)
	if e, ok := errors.AsType[*jsontree.Error](err); ok {
		if _, ok := errors.AsType[*json.SyntaxError](e.Err); ok {
			advise(e, source)
		}
	}
	return root, err
}

// advise adds hints for common mistakes in files that are not JSON.
func advise(e *jsontree.Error, source []byte) {
	switch rest := source[e.Offset:]; {
	case len(bytes.TrimSpace(source)) == 0:
		e.Offset, e.What, e.Hint = 0, "the file is empty", "write {} for empty settings"
	case bytes.HasPrefix(rest, []byte("/")) || bytes.HasPrefix(rest, []byte("#")):
		e.What, e.Hint = "not JSON: a comment", "remove it; comments are not allowed"
	case bytes.HasPrefix(rest, []byte("}")) || bytes.HasPrefix(rest, []byte("]")):
		e.Hint = "look for a comma before it"
	case bytes.HasPrefix(source, []byte("\ufeff")):
		e.Hint = "save the file without a byte order mark"
	}
}

// position converts an offset to a line and a column, both from 1, in bytes.
func position(source []byte, at int) (line, col int) {
	before := source[:min(at, len(source))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
