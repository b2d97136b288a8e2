package examples_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSDKPage checks that each block of Go in docs/sdk.md, in the quickstart and in the reference of approvals is an
// excerpt of a program or an example that is compiled and tested, and that docs/sdk.md and the README name every program.
func TestSDKPage(t *testing.T) {
	var sources []string
	for _, dir := range []string{".", "../agent", "../approval", "../session"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || dir != "." && !strings.HasSuffix(path, "example_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			sources = append(sources, lines(string(b)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	page := read(t, "../docs/sdk.md")
	for file, least := range map[string]int{"sdk.md": 10, "quickstart-go.md": 4, "reference/approvals.md": 1} {
		blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, "../docs/"+file), -1)
		if len(blocks) < least {
			t.Fatalf("%s: %d blocks", file, len(blocks))
		}
	next:
		for _, b := range blocks {
			for _, s := range sources {
				if strings.Contains(s, lines(b[1])) {
					continue next
				}
			}
			t.Errorf("docs/%s: no example has these lines:\n%s", file, b[1])
		}
	}
	programs, err := filepath.Glob("*/main.go")
	if err != nil || len(programs) < 6 {
		t.Fatal(programs, err)
	}
	readme := read(t, "README.md")
	for _, p := range programs {
		if !strings.Contains(readme, "("+p+")") || !strings.Contains(page, "../examples/"+p) {
			t.Errorf("README.md or docs/sdk.md does not name %s", p)
		}
	}
}

// lines returns the lines of a text without indentation and blank lines.
func lines(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
