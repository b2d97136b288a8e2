package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// bigTree creates a folder of 20,000 files in 1,000 folders, with a repository at the top and two below.
func bigTree(b *testing.B) string {
	b.Helper()
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10 {
		for j := range 10 {
			for k := range 10 {
				dir := filepath.Join(root, fmt.Sprintf("a%d/b%d/c%d", i, j, k))
				if err := os.MkdirAll(dir, 0o755); err != nil {
					b.Fatal(err)
				}
				for n := range 19 {
					if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%d.go", n)), nil, 0o600); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	}
	for _, repo := range []string{".git", "a0/b1/.git", "a3/.git"} {
		if err := os.MkdirAll(filepath.Join(root, repo, "hooks"), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	return root
}

func BenchmarkCompile(b *testing.B) {
	c, err := newCompiler(nil, &OpenOptions{Folders: []string{bigTree(b)}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c.scanner = scanner{} // as the first time
		if _, err := c.compile(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompileAgain measures what a command needs every few seconds.
func BenchmarkCompileAgain(b *testing.B) {
	c, err := newCompiler(nil, &OpenOptions{Folders: []string{bigTree(b)}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.compile(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompileSmall(b *testing.B) {
	c, err := newCompiler(nil, &OpenOptions{Folders: []string{b.TempDir()}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.compile(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRefresh measures what each command needs if nothing has changed.
func BenchmarkRefresh(b *testing.B) {
	c, err := newCompiler(nil, &OpenOptions{Folders: []string{bigTree(b)}})
	if err != nil {
		b.Fatal(err)
	}
	p, err := c.compile()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if !p.isCurrent() {
			b.Fatal("the plan is stale")
		}
	}
}
