package view

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-dev/holdfast/transcript"
)

func TestTokens(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{tokens(transcript.Usage{Input: 1}), "1 token"},
		{tokens(transcript.Usage{Input: 9000, Output: 3000}), "12.0k tokens"},
		{tokens(transcript.Usage{CacheRead: 2_500_000}), "2.5M tokens"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

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
