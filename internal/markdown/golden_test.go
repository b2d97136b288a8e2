package markdown

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

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
			got := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "\x1b", "␛")
			file := filepath.Join("testdata", fmt.Sprintf("page.%s.%d.txt", name, w))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (go test ./internal/markdown -run Golden -update):\n%s", file, diff)
			}
		}
	}
}
