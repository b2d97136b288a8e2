package file

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"pgregory.net/rapid"
)

// disk is one session's directory, written and closed, and what is in it.
type disk struct {
	dir  string
	log  string
	raw  []byte
	ends []int64 // of the lines
	all  []session.Record
	by   *author
}

// written makes a session of six records: 1, 2, (3 4 5), 6.
func written(t testing.TB, keepCache bool) *disk {
	t.Helper()
	d := &disk{dir: fastDir(t)}
	s := openStore(t, d.dir)
	a, l := begin(t, s, "s")
	add(t, s, a, l.Epoch, a.items(1, 300)...)
	add(t, s, a, l.Epoch, a.items(3, 300)...)
	add(t, s, a, l.Epoch, a.items(1, 300)...)
	s.Close()
	d.log, d.all, d.by = filepath.Join(d.dir, "s", logName), a.all, a
	if !keepCache {
		if err := os.Remove(filepath.Join(d.dir, "s", metaName)); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if d.raw, err = os.ReadFile(d.log); err != nil {
		t.Fatal(err)
	}
	for i, c := range d.raw {
		if c == '\n' {
			d.ends = append(d.ends, int64(i)+1)
		}
	}
	return d
}

func (d *disk) set(t testing.TB, raw []byte) *Store {
	t.Helper()
	if err := os.WriteFile(d.log, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return openStore(t, d.dir)
}

func TestTornTail(t *testing.T) {
	full := func(d *disk) []byte { return bytes.Clone(d.raw) }
	for name, c := range map[string]struct {
		raw  func(d *disk) []byte
		head int64
	}{
		"half a line":           {func(d *disk) []byte { return d.raw[:d.ends[5]-20] }, 5},
		"a line, no newline":    {func(d *disk) []byte { return d.raw[:d.ends[5]-1] }, 5},
		"half a batch":          {func(d *disk) []byte { return d.raw[:d.ends[3]] }, 2},
		"half a batch and more": {func(d *disk) []byte { return d.raw[:d.ends[3]+30] }, 2},
		"zeros":                 {func(d *disk) []byte { return append(full(d), make([]byte, 100_000)...) }, 6},
		"zeros in the line":     {func(d *disk) []byte { return append(full(d)[:d.ends[5]-40], make([]byte, 40)...) }, 5},
		"rubbish":               {func(d *disk) []byte { return append(full(d), "hello\nworld\n"...) }, 6},
		"the last line twice":   {func(d *disk) []byte { return append(full(d), d.raw[d.ends[4]:]...) }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			d := written(t, false)
			raw := c.raw(d)
			s := d.set(t, raw)
			rec, err := s.Recover(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			cut := int64(len(raw)) - d.ends[c.head-1]
			if rec == nil || rec.Head != c.head || rec.CutBytes != cut || rec.Session != "s" {
				t.Fatalf("recovery %+v, want head %d, cut %d", rec, c.head, cut)
			}
			if kept, err := os.ReadFile(rec.TailFile); err != nil || !bytes.Equal(kept, raw[d.ends[c.head-1]:]) {
				t.Fatalf("kept %q, %v", kept, err)
			}
			if fi, err := os.Stat(rec.TailFile); err != nil || fi.Mode().Perm() != 0o600 {
				t.Fatalf("%v, %v", fi.Mode(), err)
			}
			if again, err := s.Recover(t.Context(), "s"); again != nil || err != nil {
				t.Fatalf("a second time: %+v, %v", again, err)
			}
			got, faults := readAll(t, s, "s", session.Range{})
			if !reflect.DeepEqual(got, d.all[:c.head]) || faults != nil {
				t.Fatalf("%d records, faults %v", len(got), faults)
			}
			a := &author{id: "s", seq: c.head, prev: d.all[c.head-1].Digest}
			add(t, s, a, take(t, s, "s").Epoch, a.item("goes on"))
		})
	}
}

// A reader never sees a batch that is not whole, and cuts nothing.
func TestReadersLeaveTornTails(t *testing.T) {
	d := written(t, false)
	raw := d.raw[:d.ends[3]+30]
	s := d.set(t, raw)
	got, faults := readAll(t, s, "s", session.Range{})
	if len(got) != 2 || faults != nil {
		t.Fatalf("%d records, faults %v", len(got), faults)
	}
	p, err := s.List(t.Context(), session.Query{})
	if err != nil || len(p.Sessions) != 1 || p.Sessions[0].Head != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	if now, _ := os.ReadFile(d.log); !bytes.Equal(now, raw) {
		t.Fatal("reading changed the log")
	}
}

// Missing acknowledged records are damage, not a torn tail.
func TestRepairKeepsAcknowledgedRecords(t *testing.T) {
	d := written(t, true)
	for _, raw := range [][]byte{d.raw[:d.ends[5]-20], d.raw[:d.ends[4]], nil} {
		s := d.set(t, raw)
		if _, err := s.Recover(t.Context(), "s"); !errors.Is(err, session.ErrCorrupt) {
			t.Fatalf("%d bytes: %v", len(raw), err)
		}
		if now, _ := os.ReadFile(d.log); !bytes.Equal(now, raw) {
			t.Fatal("the log was cut")
		}
		s.Close()
	}
}

func TestCorruptionInTheMiddle(t *testing.T) {
	for _, bad := range []int64{1, 2, 3, 4, 5} {
		d := written(t, true)
		raw := bytes.Clone(d.raw)
		raw[d.ends[bad-1]-30] ^= 4
		s := d.set(t, raw)
		var want []session.Record
		for _, r := range d.all {
			if r.Seq != bad {
				want = append(want, r)
			}
		}
		got, faults := readAll(t, s, "s", session.Range{})
		if !reflect.DeepEqual(got, want) || !slices.Equal(faults, []int64{bad}) {
			t.Errorf("seq %d: %d records, faults %v", bad, len(got), faults)
		}
		got, faults = readAll(t, s, "s", session.Range{Reverse: true})
		slices.Reverse(got)
		if !reflect.DeepEqual(got, want) || !slices.Equal(faults, []int64{bad}) {
			t.Errorf("seq %d backwards: %d records, faults %v", bad, len(got), faults)
		}
		if got, faults = readAll(t, s, "s", session.Range{After: bad}); len(got) != int(6-bad) || faults != nil {
			t.Errorf("behind seq %d: %d records, faults %v", bad, len(got), faults)
		}
		if got, faults = readAll(t, s, "s", session.Range{After: bad - 1, Until: bad, Reverse: true}); len(got) != 0 || !slices.Equal(faults, []int64{bad}) {
			t.Errorf("only seq %d: %d records, faults %v", bad, len(got), faults)
		}
		_, err := s.Recover(t.Context(), "s")
		if !errors.Is(err, session.ErrCorrupt) || seqOf(t, err) != bad || session.Hint(err) == "" {
			t.Errorf("recover with seq %d damaged: %v", bad, err)
		}
		next := d.by.item("more")
		l := take(t, s, "s")
		err = s.Append(t.Context(), "s", batchOf(l.Epoch, next))
		if !errors.Is(err, session.ErrCorrupt) || seqOf(t, err) != bad {
			t.Errorf("append with seq %d damaged: %v", bad, err)
		}
		if now, _ := os.ReadFile(d.log); !bytes.Equal(now, raw) {
			t.Error("the log was changed")
		}
		if p, err := s.List(t.Context(), session.Query{}); err != nil || len(p.Sessions) != 1 || p.Sessions[0].ID != "s" {
			t.Errorf("list with seq %d damaged: %+v, %v", bad, p, err)
		}
		s.Close()
	}
}

// After any change of the bytes: only written records are read, the records before the damage
// are intact, and nothing panics.
func TestRandomDamage(t *testing.T) {
	d := written(t, false)
	rapid.Check(t, func(rt *rapid.T) {
		raw := bytes.Clone(d.raw)
		pos := rapid.IntRange(0, len(raw)-1).Draw(rt, "pos")
		other := rapid.IntRange(0, len(raw)-1).Draw(rt, "other")
		from, to := min(pos, other), max(pos, other)+1
		first := int64(pos) // nothing before is damaged
		switch what := rapid.SampledFrom([]string{"flip", "cut", "repeat", "drop", "swap", "zero"}).Draw(rt, "what"); what {
		case "flip":
			raw[pos] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		case "cut":
			raw = raw[:pos]
		case "repeat":
			raw = slices.Insert(raw, to, raw[from:to]...)
			first = int64(from)
		case "drop":
			raw = slices.Delete(raw, from, to)
			first = int64(from)
		case "zero":
			clear(raw[from:to])
			first = int64(from)
		case "swap":
			raw = slices.Concat(raw[:from], raw[to:], raw[from:to])
			first = int64(from)
		}
		if err := os.WriteFile(d.log, raw, 0o600); err != nil {
			rt.Fatal(err)
		}
		s, err := Open(d.dir, nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		seen := map[int64]bool{}
		for r, err := range s.Read(t.Context(), "s", session.Range{}) {
			if errors.Is(err, session.ErrNotFound) {
				break
			}
			if err != nil {
				if !errors.Is(err, session.ErrCorrupt) {
					rt.Fatal(err)
				}
				continue
			}
			if r.Seq < 1 || r.Seq > 6 || !reflect.DeepEqual(r, d.all[r.Seq-1]) || seen[r.Seq] {
				rt.Fatalf("read what was not written: %+v", r)
			}
			seen[r.Seq] = true
		}
		for i, end := range d.ends {
			whole := end <= first && (i < 2 || i == 5 || d.ends[4] <= first) // the batch of 3, 4, 5 too
			if whole && !seen[int64(i)+1] {
				rt.Fatalf("record %d was lost, damage is at %d", i+1, first)
			}
		}
		_, err = s.Recover(t.Context(), "s")
		if err != nil && !errors.Is(err, session.ErrCorrupt) && !errors.Is(err, session.ErrNotFound) {
			rt.Fatal(err)
		}
		if err == nil { // then what is there is a beginning of what was written
			n := int64(0)
			for r, err := range s.Read(t.Context(), "s", session.Range{}) {
				if n++; err != nil || r.Seq != n {
					rt.Fatalf("after a clean recovery, %d: %+v, %v", n, r, err)
				}
			}
		}
		for _, f := range leftovers(rt, filepath.Join(d.dir, "s")) {
			os.Remove(f)
		}
	})
}

func leftovers(t *rapid.T, dir string) []string {
	torn, err := filepath.Glob(filepath.Join(dir, "torn-*"))
	if err != nil {
		t.Fatal(err)
	}
	return append(torn, filepath.Join(dir, metaName))
}

// A cache is only a cache.
func TestMetaCache(t *testing.T) {
	want := func(s *Store) session.Meta {
		p, err := s.List(t.Context(), session.Query{ID: "s"})
		if err != nil || len(p.Sessions) != 1 {
			t.Fatalf("%+v, %v", p, err)
		}
		return p.Sessions[0]
	}
	d := written(t, true)
	cache := filepath.Join(d.dir, "s", metaName)
	good, err := os.ReadFile(cache)
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, d.dir)
	meta := want(s)
	if meta.Head != 6 || meta.MessageCount != 5 {
		t.Fatalf("%+v", meta)
	}
	add(t, s, d.by, take(t, s, "s").Epoch, d.by.items(2, 100)...)
	ahead := want(s)
	s.Close()
	for name, b := range map[string][]byte{
		"empty": {}, "short": good[:20], "zeros": make([]byte, len(good)), "old": good,
		"flipped":           append([]byte{'0'}, good[1:]...),
		"of another log":    logSummary{Meta: session.Meta{ID: "s", Head: 3}, Start: 4, End: 400}.encode(),
		"behind the end":    logSummary{Meta: session.Meta{ID: "s", Head: 3}, Start: 4, End: 1 << 40}.encode(),
		"with negative end": logSummary{Meta: session.Meta{ID: "s", Head: 3}, Start: -4, End: -1}.encode(),
	} {
		if err := os.WriteFile(cache, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, d.dir)
		if got := want(s); !reflect.DeepEqual(got, ahead) {
			t.Errorf("%s cache: %+v\nwant %+v", name, got, ahead)
		}
		if rec, err := s.Recover(t.Context(), "s"); rec != nil || err != nil {
			t.Errorf("%s cache: %+v, %v", name, rec, err)
		}
		s.Close()
	}
}
