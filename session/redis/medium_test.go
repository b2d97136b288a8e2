package redis_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// A full server refuses what grows, whole, and goes on when there is room.
func TestFull(t *testing.T) {
	i := own(t)
	s := open(t, i.url)
	a, big := create(t, s, session.Opened{SessionID: "s"}), create(t, s, session.Opened{SessionID: "big"})
	for range 20 {
		big.add(big.note(strings.Repeat("x", 1<<20)))
	}
	c := raw(t, i.url)
	set := func(maxmemory string) {
		t.Helper()
		if err := c.do("CONFIG", "SET", "maxmemory", maxmemory); err != nil {
			t.Fatal(err)
		}
	}
	set("15mb")
	b := a.batch(a.note("one"), a.note("two"))
	if err := s.Append(ctx, "s", b); !errors.Is(err, session.ErrFull) || session.Hint(err) == "" {
		t.Fatalf("append to a full server: %v", err)
	}
	n := author{t: t, store: s, id: "new"}
	first := n.batch(n.seal(record.KindOpened, session.Opened{Format: 1, SessionID: "new", Created: begin}))
	if err := s.Append(ctx, "new", first); !errors.Is(err, session.ErrFull) {
		t.Errorf("create on a full server: %v", err)
	}
	if _, err := s.Acquire(ctx, "other", session.Lease{}, nil); !errors.Is(err, session.ErrFull) {
		t.Errorf("a lease on a full server: %v", err)
	}
	if head := check(t, s, "s"); head != 1 {
		t.Errorf("head %d", head)
	}
	if err := s.Delete(ctx, "big"); err != nil {
		t.Fatalf("making room: %v", err)
	}
	if err := s.Append(ctx, "s", b); err != nil {
		t.Errorf("with room again: %v", err)
	}
	check(t, s, "s")
}

// What is erased is in none of the server's files any more.
func TestErasedFromMedium(t *testing.T) {
	i := own(t, "--save", "3600 100000")
	s := open(t, i.url)
	secret := "ghp_" + "0123456789abcdef"
	a := create(t, s, session.Opened{SessionID: "s"})
	a.add(a.note(secret), a.note("stays here"))
	if err := raw(t, i.url).do("SAVE"); err != nil { // an old snapshot
		t.Fatal(err)
	}
	if !onDisk(t, i.dir, secret) {
		t.Fatal("the secret was never there: the test proves nothing")
	}
	if err := s.Erase(ctx, "s", a.epoch, []int64{2}); err != nil {
		t.Fatal(err, session.Hint(err))
	}
	if onDisk(t, i.dir, secret) || !onDisk(t, i.dir, "stays here") {
		t.Error("the server's files have what was erased, or not what stays")
	}
	check(t, s, "s")
	if err := s.Erase(ctx, "s", a.epoch, make([]int64, 0)); err != nil {
		t.Error(err)
	}
}

func onDisk(t *testing.T, dir, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || strings.Contains(string(b), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Lists of more than a page's worth, found in each of the ways that there are.
func TestLongLists(t *testing.T) {
	n := 2600
	if testing.Short() {
		n = 1300
	}
	s := fresh(t)
	for i := range n {
		a := &author{t: t, store: s, id: "s" + strconv.Itoa(i)}
		o := session.Opened{Format: 1, SessionID: a.id, Created: begin, Project: "most"}
		if i%10 == 0 {
			o.Project, o.Tag = "few", "tag"
		}
		if i < 900 {
			o.CWD = "/old"
		}
		r := a.seal(record.KindOpened, o)
		r.Time = begin.AddDate(0, 0, i/7)
		r.Seal(session.Digest{})
		a.add(r)
	}
	whole, err := s.List(ctx, session.Query{})
	if err != nil || len(whole.Sessions) != n {
		t.Fatal(len(whole.Sessions), err)
	}
	for _, q := range []session.Query{
		{Limit: 1},
		{Limit: 1100},
		{Project: "most", Limit: 30},
		{Project: "few", Limit: 7},
		{Project: "few"},
		{CWD: "/old", Limit: 10},
		{CWD: "/old", Tag: "tag", Limit: 3},
		{Project: "none"},
		{Project: "most", Tag: "tag"},
		{Project: "most", Limit: 5, WithTrash: true},
	} {
		for range 3 {
			want, err := q.Select(whole.Sessions)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.List(ctx, q)
			if err != nil || len(got.Sessions) != len(want.Sessions) || got.Next != want.Next {
				t.Fatalf("%+v: %d sessions, next %q (%v), want %d, %q", q, len(got.Sessions), got.Next, err, len(want.Sessions), want.Next)
			}
			for i := range got.Sessions {
				if got.Sessions[i].ID != want.Sessions[i].ID {
					t.Fatalf("%+v: the %dth is %s, want %s", q, i, got.Sessions[i].ID, want.Sessions[i].ID)
				}
			}
			if q.After = got.Next; q.After == "" {
				break
			}
		}
	}
}
