package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// failing lets the Nth operation of a kind fail, and perhaps all after it.
type failing struct {
	op      string // "" for any
	nth     int
	forever bool
	err     error
	partly  int // bytes that a failing write writes

	seen int
	hit  bool
}

func (f *failing) fault(op, name string) (int, error) {
	if f.op != "" && f.op != op {
		return 0, nil
	}
	f.seen++
	if f.seen == f.nth || f.forever && f.seen > f.nth {
		f.hit = true
		return f.partly, &fs.PathError{Op: op, Path: name, Err: f.err}
	}
	return 0, nil
}

// TestFaults lets every operation of a small history fail in turn and checks what is left:
// everything acknowledged is stored, and every error has a type.
func TestFaults(t *testing.T) {
	errnos := []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EMFILE}
	ops := []string{"create", "write", "sync", "truncate", "syncdir", "mkdir", "rename", "remove", "removeall"}
	if testing.Short() {
		errnos = errnos[:2]
	}
	cells := 0
	for _, op := range ops {
		for i, errno := range errnos {
			for nth := 1; ; nth++ {
				f := &failing{op: op, nth: nth, err: errno, forever: i%2 == 1, partly: nth * 37}
				name := fmt.Sprintf("%s %d: %v", op, nth, errno)
				runFault(t, name, f)
				cells++
				if !f.hit {
					break
				}
			}
		}
	}
	if cells < len(ops)*len(errnos) {
		t.Fatalf("only %d cells", cells)
	}
	t.Logf("%d cells", cells)
}

// history creates, appends, forks and deletes; it returns what was acknowledged.
func history(t *testing.T, s *Store, check func(error)) []session.Record {
	ctx := t.Context()
	a := &author{id: "s"}
	try := func(epoch int64, rs ...session.Record) bool {
		err := s.Append(ctx, a.id, batchOf(epoch, rs...))
		check(err)
		if err != nil { // these records are not in the log: the next ones take their place
			a.all = a.all[:len(a.all)-len(rs)]
			a.seq -= int64(len(rs))
			a.prev = session.Digest{}
			if n := len(a.all); n > 0 {
				a.prev = a.all[n-1].Digest
			}
		}
		return err == nil
	}
	for range 2 { // the second time in case that the first failed
		if try(0, a.opened(nil)) {
			break
		}
	}
	l, err := s.Acquire(ctx, "s", session.Lease{}, func(session.Lease) bool { return true })
	check(err)
	for range 3 {
		try(l.Epoch, a.items(2, 200)...)
	}
	check(s.Renew(ctx, "s", l))
	check(s.Release(ctx, "s", l))
	f := &author{id: "f"}
	err = s.Append(ctx, "f", batchOf(0, f.opened(&session.Base{Parent: "s", Seq: 1, Digest: session.Digest{}})))
	check(err)
	check(s.Delete(ctx, "f"))
	_, err = s.Recover(ctx, "s")
	check(err)
	return a.all
}

func runFault(t *testing.T, name string, f *failing) {
	t.Helper()
	dir := fastDir(t)
	if s, err := Open(dir, nil); err != nil { // so that opening itself does not fail
		t.Fatal(err)
	} else {
		s.Close()
	}
	s, err := open(dir, nil, diskOps{fault: f.fault})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	poisoned := false
	acked := history(t, s, func(err error) {
		if err == nil {
			return
		}
		if e, ok := errors.AsType[*session.Error](err); !ok || e.Op == "" {
			t.Errorf("%s: not an operator's error: %T %v", name, err, err)
		}
		poisoned = poisoned || errors.Is(err, session.ErrPoisoned)
		if f.hit && !typed(err, f.err) {
			t.Errorf("%s: %v", name, err)
		}
	})
	// What this process sees is what it acknowledged, also when it is poisoned.
	seen := records(t, s, name)
	if !same(seen, acked) {
		t.Errorf("%s: acknowledged %d, sees %d", name, len(acked), len(seen))
	}
	s.Close()
	again := openStore(t, dir)
	if _, err := again.Recover(t.Context(), "s"); err != nil && !errors.Is(err, session.ErrNotFound) {
		t.Errorf("%s: reopened: %v", name, err)
	}
	got := records(t, again, name)
	if len(got) < len(acked) || !same(got[:len(acked)], acked) {
		t.Errorf("%s: acknowledged %d, reopened %d", name, len(acked), len(got))
	}
	if !poisoned && len(got) != len(acked) {
		t.Errorf("%s: acknowledged %d, reopened %d, and nobody was poisoned", name, len(acked), len(got))
	}
	if len(got) > 0 { // and it goes on
		a := &author{id: "s", seq: got[len(got)-1].Seq, prev: got[len(got)-1].Digest}
		add(t, again, a, take(t, again, "s").Epoch, a.item("again"))
	}
	again.Close()
}

func same(a, b []session.Record) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

// typed reports whether an error is one that errno may become.
func typed(err, errno error) bool {
	for _, ok := range []error{session.ErrPoisoned, session.ErrNotFound, session.ErrFenced, session.ErrExists, session.ErrConflict} {
		if errors.Is(err, ok) {
			return true // of the operation itself, or because an earlier one failed
		}
	}
	switch {
	case errors.Is(errno, syscall.ENOSPC), errors.Is(errno, syscall.EDQUOT):
		return errors.Is(err, session.ErrFull)
	case errors.Is(errno, syscall.EROFS), errors.Is(errno, syscall.EACCES):
		return errors.Is(err, session.ErrReadOnly)
	}
	return errors.Is(err, errno)
}

func records(t *testing.T, s *Store, name string) []session.Record {
	t.Helper()
	var got []session.Record
	for r, err := range s.Read(t.Context(), "s", session.Range{}) {
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		if err != nil {
			t.Errorf("%s: read: %v", name, err)
			return got
		}
		got = append(got, r)
	}
	return got
}

func TestFullDiskKeepsWhatWasThere(t *testing.T) { // session_store-051
	f := &failing{op: "write", err: syscall.ENOSPC, partly: 100, forever: true, nth: 1 << 30}
	dir := t.TempDir()
	s, err := open(dir, nil, diskOps{fault: f.fault})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a, l := begin(t, s, "s")
	add(t, s, a, l.Epoch, a.items(2, 300)...)
	before, err := os.ReadFile(filepath.Join(dir, "s", logName))
	if err != nil {
		t.Fatal(err)
	}
	next := batchOf(l.Epoch, a.items(1, 300)...)
	f.nth = f.seen
	if err := s.Append(t.Context(), "s", next); !errors.Is(err, session.ErrFull) || session.Hint(err) == "" {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(filepath.Join(dir, "s", logName)); !reflect.DeepEqual(after, before) {
		t.Fatalf("the log has %d bytes, had %d", len(after), len(before))
	}
	f.nth = 1 << 30 // there is room again
	if err := s.Append(t.Context(), "s", next); err != nil {
		t.Fatal(err)
	}
}

func TestFailedSyncPoisonsStore(t *testing.T) {
	f := &failing{op: "sync", err: syscall.EIO, nth: 1 << 30}
	dir := t.TempDir()
	s, err := open(dir, &Options{OpenSessions: 1}, diskOps{fault: f.fault})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a, l := begin(t, s, "s")
	b, m := begin(t, s, "other")
	f.nth = f.seen + 1 // once
	batch := batchOf(l.Epoch, a.item("lost"))
	for i := range 3 {
		err := s.Append(t.Context(), "s", batch)
		if !errors.Is(err, session.ErrPoisoned) || session.Hint(err) == "" {
			t.Fatalf("attempt %d: %v", i, err)
		}
		if i == 0 && !strings.Contains(err.Error(), "input/output error") {
			t.Fatal(err)
		}
		add(t, s, b, m.Epoch, b.item("others go on"))
	}
	if rs, _ := readAll(t, s, "s", session.Range{}); len(rs) != 1 {
		t.Fatalf("%d records can be read", len(rs))
	}
	if err := openStore(t, dir).Append(t.Context(), "s", batch); err != nil {
		t.Fatalf("after reopening: %v", err)
	}
}

// A write that failed and cannot be taken back leaves nothing to see either.
func TestFailedTruncatePoisonsStore(t *testing.T) {
	dir := t.TempDir()
	armed := false
	s, err := open(dir, nil, diskOps{fault: func(op, _ string) (int, error) {
		if armed && (op == "write" || op == "truncate") {
			return 1 << 20, syscall.EIO // all was written, and yet
		}
		return 0, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a, l := begin(t, s, "s")
	armed = true
	if err := s.Append(t.Context(), "s", batchOf(l.Epoch, a.item("x"))); !errors.Is(err, session.ErrPoisoned) {
		t.Fatal(err)
	}
	if rs, _ := readAll(t, s, "s", session.Range{}); len(rs) != 1 {
		t.Fatalf("%d records can be read", len(rs))
	}
	p, err := s.List(t.Context(), session.Query{ID: "s"})
	if err != nil || p.Sessions[0].Head != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
}
