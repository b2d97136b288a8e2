package console_test

import (
	"crypto/sha512"
	"encoding/base64"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/console"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(console.Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Third-party files are as published, except for one import.
func TestVendor(t *testing.T) {
	readme := read(t, "vendor/README.md")
	lines := regexp.MustCompile("(?m)^\\| (\\S+\\.mjs) \\| \\S+ \\| `sha512-(\\S+)` \\|$").FindAllStringSubmatch(readme, -1)
	listed := map[string]bool{"README.md": true}
	for _, m := range lines {
		listed[m[1]] = true
		text := strings.Replace(read(t, "vendor/"+m[1]), `from"./preact.mjs"`, `from"preact"`, 1)
		sum := sha512.Sum512([]byte(text))
		if got := base64.StdEncoding.EncodeToString(sum[:]); got != m[2] {
			t.Errorf("vendor/%s has sha512-%s, not what README.md says", m[1], got)
		}
	}
	files, err := fs.ReadDir(console.Files(), "vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := f.Name(); !listed[name] && (!strings.HasPrefix(name, "LICENSE.") || !strings.Contains(readme, name)) {
			t.Errorf("vendor/%s is not in README.md", name)
		}
	}
	if len(lines) != 3 {
		t.Errorf("README.md lists %d files, want 3", len(lines))
	}
}

// The page's Content-Security-Policy forbids inline scripts and styles, HTML from text, and code
// from text. The page's own files need none of them.
func TestNothingInline(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|dangerouslySetInnerHTML|createContextualFragment|DOMParser|srcdoc|javascript:|setTimeout\(['"]`)
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*[^/>])?>[^<]|<style|\son[a-z]+="|style="`)
	address := regexp.MustCompile(`https?://[^\s'"` + "`" + `)]+`)
	for name := range ownFiles(t) {
		text := read(t, name)
		if m := forbidden.FindString(text); m != "" {
			t.Errorf("%s has %s", name, m)
		}
		if m := inline.FindString(text); m != "" {
			t.Errorf("%s has %q", name, m)
		}
		for _, a := range address.FindAllString(text, -1) {
			if !strings.HasPrefix(a, "http://www.w3.org/") && a != "https?://[^" {
				t.Errorf("%s contains %s: the page must not load anything from elsewhere", name, a)
			}
		}
	}
}

// Every import is a file of the page, and every file is imported or linked.
func TestImports(t *testing.T) {
	imports := regexp.MustCompile(`(?m)(?:from|import)\s*['"]([^'"]+)['"]`)
	links := regexp.MustCompile(`(?:src|href)="(/[^"#]+)"`)
	used := map[string]bool{"index.html": true}
	for name := range ownFiles(t) {
		text := read(t, name)
		if strings.HasSuffix(name, ".js") {
			for _, m := range imports.FindAllStringSubmatch(text, -1) {
				target := path.Join(path.Dir(name), m[1])
				used[target] = true
				if _, err := fs.Stat(console.Files(), target); err != nil {
					t.Errorf("%s imports %s: %v", name, m[1], err)
				}
			}
		}
		if strings.HasSuffix(name, ".html") {
			for _, m := range links.FindAllStringSubmatch(text, -1) {
				used[m[1][1:]] = true
				if _, err := fs.Stat(console.Files(), m[1][1:]); err != nil {
					t.Errorf("%s links %s: %v", name, m[1], err)
				}
			}
		}
	}
	for name := range ownFiles(t) {
		if !used[name] {
			t.Errorf("%s is used by nothing", name)
		}
	}
}

// The files of the page have a limited length, like those of the program.
func TestFileLength(t *testing.T) {
	for name := range ownFiles(t) {
		if n := strings.Count(read(t, name), "\n"); n > 400 {
			t.Errorf("%s has %d lines, at most 400 are allowed", name, n)
		}
	}
}

// ownFiles returns the files of the page, without third-party files.
func ownFiles(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := fs.WalkDir(console.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(name, "vendor/") {
			out[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
