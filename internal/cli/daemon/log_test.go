package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log stays below its limit, and the file before it has the newest lines.
func TestLogFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	other, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	l, err := openLog(name)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.limit = 40
	line := strings.Repeat("x", 15) + "\n"
	for range 10 {
		if _, err := l.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = other.WriteString("a panic\n") // as standard error
	for _, f := range []string{name, name + ".1"} {
		st, err := os.Stat(f)
		if err != nil || st.Size() > 40 || st.Size() == 0 || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, st, err)
		}
	}
	if b, _ := os.ReadFile(name); string(b) != line+line+"a panic\n" {
		t.Errorf("%q", b)
	}
	if err := os.Symlink(name, name+".link"); err != nil {
		t.Fatal(err)
	}
	if _, err := openLog(name + ".link"); err == nil {
		t.Error("a link was opened")
	}
}
