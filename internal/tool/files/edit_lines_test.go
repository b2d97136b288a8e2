package files

import (
	"strings"
	"testing"
)

// An edit that fits several places says in which lines they are.
func TestAmbiguousEditNamesLines(t *testing.T) {
	for _, tt := range []struct{ file, old, want string }{
		{"a\nb\na\nc\na\n", "a\n", "3 times, at lines 1, 3, 5;"},
		{"x\r\ny\r\nx\r\n", "x", "2 times, at lines 1, 3;"},
		{"x x x\ny\n", "x", "3 times, at line 1;"},
		{"q\n" + strings.Repeat("a\nb\n", 12), "a\nb", "12 times, at lines 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and 2 more;"},
	} {
		_, err := applyAll(parseText([]byte(tt.file)), []edit{{Old: tt.old, New: "z"}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q in %q: %v, want %q", tt.old, tt.file, err, tt.want)
		}
	}
}
