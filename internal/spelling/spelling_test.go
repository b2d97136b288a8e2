package spelling

import (
	"strings"
	"testing"
)

func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"Bash", "Bash", 0},
		{"Bsh", "Bash", 1},
		{"Bask", "Bash", 1},
		{"abcd", "acbd", 2},
		{"kitten", "sitting", 3},
	} {
		if got, back := Edits(tt.a, tt.b), Edits(tt.b, tt.a); got != tt.want || back != tt.want {
			t.Errorf("%q and %q: %d and %d edits, want %d", tt.a, tt.b, got, back, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, tt := range []struct {
		word  string
		known []string
		want  string
	}{
		{"", nil, ""},
		{"", []string{"a", "ab"}, ""},
		{"Bsh", nil, ""},
		{"Bsh", []string{"Read", "Bash"}, "Bash"},
		{"BASH", []string{"bast", "bash"}, "bash"},
		{"fallow", []string{"Fallow", "fallow"}, "fallow"}, // the same letters before others
		{"fallow", []string{"FALLOW", "Fallow"}, "Fallow"},
		{"reed", []string{"read", "feed"}, "read"}, // equally near: the first
		{"reed", []string{"feed", "read"}, "feed"},
		{"abc", []string{"xyz"}, ""},
		{"xy", []string{"ab"}, ""}, // two edits of two letters are another word
		{"evn", []string{"env"}, "env"},
		{"permisions.alow", []string{"permissions.allow"}, "permissions.allow"},
		{"permision.alow", []string{"permissions.allow"}, "permissions.allow"}, // three edits of seventeen letters
		{"rmisin.alow", []string{"permissions.allow"}, ""},
		{"pre_tool_use", []string{"PostToolUse", "PreToolUse"}, "PreToolUse"},
		{"pre_tool_us", []string{"PreToolUse", "pre_tool_use"}, "pre_tool_use"}, // in the same spelling
		{long, []string{long}, ""},
		{"x", []string{strings.Repeat("x", 1<<20)}, ""},
	} {
		if got := Nearest(tt.word, tt.known); got != tt.want {
			t.Errorf("Nearest(%.80q, %.200q) = %q, want %q", tt.word, tt.known, got, tt.want)
		}
	}
}

func TestHint(t *testing.T) {
	for _, tt := range []struct{ word, want string }{
		{"tols", "did you mean tools?"},
		{"TOOLS", "did you mean tools?"},
		{"output", "the keys are tools, name, model"},
		{strings.Repeat("tools", 100), "the keys are tools, name, model"},
	} {
		known := []string{"tools", "name", "model"}
		if got := Hint(tt.word, known, "the keys are"); got != tt.want {
			t.Errorf("%.80q: %q, want %q", tt.word, got, tt.want)
		}
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("Bsh", "Bash", "Read")
	f.Add("", "", "é")
	f.Fuzz(func(t *testing.T, word, a, b string) {
		near := Nearest(word, []string{a, b})
		if near != "" && near != a && near != b {
			t.Errorf("%q is not a known word", near)
		}
		if len(word) <= longest && len(a) > 0 && strings.EqualFold(word, a) && strings.ToLower(word) == strings.ToLower(a) && near == "" {
			t.Errorf("%q is not near %q", word, a)
		}
	})
}
