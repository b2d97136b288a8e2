package truncate

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestString(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"abcd", 0, "…"},
		{"aé", 2, "a…"}, // é has two bytes
		{"aé", 3, "aé"},
		{"日本", 4, "日…"},
		{"a\xffb", 3, "a\xffb"}, // short enough: unchanged
		{"a\xffbc", 3, "ab…"},
	} {
		if got := String(tt.s, tt.n); got != tt.want {
			t.Errorf("String(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

func FuzzString(f *testing.F) {
	f.Add("日本語", 4)
	f.Add("a\xff\xfe", 1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 || n > 1<<16 {
			t.Skip()
		}
		got := String(s, n)
		switch {
		case len(s) <= n && got != s:
			t.Errorf("String(%q, %d) = %q", s, n, got)
		case len(s) > n && (len(got) > n+len("…") || !utf8.ValidString(got) || !strings.HasSuffix(got, "…")):
			t.Errorf("String(%q, %d) = %q", s, n, got)
		}
	})
}
