package first

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ args, socket, wrong string }{
		{"", "", ""},
		{"--socket /x", "/x", ""},
		{"--socket=/x", "/x", ""},
		{"--socket", "", "needs a path"},
		{"--socket=", "", "not absolute"},
		{"--socket x", "", "not absolute"},
		{"--verbose", "", "unknown argument"},
		{"now", "", "unknown argument"},
	} {
		socket, err := parse(strings.Fields(tt.args))
		if socket != tt.socket || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%q: %q, %v", tt.args, socket, err)
		}
	}
}
