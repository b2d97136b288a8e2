package runtext

import (
	"encoding/json"
	"testing"
)

func TestHeadline(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"command":"go test ./..."}`, "go test ./..."},
		{`{"file_path":"/w/a/b.go","old_string":"x"}`, "a/b.go"},
		{`{"file_path":"/other/b.go"}`, "/other/b.go"},
		{`{"pattern":"*.go","path":"src"}`, "*.go"},
		{`{}`, ""},
		{`{"n":1}`, `{"n":1}`},
		{`{"command":5}`, `{"command":5}`},
		{`not json`, "not json"},
	} {
		if got := Headline("T", json.RawMessage(tt.in), "/w"); got != tt.want {
			t.Errorf("headline(%s) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
