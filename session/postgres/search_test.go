package postgres_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/postgres"
)

// found are the seqs that a search finds.
func found(t *testing.T, s *postgres.Store, q session.Search) string {
	t.Helper()
	var seqs []string
	for {
		hits, err := s.Search(ctx, q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		for _, h := range hits.Hits {
			seqs = append(seqs, fmt.Sprintf("%s/%d", h.Session, h.Seq))
		}
		if q.After = hits.Next; q.After == "" {
			return strings.Join(seqs, " ")
		}
	}
}

// A text with more words than a tsvector holds is found by any of them, and by phrases.
func TestSearchLongText(t *testing.T) {
	s := open(t, target(t))
	a := create(t, s, "s")
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, "word%d ", i)
	}
	b.WriteString("and the last thing")
	if err := a.append(a.item(b.String()), a.item("the last of all things")); err != nil {
		t.Fatal(err)
	}
	if err := s.Index(ctx); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"word3": "s/2", "word199999": "s/2", `"the last thing"`: "s/2", "last": "s/3 s/2", "thin*": "s/3 s/2", "nothing": "", "word200000": "",
	} {
		if got := found(t, s, session.Search{Words: words, Limit: 1}); got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}

// Several index at once while others append and delete: in the end all is found that is
// there, once.
func TestIndexAtOnce(t *testing.T) {
	at := target(t)
	s, other := open(t, at), open(t, at)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			id := fmt.Sprintf("s%d", i)
			a := create(t, s, id)
			for range 15 {
				if err := a.append(a.item("needle"), a.item("hay")); err != nil {
					t.Error(err)
				}
			}
			if i%2 == 1 {
				if err := s.Delete(ctx, id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, s := range []*postgres.Store{s, other, s} {
		wg.Go(func() {
			for range 8 {
				if err := s.Index(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := other.Index(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(found(t, s, session.Search{Words: "needle", Limit: 7}))); n != 3*15 {
		t.Errorf("%d hits, want %d", n, 3*15)
	}
	hits, err := s.Search(ctx, session.Search{Words: "hay"})
	if err != nil || hits.NotIndexed != 0 || len(hits.Hits) != 45 || hits.Next != "" {
		t.Errorf("%d hits, %d behind, %v", len(hits.Hits), hits.NotIndexed, err)
	}
	if n := value(t, at, "SELECT count(*) FROM search x WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.num = x.num)"); n != "0" {
		t.Errorf("%s texts of sessions that are gone", n)
	}
}

// What is erased leaves no word in the index.
func TestEraseRemovesWords(t *testing.T) {
	at := target(t)
	s := open(t, at)
	a := create(t, s, "s")
	if err := a.append(a.item("a hidden thing")); err != nil {
		t.Fatal(err)
	}
	if err := s.Index(ctx); err != nil {
		t.Fatal(err)
	}
	const words = "SELECT count(*) FROM search WHERE words @@ 'hidden'"
	if n := value(t, at, words); n != "1" {
		t.Fatalf("%s texts", n)
	}
	if err := s.Erase(ctx, "s", a.epoch, []int64{2}); err != nil {
		t.Fatal(err)
	}
	if n := value(t, at, words); n != "0" {
		t.Errorf("%s texts after the erasure", n)
	}
}
