package holdfast

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// Every link of every Markdown page leads to a file, a folder or a heading of this repository. External
// addresses are not checked.
func TestLinks(t *testing.T) {
	c := newLinkCheck()
	pages := markdownPages(t)
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range c.links(string(b)) {
			if why := c.broken(page, to); why != "" {
				t.Errorf("%s: %s: %s", page, to, why)
			}
		}
	}
	if len(pages) < 50 {
		t.Errorf("only %d pages were found", len(pages))
	}
}

// Each recording and screenshot is shown by a page, and has no script.
func TestPicturesAreUsed(t *testing.T) {
	var all strings.Builder
	for _, page := range markdownPages(t) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	pictures, err := filepath.Glob("docs/*/*.[sp][vn]g")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(pictures, "docs/demo.svg") {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Error(err)
		} else if name := strings.TrimPrefix(filepath.ToSlash(p), "docs/"); name != "demo.svg" && !strings.Contains(all.String(), name+")") {
			t.Errorf("no page shows docs/%s", name)
		} else if strings.Contains(string(b), "<script") {
			t.Errorf("docs/%s contains a script", name)
		}
	}
}

func TestLinkCheck(t *testing.T) {
	c := newLinkCheck()
	page := "# A `b`: c & d\n## Same\n## Same\n[x](y.md#z) `[no](code)`\n```\n[no](fence)\n# no\n```\n<img src=\"p.svg\"> [t](<u.md> \"title\") [f](g(1).md)\n"
	if got, want := c.links(page), []string{"y.md#z", "u.md", "g(1).md", "p.svg"}; !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("links: got %q, want %q", got, want)
	}
	ids := c.anchors(page)
	for _, id := range []string{"a-b-c--d", "same", "same-1"} {
		if !ids[id] {
			t.Errorf("no anchor %q in %v", id, ids)
		}
	}
	for to, ok := range map[string]bool{
		"README.md": true, "docs": true, "docs/glossary.md#glossary": true, "source_test.go#L10": true, "https://example.com/no": true,
		"missing.md": false, "README.md#no-such-heading": false, "docs#x": false, "#no-such-heading": false,
	} {
		if why := c.broken("README.md", to); (why == "") != ok {
			t.Errorf("%s: %q", to, why)
		}
	}
}

// sorted returns a sorted copy.
func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// markdownPages lists the Markdown files of the repository, without test data.
func markdownPages(t *testing.T) (pages []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "node_modules", "dist"}, d.Name())):
			return fs.SkipDir
		case filepath.Ext(name) == ".md":
			pages = append(pages, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

type linkCheck struct {
	fence, code, heading, link, text, scheme *regexp.Regexp
	ids                                      map[string]map[string]bool // by page
}

func newLinkCheck() *linkCheck {
	return &linkCheck{
		fence:   regexp.MustCompile("(?ms)^[ \t]*(```+|~~~+).*?^[ \t]*(```+|~~~+)[ \t]*$"),
		code:    regexp.MustCompile("`[^`\n]*`"),
		heading: regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`),
		link:    regexp.MustCompile(`\]\(<?([^()\s<>]+(?:\([^()\s]*\)[^()\s<>]*)?)>?(?:\s+"[^"]*")?\)|\b(?:src|href)="([^"]+)"`),
		text:    regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`),
		scheme:  regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`),
		ids:     map[string]map[string]bool{},
	}
}

func (c *linkCheck) links(page string) (list []string) {
	for _, m := range c.link.FindAllStringSubmatch(c.code.ReplaceAllString(c.fence.ReplaceAllString(page, ""), "``"), -1) {
		list = append(list, m[1]+m[2])
	}
	return list
}

// anchors returns the ids that GitHub gives to the headings of a page.
func (c *linkCheck) anchors(page string) map[string]bool {
	ids := map[string]bool{}
	for _, m := range c.heading.FindAllStringSubmatch(c.fence.ReplaceAllString(page, ""), -1) {
		id := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
				return unicode.ToLower(r)
			}
			return -1
		}, c.text.ReplaceAllString(m[1], "$1"))
		for n, base := 1, id; ids[id]; n++ {
			id = base + "-" + strconv.Itoa(n)
		}
		ids[id] = true
	}
	return ids
}

// broken returns why a link of a page leads nowhere, or "".
func (c *linkCheck) broken(page, to string) string {
	if c.scheme.MatchString(to) {
		return ""
	}
	file, anchor, has := strings.Cut(to, "#")
	target := page
	if file != "" {
		target = filepath.Join(filepath.Dir(page), file)
	}
	info, err := os.Stat(target)
	if err != nil {
		return "no such file"
	}
	if !has || strings.HasSuffix(file, ".go") { // a line of code
		return ""
	}
	if info.IsDir() {
		return "a folder has no headings"
	}
	if c.ids[target] == nil {
		b, err := os.ReadFile(target)
		if err != nil {
			return err.Error()
		}
		c.ids[target] = c.anchors(string(b))
	}
	if !c.ids[target][anchor] {
		return "no such heading"
	}
	return ""
}
