package watch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// before calls a function right before the system watches a folder, once.
func before(w *Watcher, folder string, happen func()) {
	add, done := w.add, false
	w.add = func(dir string) error {
		if dir == folder && !done {
			done = true
			happen()
		}
		return add(dir)
	}
}

// Files that are created or removed while a folder is about to be watched are not missed.
func TestChangeDuringRegistration(t *testing.T) {
	for name, tt := range map[string]struct {
		there  []string // existing folders
		folder string   // about to be watched when
		make   string   // this is created, or
		gone   string   // this is removed
	}{
		"a folder comes below":  {nil, "deep", "deep/er", ""},
		"the folder goes":       {[]string{"deep"}, "deep", "", "deep"},
		"a folder goes for two": {[]string{"deep", "deep/er"}, "deep/er", "", "deep"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "deep/er/b.txt")
			reported := make(chan string, 10)
			w, err := New(&Options{Settle: time.Millisecond, Fire: func(c Change) { reported <- c.Kind }})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			for _, d := range tt.there {
				if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			happened := make(chan error, 1)
			before(w, filepath.Join(dir, tt.folder), func() {
				if tt.gone != "" {
					happened <- os.RemoveAll(filepath.Join(dir, tt.gone))
				} else {
					happened <- os.Mkdir(filepath.Join(dir, tt.make), 0o755)
				}
			})
			if err := w.Watch("mine", []string{file}); err != nil {
				t.Fatal(err)
			}
			if tt.there == nil {
				if err := os.Mkdir(filepath.Join(dir, "deep"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-happened; err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			if got := <-reported; got != Add {
				t.Fatalf("reported %s", got)
			}
			if err := os.WriteFile(file, []byte("1"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := <-reported; got != Edit {
				t.Fatalf("reported %s", got)
			}
		})
	}
}

// A change of a file while Watch is running belongs to the initial state.
func TestChangeDuringWatch(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	reported := make(chan string, 10)
	w, err := New(&Options{Settle: time.Millisecond, Fire: func(c Change) { reported <- c.Kind }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	before(w, dir, func() {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	if err := w.Watch("mine", []string{file}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-reported; got != Edit {
		t.Fatalf("reported %s", got)
	}
}
