package markdown

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/docgen"
)

// all returns the lines of a complete text.
func all(o *Options, text string, width int) []string {
	s := New(o)
	s.Write(text)
	return s.Close(width)
}

func TestGolden(t *testing.T) {
	source, err := os.ReadFile("testdata/page.md")
	if err != nil {
		t.Fatal(err)
	}
	options := map[string]*Options{
		"plain":     nil,
		"16":        {Style: ANSI16, Hyperlinks: true},
		"256":       {Style: ANSI256},
		"truelight": {Style: TrueColor, Light: true, Hyperlinks: true},
	}
	for name, o := range options {
		for _, w := range []int{40, 60, 80} {
			if w != 80 && name != "plain" && name != "16" {
				continue
			}
			lines := all(o, string(source), w)
			for _, line := range lines {
				if n := printedWidth(line); n > w {
					t.Errorf("%s: %d columns: %q", name, n, line)
				}
			}
			got := strings.Join(lines, "\n") + "\n"
			file := filepath.Join("testdata", fmt.Sprintf("page.%s.%d.txt", name, w))
			docgen.Golden(t, file, got)
		}
	}
}
