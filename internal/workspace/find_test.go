//go:build unix

package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFits(t *testing.T) {
	for _, c := range []struct {
		name, element string
		want          bool
	}{
		{"rollout-1-a.jsonl", "rollout-*-a.jsonl", true},
		{"rollout--a.jsonl", "rollout-*-a.jsonl", true},
		{"rollout-a.jsonl", "rollout-*-a.jsonl", false},
		{"rollout-1-b.jsonl", "rollout-*-a.jsonl", false},
		{"xrollout-1-a.jsonl", "rollout-*-a.jsonl", false},
		{"a", "*", true},
		{"", "*", true},
		{"abcbd", "a*b*d", true},
		{"abd", "a*b*bd", false},
		{"[x]", "[*]", true},
	} {
		if got := fits(c.name, c.element); got != c.want {
			t.Errorf("%q fits %q: %v", c.name, c.element, got)
		}
	}
}

// A file is found only in the expected folders. Links, FIFOs and files in place of folders are skipped without
// blocking.
func TestFindBelow(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	write := func(dir string, rel string) {
		t.Helper()
		p := filepath.Join(dir, rel)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o700), os.WriteFile(p, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(home, "s/2026/11/r-1-id.jsonl")
	write(home, "s/2026/12/r-2-id.jsonl")
	write(home, "s/2026/12/r-2-other.jsonl")
	write(home, "s/2026/r-3-id.jsonl")
	write(other, "11/r-4-id.jsonl")
	if err := errors.Join(
		os.Symlink(other, filepath.Join(home, "s/2027")),
		os.Symlink("2026", filepath.Join(home, "s/2028")),
		unix.Mkfifo(filepath.Join(home, "s/2029"), 0o600),
		unix.Mkfifo(filepath.Join(home, "s/2026/12/r-5-id.jsonl"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	got, err := findBelow(root, "s/*/*/r-*-id.jsonl")
	want := []string{"s/2026/11/r-1-id.jsonl", "s/2026/12/r-2-id.jsonl", "s/2026/12/r-5-id.jsonl"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q, %v", got, err)
	}
	if _, err := findBelow(root, "s/*/*/r-*-nobody.jsonl"); !errors.Is(err, ErrNoFile) {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := findBelow(root, "none/*/r-*-id.jsonl"); !errors.Is(err, ErrNoFile) {
		t.Errorf("of no folder: %v", err)
	}
	if got, err := findBelow(root, "plain/path"); err != nil || !slices.Equal(got, []string{"plain/path"}) {
		t.Errorf("of a path: %q, %v", got, err)
	}
}
