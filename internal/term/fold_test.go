package term

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""}, {"abc", "abc"}, {"ABC", "abc"}, {"ÄÖ日", "äö日"}, {"İK\u212a", "İk\u212a"}, {"A\xffB", "a\xffb"},
	} {
		if got := Fold(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		if got := Fold(s); len(got) != len(s) || Fold(got) != got || strings.ToLower(s) == s && got != s {
			t.Fatalf("%q: %q", s, got)
		}
	})
}
