//go:build unix

package file

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// names lists a store's directory, without the store's own files.
func names(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.root.Name())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

func fork(t *testing.T, s *Store, id, parent string, seq int64) *author {
	t.Helper()
	a := &author{id: id}
	add(t, s, a, 0, a.opened(&session.Base{Parent: parent, Seq: seq}))
	return a
}

func TestDeleteFamilies(t *testing.T) {
	s := openStore(t, t.TempDir())
	a, l := begin(t, s, "a")
	add(t, s, a, l.Epoch, a.items(9, 200)...)
	fork(t, s, "b", "a", 3)
	fork(t, s, "c", "a", 7)
	fork(t, s, "d", "b", 4)
	step := func(id string, want ...string) {
		t.Helper()
		if err := s.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got := names(t, s); !slices.Equal(got, want) {
			t.Fatalf("after deleting %s: %v, want %v", id, got, want)
		}
	}
	own := func(id string, want int) {
		t.Helper()
		if rs, faults := readAll(t, s, id, session.Range{}); len(rs) != want || faults != nil {
			t.Fatalf("%s has %d records, want %d, faults %v", id, len(rs), want, faults)
		}
	}
	step("a", ".deleted-a", "b", "c", "d")
	own("a", 7)
	if b, err := os.ReadDir(filepath.Join(s.root.Name(), ".deleted-a")); err != nil || len(b) != 1 {
		t.Fatalf("%v, %v", b, err)
	}
	step("b", ".deleted-a", ".deleted-b", "c", "d")
	step("c", ".deleted-a", ".deleted-b", "d")
	own("a", 3) // trimmed again: only b's fork is left
	err := s.Append(t.Context(), "a", batchOf(0, (&author{id: "a"}).opened(nil)))
	if !errors.Is(err, session.ErrExists) {
		t.Fatal(err)
	}
	step("d")
	own2 := &author{id: "a"}
	add(t, s, own2, 0, own2.opened(nil))
	if l := take(t, s, "a"); l.Epoch != 2 {
		t.Fatalf("the new session's epoch is %d: the old one's writer would be believed", l.Epoch)
	}
}

// A writer with the session open detects the delete, in this process and in another.
func TestDeleteDuringWrite(t *testing.T) {
	for _, forked := range []bool{false, true} {
		dir := t.TempDir()
		s, other := openStore(t, dir), openStore(t, dir)
		a, l := begin(t, other, "s")
		add(t, other, a, l.Epoch, a.item("x"))
		if forked {
			fork(t, s, "f", "s", 2)
		}
		if err := s.Delete(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		b := batchOf(l.Epoch, a.item("y"))
		for _, st := range []*Store{s, other} {
			if err := st.Append(t.Context(), "s", b); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("append: %v", err)
			}
			if err := st.Renew(t.Context(), "s", l); !errors.Is(err, session.ErrFenced) {
				t.Errorf("renew: %v", err)
			}
			if err := errors.Join(st.Release(t.Context(), "s", l)); err != nil {
				t.Errorf("release: %v", err)
			}
			if err := st.Delete(t.Context(), "s"); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("delete: %v", err)
			}
		}
		if forked {
			continue
		}
		// The id is free again, and the old writer cannot write to the new session.
		n := &author{id: "s"}
		add(t, s, n, 0, n.opened(nil))
		take(t, s, "s")
		if err := other.Append(t.Context(), "s", b); !errors.Is(err, session.ErrFenced) {
			t.Errorf("append to the new session: %v", err)
		}
	}
}

// Links inside a session's directory are removed, never followed.
func TestDeleteRemovesLinks(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "store")
	s := openStore(t, dir)
	begin(t, s, "s")
	target, check := important(t, root)
	for i, to := range []string{target, filepath.Join(target, logName), "..", "/"} {
		if err := os.Symlink(to, filepath.Join(dir, "s", string(rune('a'+i)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	check()
	if got := names(t, s); got != nil {
		t.Fatal(got)
	}
}

// session_store-045: a session that cannot be deleted is not reported as
// missing, and stays.
func TestDeleteFails(t *testing.T) {
	for _, op := range []string{"rename", "syncdir", "removeall"} {
		dir := t.TempDir()
		broken := false
		s, err := open(dir, nil, diskOps{fault: func(o, name string) (int, error) {
			if broken && o == op {
				return 0, &fs.PathError{Op: o, Path: name, Err: syscall.EACCES}
			}
			return 0, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		begin(t, s, "s")
		begin(t, s, "t")
		broken = true
		err = s.Delete(t.Context(), "s")
		if !errors.Is(err, session.ErrReadOnly) || session.Hint(err) == "" {
			t.Errorf("%s: %v", op, err)
		}
		broken = false
		if err := s.Delete(t.Context(), "s"); err != nil && (op == "rename" || !errors.Is(err, session.ErrNotFound)) {
			t.Errorf("%s, again: %v", op, err)
		}
		if err := s.Delete(t.Context(), "t"); err != nil { // finishes what was left
			t.Errorf("%s, another: %v", op, err)
		}
		if got := names(t, s); got != nil {
			t.Errorf("%s: %v is left", op, got)
		}
		s.Close()
	}
}

// A fork whose first record is damaged may be anybody's: nothing it might need
// is removed.
func TestDeleteWithDamagedFork(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	a, l := begin(t, s, "a")
	add(t, s, a, l.Epoch, a.items(4, 100)...)
	f := fork(t, s, "f", "a", 5)
	add(t, s, f, take(t, s, "f").Epoch, f.item("x"))
	s.Close()
	name := filepath.Join(dir, "f", logName)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[40] ^= 1
	if err := errors.Join(os.WriteFile(name, b, 0o600), os.Remove(filepath.Join(dir, "f", metaName))); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if rs, _ := readAll(t, s, "a", session.Range{}); len(rs) != 5 {
		t.Fatalf("%d records are left", len(rs))
	}
}

// The directory's name wins over the id in the file, and names differ by more than case.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	begin(t, s, "a")
	s.Close()
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved")); err != nil { // session_list-012
		t.Fatal(err)
	}
	s = openStore(t, dir)
	p, err := s.List(t.Context(), session.Query{})
	if err != nil || len(p.Sessions) != 1 || p.Sessions[0].ID != "moved" {
		t.Fatalf("%+v, %v", p, err)
	}
	if rs, _ := readAll(t, s, "moved", session.Range{}); len(rs) != 1 {
		t.Fatal(rs)
	}
	other := openStore(t, dir)
	for id := range strings.FieldsSeq("MOVED Moved movED") {
		for _, st := range []*Store{s, other} {
			err := st.Append(t.Context(), id, batchOf(0, (&author{id: id}).opened(nil)))
			if !errors.Is(err, session.ErrExists) {
				t.Errorf("%s: %v", id, err)
			}
			if _, err := st.Acquire(t.Context(), id, session.Lease{}, nil); !errors.Is(err, session.ErrExists) {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
	// A name that another process made in the meantime counts too.
	begin(t, other, "Straße")
	if err := s.Append(t.Context(), "STRASSE", batchOf(0, (&author{id: "STRASSE"}).opened(nil))); err != nil {
		t.Errorf("ß is not ss on any disk: %v", err)
	}
	if err := s.Append(t.Context(), "straße", batchOf(0, (&author{id: "straße"}).opened(nil))); !errors.Is(err, session.ErrExists) {
		t.Error(err)
	}
}

func TestRefusedBatches(t *testing.T) {
	s := openStore(t, t.TempDir())
	a, l := begin(t, s, "s")
	good := a.item("x")
	for name, change := range map[string]func(*session.Record){
		"a gap":           func(r *session.Record) { r.Seq++ },
		"a newline":       func(r *session.Record) { r.Payload = []byte("{\"a\":\n1}") },
		"no object":       func(r *session.Record) { r.Payload = []byte("[]") },
		"no JSON":         func(r *session.Record) { r.Payload = []byte("{a}") },
		"two objects":     func(r *session.Record) { r.Payload = []byte("{}{}") },
		"empty":           func(r *session.Record) { r.Payload = []byte{} },
		"id not UTF-8":    func(r *session.Record) { r.ID = "\xff" },
		"no kind":         func(r *session.Record) { r.Kind = "" },
		"half a millisec": func(r *session.Record) { r.Time = r.Time.Add(500) },
	} {
		r := good
		change(&r)
		err := s.Append(t.Context(), "s", session.Batch{Expect: 1, Epoch: l.Epoch, Records: []session.Record{r}})
		if !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wrong := good
	wrong.Prev = session.Digest(sha256.Sum256(nil))
	err := s.Append(t.Context(), "s", session.Batch{Expect: 1, Epoch: l.Epoch, Records: []session.Record{wrong}})
	if !errors.Is(err, session.ErrConflict) {
		t.Errorf("another chain: %v", err)
	}
	add(t, s, a, l.Epoch, good)
}
