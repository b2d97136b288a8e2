package cli

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/transcript"
)

func TestWords(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{count(1, "item"), "1 item"},
		{count(0, "item"), "0 items"},
		{tokens(transcript.Usage{Input: 1}), "1 token"},
		{tokens(transcript.Usage{Input: 9000, Output: 3000}), "12.0k tokens"},
		{tokens(transcript.Usage{CacheRead: 2_500_000}), "2.5M tokens"},
		{dollars(0.00012), "$0.0001"},
		{dollars(1.234), "$1.23"},
		{size(12), "12 B"},
		{size(2048), "2.0 KiB"},
		{size(3 << 20), "3.0 MiB"},
		{size(5 << 30), "5.0 GiB"},
		{age(time.Second), "now"},
		{age(-time.Second), "now"},
		{age(90 * time.Second), "1 min"},
		{age(47 * time.Hour), "47 h"},
		{age(72 * time.Hour), "3 d"},
		{took(5 * time.Millisecond), "5 ms"},
		{took(300 * time.Millisecond), "0.3 s"},
		{took(125 * time.Second), "2 min 5 s"},
		{fit("a\n b\tc", 20), "a b c"},
		{fit("abcdefghijklmnop", 12), "abcdefghijk…"},
		{column("ab", 4), "ab  "},
		{column("größe", 3), "gr…"},
		{orElse("", "b"), "b"},
		{orElse("a", "b"), "a"},
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
		if got := headline("T", json.RawMessage(tt.in), "/w"); got != tt.want {
			t.Errorf("headline(%s) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// What is quoted comes back from a shell as it was.
func TestQuoteArg(t *testing.T) {
	for _, s := range []string{"plain", "", "two words", "it's", "$HOME `id`", "a;b", "sqlite:/tmp/x.db", "ünï", "-n", "*"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+quoteArg(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("quoteArg(%q) = %s, which is %q, %v", s, quoteArg(s), out, err)
		}
	}
}

func TestHunk(t *testing.T) {
	for _, tt := range []struct {
		old, fresh string
		want       []string
	}{
		{"two", "zwei", []string{"-two\n", "+zwei\n"}},
		{"-- a\n@@ b\nc", "-- a\nx\nc", []string{" -- a\n", "-@@ b\n", "+x\n", " c\n"}},
		{"-- gone", "", []string{"--- gone\n"}},
		{"same", "same", nil},
	} {
		if got := hunk(tt.old, tt.fresh); strings.Join(got, "") != strings.Join(tt.want, "") {
			t.Errorf("hunk(%q, %q) = %q, want %q", tt.old, tt.fresh, got, tt.want)
		}
	}
}
