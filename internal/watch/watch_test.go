package watch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/watch"
)

// Example reports a file that is created.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "watch-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	reported := make(chan watch.Change, 10)
	w, err := watch.New(&watch.Options{Fire: func(c watch.Change) { reported <- c }, Settle: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Watch("mine", []string{filepath.Join(dir, ".env")}); err != nil {
		fmt.Println(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("A=1"), 0o600); err != nil {
		fmt.Println(err)
	}
	c := <-reported
	fmt.Println(c.Kind, filepath.Base(c.Path))
	fmt.Println(w.Close())
	// Output:
	// add .env
	// <nil>
}

// watchEnv is a watched folder.
type watchEnv struct {
	t        *testing.T
	dir      string
	outside  string // a folder beside it
	w        *watch.Watcher
	reported chan string
}

func newWatchEnv(t *testing.T, o watch.Options, names ...string) *watchEnv {
	t.Helper()
	h := &watchEnv{t: t, dir: t.TempDir(), outside: t.TempDir(), reported: make(chan string, 100)}
	fire := o.Fire
	o.Fire = func(c watch.Change) {
		if fire != nil {
			fire(c)
		}
		h.reported <- c.Kind + " " + strings.TrimPrefix(c.Path, h.dir+"/")
	}
	if o.Settle == 0 {
		o.Settle = time.Millisecond
	}
	o.OnError = func(err error) { h.reported <- "wrong: " + err.Error() }
	var err error
	if h.w, err = watch.New(&o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.w.Close(); err != nil && !errors.Is(err, watch.ErrClosed) {
			t.Error(err)
		}
	})
	h.watch("first", names...)
	return h
}

func (h *watchEnv) at(name string) string { return filepath.Join(h.dir, name) }

func (h *watchEnv) watch(list string, names ...string) {
	h.t.Helper()
	var paths []string
	for _, n := range names {
		paths = append(paths, h.at(n))
	}
	if err := h.w.Watch(list, paths); err != nil {
		h.t.Fatal(err)
	}
}

// write creates a file, or appends to an existing one. Each is one change: a file that is created and then
// filled counts as two if it is read in between.
func (h *watchEnv) write(name, text string) {
	h.t.Helper()
	if f, err := os.OpenFile(h.at(name), os.O_WRONLY|os.O_APPEND, 0); err == nil {
		_, err := f.WriteString(text)
		if err := errors.Join(err, f.Close()); err != nil {
			h.t.Fatal(err)
		}
		return
	}
	fresh := filepath.Join(h.outside, filepath.Base(name))
	if err := errors.Join(
		os.MkdirAll(filepath.Dir(h.at(name)), 0o755),
		os.WriteFile(fresh, []byte(text), 0o600),
		os.Rename(fresh, h.at(name)),
	); err != nil {
		h.t.Fatal(err)
	}
}

// wants waits for the next reported change.
func (h *watchEnv) wants(want string) {
	h.t.Helper()
	select {
	case got := <-h.reported:
		if got != want {
			h.t.Fatalf("reported %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		h.t.Fatalf("%q was never reported", want)
	}
}

// quiet changes a watched file, and checks that nothing else is reported before that change.
func (h *watchEnv) quiet(name string) {
	h.t.Helper()
	h.watch("quiet", name)
	h.write(name, "x")
	h.wants("add " + name)
}

func TestLife(t *testing.T) {
	h := newWatchEnv(t, watch.Options{}, "a.txt", "deep/er/b.txt")
	h.write("other.txt", "nobody named it")
	h.write("a.txt", "one")
	h.wants("add a.txt")
	h.write("a.txt", "three")
	h.wants("change a.txt")
	if err := os.Remove(h.at("a.txt")); err != nil {
		t.Fatal(err)
	}
	h.wants("unlink a.txt")
	h.write("deep/er/b.txt", "its folders came with it")
	h.wants("add deep/er/b.txt")
	if err := os.RemoveAll(h.at("deep")); err != nil {
		t.Fatal(err)
	}
	h.wants("unlink deep/er/b.txt")
	h.write("deep/er/b.txt", "back")
	h.wants("add deep/er/b.txt")
	h.quiet("q")
}

// TestReplaced saves a file as editors do: another file takes its name.
func TestReplaced(t *testing.T) {
	h := newWatchEnv(t, watch.Options{Settle: 30 * time.Millisecond})
	h.write("a.txt", "one")
	h.watch("first", "a.txt")
	h.write("a.txt~", "two")
	if err := os.Rename(h.at("a.txt~"), h.at("a.txt")); err != nil {
		t.Fatal(err)
	}
	h.wants("change a.txt")
	h.quiet("q")
}

func TestFolder(t *testing.T) {
	h := newWatchEnv(t, watch.Options{})
	h.write("d/one", "1")
	h.watch("first", "d", "later")
	h.write("d/two", "2")
	h.wants("add d/two")
	h.write("d/one", "11")
	h.wants("change d/one")
	h.write("d/sub/three", "deeper does not count")
	h.wants("add d/sub")
	h.write("later/x", "")
	h.wants("add later")
	for got := range h.reported { // with the folder, or after it
		if got == "add later/x" {
			break
		}
		t.Fatalf("reported %q", got)
	}
	h.quiet("q")
}

func TestLists(t *testing.T) {
	dir := t.TempDir()
	reported := make(chan watch.Change, 10)
	w, err := watch.New(&watch.Options{Settle: time.Millisecond, Fire: func(c watch.Change) { reported <- c }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for list, paths := range map[string][]string{"a": {dir + "/x", dir + "/d/y"}, "b": {dir + "/x"}, "c": {dir + "/d"}} {
		if err := w.Watch(list, paths); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"x": "a b", "d/y": "a c"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c := <-reported
		for c.Path != filepath.Join(dir, name) { // of its folder
			c = <-reported
		}
		if got := strings.Join(c.Lists, " "); got != want {
			t.Errorf("%s is on %q, want %q", name, got, want)
		}
	}
}

func TestListReplaced(t *testing.T) {
	h := newWatchEnv(t, watch.Options{}, "a")
	h.watch("second", "b")
	h.watch("second", "c")
	h.write("b", "nobody wants it any more")
	h.write("c", "1")
	h.wants("add c")
	h.write("a", "1")
	h.wants("add a")
	h.watch("first")
	h.write("a", "22")
	h.quiet("q")
}

// TestMarkReported checks that a change that was reported elsewhere is not reported again.
func TestMarkReported(t *testing.T) {
	began, resume := make(chan bool), make(chan bool)
	fire := sync.OnceFunc(func() {
		began <- true
		<-resume
	})
	h := newWatchEnv(t, watch.Options{Fire: func(watch.Change) { fire() }}, "gate", "a", "d/b")
	h.write("gate", "")
	<-began // nothing is reported before this
	h.write("a", "1")
	h.w.MarkReported(h.at("a"))
	h.w.MarkReported(h.at("never-named"))
	resume <- true
	h.wants("add gate")
	h.quiet("q")
}

func TestChangesWhileFiring(t *testing.T) {
	h := newWatchEnv(t, watch.Options{})
	began, resume := make(chan bool), make(chan bool)
	first := true
	var w *watch.Watcher
	w, err := watch.New(&watch.Options{Settle: time.Millisecond, Fire: func(c watch.Change) {
		if first {
			first = false
			began <- true
			<-resume
			if err := w.Watch("more", []string{h.at("b")}); err != nil { // as a hook does
				t.Error(err)
			}
		}
		h.reported <- c.Kind + " " + filepath.Base(c.Path)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Watch("first", []string{h.at("a")}); err != nil {
		t.Fatal(err)
	}
	h.write("a", "1")
	<-began
	for i := range 50 {
		h.write("a", strings.Repeat("x", i+2))
	}
	resume <- true
	h.wants("add a")
	h.wants("change a") // fifty changes become one
	h.write("b", "")
	h.wants("add b")
}

func TestRefused(t *testing.T) {
	if _, err := watch.New(nil); err == nil {
		t.Error("a watcher without Fire")
	}
	h := newWatchEnv(t, watch.Options{Limit: 3}, "a")
	for _, bad := range []string{"relative", "", "/a\x00b"} {
		if err := h.w.Watch("bad", []string{bad}); err == nil {
			t.Errorf("%q is watched", bad)
		}
	}
	if err := h.w.Watch("many", []string{h.at("b"), h.at("c"), h.at("d")}); !errors.Is(err, watch.ErrTooMany) {
		t.Errorf("four of three: %v", err)
	}
	for i := range 5 {
		h.write(fmt.Sprintf("full/%d", i), "")
	}
	if err := h.w.Watch("many", []string{h.at("full")}); !errors.Is(err, watch.ErrTooMany) {
		t.Errorf("a full folder: %v", err)
	}
	h.write("a", "")
	h.wants("add a") // the earlier paths are still watched
	if err := h.w.Close(); err != nil {
		t.Error(err)
	}
	if err := h.w.Close(); !errors.Is(err, watch.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
	if err := h.w.Watch("late", nil); !errors.Is(err, watch.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
