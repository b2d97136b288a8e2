//go:build unix

package file

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// Every operation of a recovery fails in turn: the torn tail is still there or was moved, and
// the next recovery completes it.
func TestFaultsWhileRecovering(t *testing.T) {
	d := written(t, false)
	torn := d.raw[d.ends[4] : len(d.raw)-7]
	raw := d.raw[:len(d.raw)-7]
	for nth := 1; ; nth++ {
		d.set(t, raw).Close()
		f := &failing{nth: nth, err: syscall.ENOSPC, partly: 11}
		armed := false
		s, err := open(d.dir, nil, diskOps{fault: func(op, name string) (int, error) {
			if !armed {
				return 0, nil
			}
			return f.fault(op, name)
		}})
		if err != nil {
			t.Fatal(err)
		}
		armed = true
		_, err = s.Recover(t.Context(), "s")
		if f.hit && !errors.Is(err, session.ErrFull) && !errors.Is(err, session.ErrPoisoned) {
			t.Errorf("operation %d: %v", nth, err)
		}
		armed = false
		s.Close()

		s = openStore(t, d.dir)
		if _, err := s.Recover(t.Context(), "s"); err != nil {
			t.Errorf("operation %d, reopened: %v", nth, err)
		}
		if got, faults := readAll(t, s, "s", session.Range{}); !reflect.DeepEqual(got, d.all[:5]) || faults != nil {
			t.Errorf("operation %d: %d records, faults %v", nth, len(got), faults)
		}
		kept, err := filepath.Glob(filepath.Join(d.dir, "s", "torn-*"))
		if err != nil || len(kept) == 0 {
			t.Fatalf("operation %d: the torn tail is lost, %v", nth, err)
		}
		for _, name := range kept {
			if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, torn) {
				t.Errorf("operation %d: %s has %d bytes, %v", nth, name, len(b), err)
			}
			os.Remove(name)
		}
		s.Close()
		os.Remove(filepath.Join(d.dir, "s", metaName))
		if !f.hit {
			return
		}
	}
}

// Every operation of a delete fails in turn: what the fork needs stays, and the parent is
// unchanged or deleted.
func TestFaultsWhileDeleting(t *testing.T) {
	for nth := 1; ; nth++ {
		f := &failing{nth: nth, err: syscall.EIO, forever: nth%2 == 0}
		armed := false
		dir := fastDir(t)
		s, err := open(dir, nil, diskOps{fault: func(op, name string) (int, error) {
			if !armed {
				return 0, nil
			}
			return f.fault(op, name)
		}})
		if err != nil {
			t.Fatal(err)
		}
		a, l := begin(t, s, "a")
		add(t, s, a, l.Epoch, a.items(5, 100)...)
		fork(t, s, "f", "a", 3)
		armed = true
		err = s.Delete(t.Context(), "a")
		if f.hit && err == nil {
			t.Errorf("operation %d: the failure did not surface", nth)
		}
		armed = false
		s.Close()

		s = openStore(t, dir)
		got, faults := readAll(t, s, "a", session.Range{Until: 3})
		if !reflect.DeepEqual(got, a.all[:3]) || faults != nil {
			t.Errorf("operation %d: %d records, faults %v", nth, len(got), faults)
		}
		p, err := s.List(t.Context(), session.Query{})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Sessions) == 2 { // the delete came to nothing: all is there, and it can be done again
			if rs, _ := readAll(t, s, "a", session.Range{}); len(rs) != 6 {
				t.Errorf("operation %d: listed with %d records", nth, len(rs))
			}
			if err := s.Delete(t.Context(), "a"); err != nil {
				t.Errorf("operation %d, again: %v", nth, err)
			}
		}
		if err := s.Delete(t.Context(), "f"); err != nil {
			t.Errorf("operation %d: the fork: %v", nth, err)
		}
		if left := names(t, s); left != nil {
			t.Errorf("operation %d: %v is left", nth, left)
		}
		s.Close()
		if !f.hit {
			return
		}
	}
}

func TestPutMetaRefuses(t *testing.T) {
	s := openStore(t, t.TempDir())
	a, l := begin(t, s, "s")
	add(t, s, a, l.Epoch, a.item("x"))
	p, err := s.List(t.Context(), session.Query{ID: "s"})
	if err != nil || len(p.Sessions) != 1 {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*session.Meta)
		want   error
	}{
		{func(m *session.Meta) { m.Head = 1 }, session.ErrConflict},
		{func(m *session.Meta) { m.HeadDigest = session.Digest{} }, session.ErrConflict},
		{func(m *session.Meta) { m.ID = "nobody" }, session.ErrNotFound},
		{func(m *session.Meta) { m.ID = "../s" }, session.ErrInvalidID},
	} {
		m := p.Sessions[0]
		c.change(&m)
		if err := s.PutMeta(t.Context(), m); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}

func TestForkBaseChecks(t *testing.T) {
	s := openStore(t, t.TempDir())
	a, l := begin(t, s, "s")
	add(t, s, a, l.Epoch, a.item("x"))
	for name, c := range map[string]struct {
		base   session.Base
		expect int64
		want   error
	}{
		"of nobody":            {session.Base{Parent: "nobody", Seq: 1}, 1, session.ErrNotFound},
		"behind the head":      {session.Base{Parent: "s", Seq: 3}, 3, session.ErrConflict},
		"a parent out of here": {session.Base{Parent: "../s", Seq: 1}, 1, session.ErrInvalidID},
	} {
		f := &author{id: "f"}
		b := batchOf(0, f.opened(&c.base))
		if err := s.Append(t.Context(), "f", b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	lone := &author{id: "lone", seq: 4}
	if err := s.Append(t.Context(), "lone", batchOf(0, lone.opened(nil))); !errors.Is(err, session.ErrConflict) {
		t.Error(err)
	}
}
