package view

import (
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
