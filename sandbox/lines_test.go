package sandbox

import (
	"os"
	"strings"
	"testing"
)

// Lines of testdata are denied, or not, under lists of paths; "\n" is a newline.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		file     string
		settings Settings
		denied   bool
		least    int
	}{
		{"writes.txt", Settings{AllowedWritePaths: []string{"/project/build"}}, true, 150},
		{"denied.txt", Settings{DeniedPaths: []string{"/etc"}}, true, 30},
		{"found.txt", Settings{AllowedReadPaths: []string{"/project"}, AllowedWritePaths: []string{"/project"}}, true, 10},
		{"inside.txt", Settings{AllowedReadPaths: []string{"/project"}, AllowedWritePaths: []string{"/project"}}, false, 100},
	} {
		c, err := NewChecker(&tt.settings, &Options{Home: "/home/u"})
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile("testdata/" + tt.file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
				continue
			}
			n++
			if err := c.CheckCommand(strings.ReplaceAll(line, `\n`, "\n"), "/project"); (err != nil) != tt.denied {
				t.Errorf("%s: %s: %v", tt.file, line, err)
			}
		}
		if n < tt.least {
			t.Errorf("%s has %d lines, want at least %d", tt.file, n, tt.least)
		}
	}
}
