package hook

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/terminalseq"
)

// terminal decodes a terminal sequence, and drops it if it is unsafe.
func (a *outputReader) terminal(path string, raw json.RawMessage) {
	var s string
	if !a.into(path, raw, &s, "a string") || s == "" {
		return
	}
	if !terminalseq.Safe(s) {
		a.notice("%s is not sent; only titles, notifications and the bell are allowed", path)
		return
	}
	a.out.TerminalSequence = s
}
