package hook

import (
	"encoding/json"
	"time"
)

// decodeOutput reads the JSON object that a command printed, or an HTTP hook
// answered. What has no effect is in the notices; the error says what has the wrong
// type, and then nothing of the answer counts.
func decodeOutput(d Dialect, e Event, stdout []byte) (out *Output, notices []string, err error) {
	out = &Output{}
	return out, nil, json.Unmarshal(stdout, out)
}

// isAsync reports whether stdout is {"async": true}, with the asyncTimeout that it
// gives (in milliseconds), or 0.
func isAsync(stdout []byte) (timeout time.Duration, ok bool) { return 0, false }
