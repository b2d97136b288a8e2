package testprogram

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// A test that has changed its folder and its home still gets the one program.
func TestPath(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	t.Setenv(Variable, "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	first := Path(t)
	if out, err := exec.Command(first, "version").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("holdfast")) {
		t.Errorf("version: %v, %s", err, out)
	}
	again, err := build(runtime.GOOS)
	if err != nil || filepath.Dir(again) != filepath.Dir(first) {
		t.Errorf("%q, %v, want one beside %q", again, err, first)
	}
	file := filepath.Join(t.TempDir(), "copy")
	Copy(t, file)
	if st, err := os.Stat(file); err != nil || st.Mode().Perm()&0o005 != 0o005 {
		t.Errorf("others may not run the copy: %v, %v", st.Mode(), err)
	}
}

func TestGiven(t *testing.T) {
	t.Setenv(Variable, "/made/before")
	if p, l := Path(t), Linux(t); p != "/made/before" || l != p {
		t.Errorf("%q, %q", p, l)
	}
}

func TestForget(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-3 * time.Hour)
	for _, name := range []string{"kept", "old", "new"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "new" {
			continue
		}
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	removeOld(filepath.Join(dir, "*"), filepath.Join(dir, "kept"))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}
