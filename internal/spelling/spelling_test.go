package spelling

import "testing"

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
