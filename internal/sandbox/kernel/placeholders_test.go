//go:build linux && (amd64 || arm64)

package kernel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A git that runs outside meanwhile either reads a whole placeholder or finds none.
func TestDotPlaceholderAtomic(t *testing.T) {
	for name, dot := range map[string]func(string) error{"without a name": createDotPlaceholder, "beside": createDotPlaceholderByRename} {
		t.Run(name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "commondir")
			done := make(chan struct{})
			var reader sync.WaitGroup
			reader.Go(func() {
				for {
					if got, err := os.ReadFile(name); err == nil && string(got) != "." || err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("read %q, %v", got, err)
						return
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
			for range 500 {
				if err := dot(name); err != nil || !IsPlaceholder(name) {
					t.Errorf("%v", err)
				}
				if err := os.Remove(name); err != nil {
					t.Error(err)
				}
			}
			close(done)
			reader.Wait()
		})
	}
}

// Two sandboxes of a folder that start at the same time take the same names.
func TestPlaceholdersConcurrentStarts(t *testing.T) {
	dir := t.TempDir()
	names := []Name{{Path: filepath.Join(dir, "commondir"), Dot: true}, {Path: filepath.Join(dir, "other")}}
	for range 100 {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				b := &placeholders{names: names}
				if err := b.add(); err != nil {
					t.Error(err)
				}
				b.done()
				b.remove()
			})
		}
		both.Wait()
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
