package docgen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test that notes its failure.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, _ ...any) { r.failed = format }

func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	for _, tt := range []struct {
		old, text, failed string
		update            bool
	}{
		{"a\nb\n", "a\nb\n", "", false},
		{"a\nb\n", "a\nc\n", "differs from the code", false},
		{"a\nb\nc\n", "a\nb\n", "differs from the code", false},
		{"a\nb\n", "a\nc\n", "", true},
	} {
		*Update = tt.update
		r := &recorder{TB: t}
		write(r, file, tt.old, tt.text, makeDocs)
		*Update = false
		if tt.failed == "" && r.failed != "" || !strings.Contains(r.failed, tt.failed) {
			t.Errorf("%q, want %q: %q", tt.old, tt.text, r.failed)
		}
		if b, _ := os.ReadFile(file); tt.update && string(b) != tt.text {
			t.Errorf("the page is %q, want %q", b, tt.text)
		}
	}
}

func TestPath(t *testing.T) {
	if _, err := os.Stat(Path(t, "internal/docgen/docgen.go")); err != nil {
		t.Error(err)
	}
}

func TestLinkPages(t *testing.T) {
	text := "docs/a.md; (docs/reference/b.md), see docs/formats/c.md. @docs/d.md `docs/e.md`\n```\n see docs/f.md\n```\n"
	want := "[docs/a.md](../a.md); ([docs/reference/b.md](b.md)), see [docs/formats/c.md](../formats/c.md). @docs/d.md `docs/e.md`\n```\n see docs/f.md\n```\n"
	if got := linkPages("reference/x.md", text); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTable(t *testing.T) {
	got := Table([]string{"key", "meaning"}, [][]string{{Code("a|b"), Text("one | two\n <three> a_b*")}})
	want := "| key | meaning |\n|---|---|\n| `a\\|b` | one \\| two &lt;three> a_b\\* |\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
