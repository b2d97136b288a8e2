package search_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/session/search"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

func open(t testing.TB, path string, store session.Store) *search.Index {
	t.Helper()
	x, err := search.Open(context.Background(), path, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func TestSuite(t *testing.T) {
	for name, fresh := range map[string]func(t testing.TB) session.Store{
		"memory": func(testing.TB) session.Store { return memory.New() },
		"sqlite": func(t testing.TB) session.Store {
			s, err := sqlite.Open(filepath.Join(t.TempDir(), "s.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
		"file": func(t testing.TB) session.Store {
			s, err := file.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			sessiontest.Run(t, fresh, sessiontest.Capabilities{Index: func(t testing.TB, s session.Store) session.Searcher {
				return open(t, filepath.Join(t.TempDir(), "deep", "index.db"), s)
			}})
		})
	}
}

// indexEnv is a store with a session in it, and an index beside it.
type indexEnv struct {
	*testing.T
	path     string
	store    *memory.Store
	sessions *session.Sessions
	log      *session.Log
}

func newIndexEnv(t *testing.T) *indexEnv {
	h := &indexEnv{T: t, store: memory.New(), path: filepath.Join(t.TempDir(), "index.db")}
	h.sessions = session.New(h.store, nil)
	var err error
	if h.log, err = h.sessions.Create(t.Context(), session.Opened{SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.log.Close() })
	return h
}

func (h *indexEnv) say(texts ...string) {
	h.Helper()
	for _, text := range texts {
		e := transcript.Item{ID: h.sessions.NewID(), Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: text}}}.MustEncode()
		if _, err := h.log.Append(h.Context(), session.ItemDraft(e, false, nil)); err != nil {
			h.Fatal(err)
		}
	}
}

func (h *indexEnv) count(x *search.Index, words string) int {
	h.Helper()
	hits, err := x.Search(h.Context(), session.Search{Words: words})
	if err != nil {
		h.Fatal(err)
	}
	return len(hits.Hits)
}

func (h *indexEnv) index(x *search.Index) {
	h.Helper()
	if err := x.Index(h.Context()); err != nil {
		h.Fatal(err)
	}
}

// An index that is damaged, of another version, or not an index is recreated.
func TestIndexRecreated(t *testing.T) {
	h := newIndexEnv(t)
	h.say("a needle")
	for name, spoil := range map[string]func(path string) error{
		"text":      func(path string) error { return os.WriteFile(path, []byte("not a database at all"), 0o600) },
		"truncated": func(path string) error { return os.Truncate(path, 5000) },
		"gone":      os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "index.db")
			x := open(t, path, h.store)
			h.index(x)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Fatal(info.Mode(), err)
			}
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			x = open(t, path, h.store)
			h.index(x)
			if h.count(x, "needle") != 1 {
				t.Error("the needle is lost")
			}
		})
	}
	if _, err := search.Open(t.Context(), t.TempDir(), h.store); err == nil {
		t.Error("a folder was opened")
	}
}

// Erased or deleted text is no longer in the file.
func TestErasedBytes(t *testing.T) {
	h := newIndexEnv(t)
	h.say("first xylophone", "second zeppelinium", "third words")
	x := open(t, h.path, h.store)
	h.index(x)
	in := func(word string) bool {
		t.Helper()
		var all []byte
		for _, suffix := range []string{"", "-wal"} {
			b, _ := os.ReadFile(h.path + suffix) // there may be no journal
			all = append(all, b...)
		}
		return bytes.Contains(all, []byte(word))
	}
	if !in("xylophone") || !in("zeppelinium") {
		t.Fatal("the words are not there to begin with")
	}
	if err := h.log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.sessions.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{3}}); err != nil {
		t.Fatal(err)
	}
	h.index(x)
	if err := x.Close(); err != nil { // the journal goes
		t.Fatal(err)
	}
	if in("zeppelinium") {
		t.Error("an erased word is in the file")
	}
	if !in("xylophone") {
		t.Error("what stays is gone")
	}
	if err := h.sessions.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	x = open(t, h.path, h.store)
	h.index(x)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if in("xylophone") {
		t.Error("a word of a deleted session is in the file")
	}
}

// A large log is indexed in parts, and an interrupted Index continues.
func TestIndexInBatches(t *testing.T) {
	h := newIndexEnv(t)
	long := strings.Repeat("hay ", 300_000)
	h.say(long, long, long, long, long+"needle")
	x := open(t, h.path, h.store)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Index(ctx); err == nil {
		t.Error("a cancelled Index ended well")
	}
	h.index(x)
	if n := h.count(x, "hay needle"); n != 1 {
		t.Errorf("%d hits", n)
	}
	if n := h.count(x, "hay"); n != 5 {
		t.Errorf("%d hits", n)
	}
}

// Several programs index at once, while somebody writes.
func TestManyIndex(t *testing.T) {
	h := newIndexEnv(t)
	var wg sync.WaitGroup
	for range 4 {
		x := open(t, h.path, h.store)
		wg.Go(func() {
			for range 5 {
				if err := x.Index(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		h.say("grain of sand")
	}
	wg.Wait()
	x := open(t, h.path, h.store)
	h.index(x)
	if n := h.count(x, "grain sand"); n != 50 {
		t.Errorf("%d hits", n)
	}
}
