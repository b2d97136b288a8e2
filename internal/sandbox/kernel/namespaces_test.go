//go:build linux && (amd64 || arm64)

package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Success of the namespace test is recorded for the current conditions and boot only; failure is not
// recorded.
func TestNamespacesOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespaces")
	tries, refused := 0, error(nil)
	was := Namespaces
	Namespaces = func() error { tries++; return refused }
	t.Cleanup(func() { Namespaces = was })
	once := func(want error, wantTries int) {
		t.Helper()
		tries = 0
		if err := NamespacesOnce(file); !errors.Is(err, want) || tries != wantTries {
			t.Errorf("%v after %d tries, want %v after %d", err, tries, want, wantTries)
		}
	}
	refused = errors.New("no")
	once(refused, 1)
	once(refused, 1)
	refused = nil
	once(nil, 1)
	once(nil, 0)
	here, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, there := range []string{"", "boot of yesterday\n", string(here[:len(here)-2])} {
		if err := os.WriteFile(file, []byte(there), 0o600); err != nil {
			t.Fatal(err)
		}
		once(nil, 1)
		once(nil, 0)
	}
	// the file cannot be written: each call tests again
	file = filepath.Join(t.TempDir(), "is", "not", "there")
	once(nil, 1)
	once(nil, 1)
}
