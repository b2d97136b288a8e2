package inputlog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/inputlog"
)

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), inputlog.Name)
	of := func(id string) func(*inputlog.Entry) bool {
		return func(e *inputlog.Entry) bool { return e.Session == id }
	}
	if err := inputlog.Remove(t.Context(), path, of("a")); err != nil {
		t.Fatal(err)
	}
	if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 0 {
		t.Errorf("files were created: %v", list)
	}
	const a, b, broken = `{"text":"one","session":"a"}` + "\n", `{"text":"two","session":"b"}` + "\n", "{\"te\n"
	if err := os.WriteFile(path, []byte(a+broken+b+a), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := inputlog.Count(path, of("a")); n != 2 || err != nil {
		t.Error(n, err)
	}
	if err := inputlog.Remove(t.Context(), path, of("a")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != broken+b {
		t.Errorf("%q %v", got, err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
}
