package term

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Count(1, "item"), "1 item"},
		{Count(0, "item"), "0 items"},
		{Short(840), "840"},
		{Short(9_960), "10.0k"},
		{Short(12_400), "12.4k"},
		{Short(200_000), "200k"},
		{Short(999_900), "1.0M"},
		{Short(2_500_000), "2.5M"},
		{Short(1_200_000_000), "1.2G"},
		{Tokens(1), "1 token"},
		{Tokens(12_000), "12.0k tokens"},
		{Dollars(0.00012), "$0.0001"},
		{Dollars(1.234), "$1.23"},
		{Size(12), "12 B"},
		{Size(2048), "2.0 KiB"},
		{Size(3 << 20), "3.0 MiB"},
		{Size(5 << 30), "5.0 GiB"},
		{Age(time.Second), "now"},
		{Age(-time.Second), "now"},
		{Age(90 * time.Second), "1 min"},
		{Age(47 * time.Hour), "47 h"},
		{Age(72 * time.Hour), "3 d"},
		{Elapsed(5 * time.Millisecond), "5 ms"},
		{Elapsed(300 * time.Millisecond), "0.3 s"},
		{Elapsed(-1), "0 s"},
		{Elapsed(1200 * time.Millisecond), "1.2 s"},
		{Elapsed(12_900 * time.Millisecond), "12 s"},
		{Elapsed(125 * time.Second), "2 min 5 s"},
		{Elapsed(3 * time.Hour), "3 h 0 min"},
		{Truncate("a\n b\tc", 20), "a b c"},
		{Truncate("abcdefghijklmnop", 12), "abcdefghijk…"},
		{Column("ab", 4), "ab  "},
		{Column("größe", 3), "gr…"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// What is quoted comes back from a shell as it was.
func TestQuote(t *testing.T) {
	for _, s := range []string{"plain", "", "two words", "it's", "$HOME `id`", "a;b", "sqlite:/tmp/x.db", "ünï", "-n", "*"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+Quote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("quoteArg(%q) = %s, which is %q, %v", s, Quote(s), out, err)
		}
	}
}

func TestDiff(t *testing.T) {
	for _, tt := range []struct {
		old, fresh string
		want       []string
	}{
		{"two", "zwei", []string{"-two\n", "+zwei\n"}},
		{"-- a\n@@ b\nc", "-- a\nx\nc", []string{" -- a\n", "-@@ b\n", "+x\n", " c\n"}},
		{"-- gone", "", []string{"--- gone\n"}},
		{"same", "same", nil},
	} {
		if got := Diff(tt.old, tt.fresh); strings.Join(got, "") != strings.Join(tt.want, "") {
			t.Errorf("hunk(%q, %q) = %q, want %q", tt.old, tt.fresh, got, tt.want)
		}
	}
}
