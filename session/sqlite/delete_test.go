package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/session"
)

func TestDeleteBigSessionKeepsForkRecords(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	fill(a, 5_000)
	digest := a.digest(10)
	f := a.fork("f", 10)
	if err := s.Delete(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if got := seqs(t, s, "a", session.Range{}); len(got) != 10 {
		t.Errorf("%d records are left, the fork needs 10", len(got))
	}
	m := meta(t, s, "a")
	if !m.Deleted || m.Head != 10 || m.HeadDigest != digest || m.FirstPrompt != "" || m.CWD != "" {
		t.Errorf("meta of the deleted session: %+v", m)
	}
	f.items(1)
	if err := s.Delete(ctx, "f"); err != nil {
		t.Fatal(err)
	}
	if n := raw(t, s.Path(), "SELECT (SELECT count(*) FROM records) + (SELECT count(*) FROM sessions) + (SELECT count(*) FROM leases)"); n != "0" {
		t.Errorf("%s rows are left", n)
	}
}

func TestDeleteLeavesNoTraceInTheFile(t *testing.T) {
	s := fresh(t)
	secret := "correct horse battery staple"
	a := create(t, s, "a")
	a.add(a.seal(session.KindItem, item(secret)))
	a.items(20)
	if err := s.Delete(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	path := s.Path()
	s.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(secret)) {
		t.Error("the text of a deleted session is still in the file")
	}
}

// A Delete that was cut short is finished by the next one.
func TestDeleteContinues(t *testing.T) {
	s := fresh(t)
	create(t, s, "a").items(5)
	create(t, s, "b").items(5)
	raw(t, s.Path(), "UPDATE sessions SET deleted = 1 WHERE id = 'a'")
	if err := s.Delete(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if n := raw(t, s.Path(), "SELECT count(*) FROM records"); n != "0" {
		t.Errorf("%s records are left", n)
	}
}

func TestWriterNoticesRecreatedSession(t *testing.T) {
	s := fresh(t)
	other := open(t, s.Path())
	a := create(t, s, "a")
	a.items(1) // s knows the session's number now
	if err := other.Delete(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	create(t, other, "b").items(2) // takes the number
	if err := s.Append(ctx, "a", a.batch(a.seal(session.KindItem, bigItem))); !errors.Is(err, session.ErrNotFound) {
		t.Fatalf("append to a deleted session: %v", err)
	}
	again := create(t, other, "a")
	again.store = s
	again.items(1)
	if got := seqs(t, s, "b", session.Range{}); len(got) != 3 {
		t.Errorf("b is %v", got)
	}
}

// A family tree of forks under random deletions, against a simple model: what a
// session that is left can reach stays, nothing else does.
func TestDeleteInFamilies(t *testing.T) {
	s := fresh(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		type node struct {
			*author
			parent  string
			base    int64
			deleted bool
		}
		nodes := map[string]*node{}
		var names []string
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			var alive []string
			for _, n := range names {
				if !nodes[n].deleted {
					alive = append(alive, n)
				}
			}
			name := fmt.Sprintf("r%d-%02d", round, len(names))
			switch op := rapid.IntRange(0, 3).Draw(rt, "op"); {
			case len(alive) == 0 || op == 0:
				nodes[name] = &node{author: create(t, s, name)}
				nodes[name].items(3)
				names = append(names, name)
			case op == 1:
				p := nodes[rapid.SampledFrom(alive).Draw(rt, "parent")]
				seq := rapid.Int64Range(p.base+1, p.head).Draw(rt, "seq")
				nodes[name] = &node{author: p.fork(name, seq), parent: p.id, base: seq}
				nodes[name].items(2)
				names = append(names, name)
			default:
				n := nodes[rapid.SampledFrom(alive).Draw(rt, "victim")]
				if err := s.Delete(ctx, n.id); err != nil {
					rt.Fatal(err)
				}
				n.deleted = true
			}
			need := map[string]int64{} // how far each session's log is needed
			for _, n := range slices.Backward(names) {
				x := nodes[n]
				if !x.deleted {
					need[n] = x.head
				}
				if need[n] > 0 && x.parent != "" {
					need[x.parent] = max(need[x.parent], x.base)
				}
			}
			for _, n := range names {
				p, err := s.List(ctx, session.Query{ID: n})
				if err != nil || len(p.Sessions) != min(1, int(need[n])) {
					rt.Fatalf("%s is needed up to %d and listed as %+v (%v)", n, need[n], p.Sessions, err)
				}
				if need[n] == 0 {
					continue
				}
				if got := seqs(t, s, n, session.Range{}); int64(len(got)) != need[n]-nodes[n].base {
					rt.Fatalf("%s has %v, needed are %d to %d", n, got, nodes[n].base+1, need[n])
				}
			}
		}
	})
}
