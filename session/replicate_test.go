package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

// shipStores are pairs that things are shipped between.
func shipStores(t *testing.T) map[string]func(t *testing.T) (from, to session.Store) {
	open := func(t *testing.T, kind string) session.Store {
		var (
			s   session.Store
			err error
		)
		switch kind {
		case "file":
			s, err = file.Open(t.TempDir(), nil)
		case "sqlite":
			s, err = sqlite.Open(filepath.Join(t.TempDir(), "s.db"), nil)
		default:
			s = memory.New()
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := s.(interface{ Close() error }); ok {
			t.Cleanup(func() { _ = c.Close() })
		}
		return s
	}
	pairs := map[string]func(t *testing.T) (from, to session.Store){}
	for _, p := range [][2]string{{"memory", "memory"}, {"memory", "file"}, {"file", "sqlite"}, {"sqlite", "file"}, {"sqlite", "memory"}} {
		pairs[p[0]+" to "+p[1]] = func(t *testing.T) (session.Store, session.Store) { return open(t, p[0]), open(t, p[1]) }
	}
	return pairs
}

// write makes a session with items of these texts, or adds them.
func write(t *testing.T, s *session.Sessions, id string, texts ...string) {
	t.Helper()
	l, err := s.Open(t.Context(), id, nil)
	if errors.Is(err, session.ErrNotFound) {
		l, err = s.Create(t.Context(), session.Opened{SessionID: id, Title: "title of " + id, CWD: "/work"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		it := transcript.UserText(text)
		it.ID = s.NewID()
		if _, err := l.Append(t.Context(), session.ItemDraft(it.MustEncode(), false, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// ownRecords reads what one log has.
func ownRecords(t *testing.T, s session.Store, id string) []session.Record {
	t.Helper()
	var recs []session.Record
	for r, err := range s.Read(t.Context(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, r)
	}
	return recs
}

// sameLogs fails unless the session is the same in both.
func sameLogs(t *testing.T, from, to session.Store, id string) {
	t.Helper()
	a, b := ownRecords(t, from, id), ownRecords(t, to, id)
	if !slices.EqualFunc(a, b, func(a, b session.Record) bool {
		return a.Seq == b.Seq && a.ID == b.ID && a.Time.Equal(b.Time) && a.Kind == b.Kind && string(a.Payload) == string(b.Payload) &&
			(a.Payload == nil) == (b.Payload == nil) && a.Prev == b.Prev && a.Body == b.Body && a.Digest == b.Digest
	}) {
		t.Fatalf("session %s: %d records here and %d there, or they differ", id, len(a), len(b))
	}
}

// verified fails unless a session verifies.
func verified(t *testing.T, s session.Store, id string) *session.Report {
	t.Helper()
	r, err := session.New(s, nil).Verify(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK() {
		t.Fatalf("session %s: faults %+v, meta %+v, rebuilt %+v", id, r.Faults, r.Meta, r.Rebuilt)
	}
	return r
}

func ship(t *testing.T, from, to session.Store, id string) session.Shipped {
	t.Helper()
	r, err := session.Ship(t.Context(), from, to, id)
	if err != nil {
		t.Fatalf("ship %s: %v", id, err)
	}
	return r
}

func TestReplicate(t *testing.T) {
	for name, stores := range shipStores(t) {
		t.Run(name, func(t *testing.T) {
			from, to := stores(t)
			s := session.New(from, nil)
			write(t, s, "a", "one", "two")
			if r := ship(t, from, to, "a"); !r.Created || r.Records != 4 || r.Bytes == 0 {
				t.Fatalf("the first time: %+v", r)
			}
			sameLogs(t, from, to, "a")
			write(t, s, "a", strings.Repeat("long ", 1<<18), "three") // more than one batch
			if err := s.Rename(t.Context(), "a", "another title"); err != nil {
				t.Fatal(err)
			}
			if r := ship(t, from, to, "a"); r.Created || r.Records != 3 {
				t.Fatalf("news: %+v", r)
			}
			if r := ship(t, from, to, "a"); r.Records != 0 {
				t.Fatalf("nothing new: %+v", r)
			}
			sameLogs(t, from, to, "a")
			verified(t, to, "a")
			write(t, session.New(to, nil), "a", "the lease was given back")
			if _, err := session.Ship(t.Context(), from, to, "a"); !errors.Is(err, session.ErrConflict) || session.Hint(err) == "" {
				t.Fatalf("to is ahead: %v", err)
			}
			write(t, s, "a", "x", "y")
			if _, err := session.Ship(t.Context(), from, to, "a"); !errors.Is(err, session.ErrConflict) {
				t.Fatalf("diverged: %v", err)
			}
			if _, err := session.Ship(t.Context(), from, to, "nothing"); !errors.Is(err, session.ErrNotFound) {
				t.Fatalf("no session: %v", err)
			}
		})
	}
}

func TestReplicateErased(t *testing.T) {
	for name, stores := range shipStores(t) {
		t.Run(name, func(t *testing.T) {
			from, to := stores(t)
			s := session.New(from, nil)
			write(t, s, "a", "one", "a secret", "three")
			ship(t, from, to, "a")
			if _, err := s.Redact(t.Context(), "a", session.RedactOptions{Seqs: []int64{3}}); err != nil {
				t.Fatal(err)
			}
			if r := ship(t, from, to, "a"); r.Erased != 1 {
				t.Fatalf("erased afterwards: %+v", r)
			}
			sameLogs(t, from, to, "a")
			if r := verified(t, to, "a"); r.Erased != 1 {
				t.Fatalf("%d records are erased", r.Erased)
			}
			fresh := memory.New()
			ship(t, from, fresh, "a")
			sameLogs(t, from, fresh, "a")
			verified(t, fresh, "a")
		})
	}
}

func TestReplicateErasedSince(t *testing.T) {
	// The copy erases also when the original has only said so yet.
	from, to := memory.New(), memory.New()
	s := session.New(from, nil)
	write(t, s, "a", "one", "a secret")
	ship(t, from, to, "a")
	l, err := s.Open(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := session.NewDraft(record.KindRedacted, record.Redacted{Seqs: []int64{3}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	ship(t, from, to, "a")
	if got := ownRecords(t, to, "a"); got[2].Payload != nil {
		t.Fatalf("the copy has %s", got[2].Payload)
	}
}

func TestReplicateForks(t *testing.T) {
	for name, stores := range shipStores(t) {
		t.Run(name, func(t *testing.T) {
			from, to := stores(t)
			s := session.New(from, nil)
			family(t, s)
			ship(t, from, to, "child")
			for _, id := range []string{"root", "mid", "child"} {
				sameLogs(t, from, to, id)
			}
			verified(t, to, "child")
			// The parents are kept for their forks, and deleted once all of these are there.
			for _, id := range []string{"root", "mid"} {
				if err := s.Delete(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				ship(t, from, to, id)
			}
			if deleted(t, to, "root") {
				t.Fatal("root was deleted before its fork, the uncle, was shipped")
			}
			if r := ship(t, from, to, "uncle"); r.Records == 0 {
				t.Fatalf("the uncle: %+v", r)
			}
			for _, id := range []string{"root", "mid"} {
				ship(t, from, to, id)
				if !deleted(t, to, id) {
					t.Fatalf("%s is not deleted in the copy", id)
				}
			}
			verified(t, to, "child")
			verified(t, to, "uncle")
		})
	}
}

// family makes root, its forks mid and uncle, and child, a fork of mid.
func family(t *testing.T, s *session.Sessions) {
	t.Helper()
	write(t, s, "root", "one", "two", "three")
	for _, f := range [][2]string{{"root", "mid"}, {"mid", "child"}, {"root", "uncle"}} {
		if _, err := s.Fork(t.Context(), f[0], &session.ForkOptions{ID: f[1]}); err != nil {
			t.Fatal(err)
		}
		write(t, s, f[1], "in "+f[1])
	}
}

func deleted(t *testing.T, s session.Store, id string) bool {
	t.Helper()
	p, err := s.List(t.Context(), session.Query{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return len(p.Sessions) == 0 || p.Sessions[0].Deleted
}

func TestReplicateOrphans(t *testing.T) {
	for name, stores := range shipStores(t) {
		t.Run(name, func(t *testing.T) {
			from, to := stores(t)
			s := session.New(from, nil)
			write(t, s, "root", "one", "two", "three")
			if _, err := s.Fork(t.Context(), "root", &session.ForkOptions{ID: "mid"}); err != nil {
				t.Fatal(err)
			}
			// This one begins in what mid has from root.
			at := 0
			if _, err := s.Fork(t.Context(), "mid", &session.ForkOptions{ID: "early", ItemIndex: &at}); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"root", "mid"} {
				if err := s.Delete(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			r, err := session.New(from, nil).ReplicateAll(t.Context(), to, nil)
			if err != nil || !r.OK() || r.Sessions != 1 {
				t.Fatalf("copy: %+v %v", r, err)
			}
			sameLogs(t, from, to, "early")
			verified(t, to, "early")
			if !deleted(t, to, "root") || !deleted(t, to, "mid") {
				t.Fatal("what is kept for forks only is listed in the copy")
			}
		})
	}
}

func TestCopy(t *testing.T) {
	for name, stores := range shipStores(t) {
		t.Run(name, func(t *testing.T) {
			from, to := stores(t)
			s := session.New(from, nil)
			family(t, s)
			for i := range 5 {
				write(t, s, fmt.Sprintf("s%d", i), "text")
			}
			if err := s.Trash(t.Context(), "s3"); err != nil {
				t.Fatal(err)
			}
			write(t, s, "wt-tree", "in a worktree")
			dry, err := session.New(from, nil).PreviewCopy(t.Context(), to, nil)
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			r, err := session.New(from, nil).ReplicateAll(t.Context(), to, func(session.CopyReport) { calls++ })
			if err != nil || !r.OK() || r.Sessions != 10 || calls != 10 {
				t.Fatalf("copy: %+v %v, progress %d times", r, err, calls)
			}
			if dry.Records != r.Records || dry.Bytes != r.Bytes {
				t.Fatalf("a dry run says %+v, the copy %+v", dry, r)
			}
			sameLists(t, from, to)
			write(t, s, "s2", "news")
			again, err := session.New(from, nil).ReplicateAll(t.Context(), to, nil)
			if err != nil || !again.OK() || again.Records != 1 || again.Changed != 1 {
				t.Fatalf("the second time: %+v %v", again, err)
			}
			sameLists(t, from, to)
		})
	}
}

// sameLists fails unless lists show the same, in the same order.
func sameLists(t *testing.T, from, to session.Store) {
	t.Helper()
	list := func(s session.Store) []session.Meta {
		p, err := s.List(t.Context(), session.Query{Worktrees: true, WithTrash: true})
		if err != nil {
			t.Fatal(err)
		}
		return p.Sessions
	}
	a, _ := json.Marshal(list(from))
	b, _ := json.Marshal(list(to))
	if string(a) != string(b) {
		t.Fatalf("lists differ:\n%s\n%s", a, b)
	}
}

func TestCopyContinues(t *testing.T) {
	from, to := memory.New(), memory.New()
	s := session.New(from, nil)
	for i := range 10 {
		write(t, s, fmt.Sprintf("s%d", i), "text")
	}
	ctx, cancel := context.WithCancel(t.Context())
	if r, err := session.New(from, nil).ReplicateAll(ctx, to, func(r session.CopyReport) {
		if r.Done == 4 {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) || r.Done != 4 {
		t.Fatalf("interrupted: %+v %v", r, err)
	}
	r, err := session.New(from, nil).ReplicateAll(t.Context(), to, nil)
	if err != nil || !r.OK() || r.Changed != 6 {
		t.Fatalf("the second time: %+v %v", r, err)
	}
}

func TestCopyFaults(t *testing.T) {
	from, to := memory.New(), memory.New()
	write(t, session.New(from, nil), "a", "one")
	write(t, session.New(to, nil), "a", "another")
	write(t, session.New(from, nil), "b", "one")
	r, err := session.New(from, nil).ReplicateAll(t.Context(), to, nil)
	if err != nil || r.OK() || len(r.Faults) != 1 || r.Faults[0].Session != "a" || !errors.Is(r.Faults[0].Err, session.ErrConflict) {
		t.Fatalf("copy: %+v %v", r, err)
	}
	sameLogs(t, from, to, "b")
}
