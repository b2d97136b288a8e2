package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCheck(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"index.html":  `<h1 id="top">x</h1><a href="sub/a.html#one">a</a><img src="p.svg">`,
		"sub/a.html":  `<h2 id="one">x</h2>`,
		"p.svg":       "<svg/>",
		"ignored.txt": `<a href="/no">`,
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	links, ids, err := read(root)
	if err != nil || len(links) != 2 || len(ids) != 2 {
		t.Fatalf("%d links, %d pages, %v", len(links), len(ids), err)
	}
	page := filepath.Join(root, "index.html")
	for to, ok := range map[string]bool{
		"sub/a.html#one": true, "p.svg": true, "#top": true, "https://example.com/": true, "mailto:a@example.com": true,
		"sub/a.html#two": false, "#no": false, "missing.html": false, "sub": false, "/p.svg": false, "//host/p.svg": false,
	} {
		if why := broken(link{page, to}, ids); (why == "") != ok {
			t.Errorf("%s: %q", to, why)
		}
	}
}
