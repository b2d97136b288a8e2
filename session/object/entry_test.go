package object_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/object"
)

func FuzzParseRecords(f *testing.F) {
	a := &author{id: `a","payload":{`}
	f.Add(object.AppendRecords(nil, []session.Record{a.opened(nil), a.turn("x"), {Seq: 3, Kind: "item"}}))
	f.Add([]byte(`{"seq":1,"payload":{}}` + "\n" + `{"seq":2,"payload":null}`))
	f.Add([]byte("\n\n}\n,\"payload\":}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		records := object.ParseRecords(b)
		written := object.AppendRecords(nil, records)
		again := object.ParseRecords(written)
		if len(again) != len(records) {
			t.Fatalf("%d records, and %d once written", len(records), len(again))
		}
		for i := range again {
			x, y := again[i], records[i]
			if x.Seq != y.Seq || x.ID != y.ID || x.Kind != y.Kind || !x.Time.Equal(y.Time) || !bytes.Equal(x.Payload, y.Payload) ||
				(x.Payload == nil) != (y.Payload == nil) || x.Prev != y.Prev || x.Body != y.Body || x.Digest != y.Digest {
				t.Fatalf("record %d: %+v, and %+v once written", i, y, x)
			}
		}
	})
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add([]byte(`{"format":1,"entry":"folded"}` + "\n"))
	f.Add([]byte(`{"format":1,"entry":"append","first":2,"last":2,"state":{"slot":3}}` + "\n{}\n"))
	f.Add([]byte(`{"format":2}` + "\n"))
	f.Fuzz(func(_ *testing.T, b []byte) { _ = object.DecodeEntry(b) })
}

func TestNamesOfIDs(t *testing.T) {
	for id, want := range map[string]string{
		"a-B_9": "a-B_9", "a.b": "a!2eb", "a!2eb": "a!212eb", "~": "!7e", "é": "!c3!a9",
		strings.Repeat("a", 180): strings.Repeat("a", 180),
	} {
		if got := object.NameOf(id); got != want {
			t.Errorf("%q is named %q, want %q", id, got, want)
		}
	}
	long, longer := object.NameOf(strings.Repeat("a", 181)), object.NameOf(strings.Repeat("a", 182))
	if long == longer || len(long) != 65 || long[0] != '~' {
		t.Errorf("long ids are named %q and %q", long, longer)
	}
}

// Damage to one object is reported for its records, and the rest stays readable.
func TestDamage(t *testing.T) {
	for name, c := range map[string]struct {
		key  string // the part of the log that is damaged
		to   string // what it becomes, "" for a cut in the middle
		lost []int64
	}{
		"a slot":            {"/000000000003", "rubbish\n", []int64{4}},
		"a segment's lines": {"seg/", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			url := newURL(t)
			s := open(t, url, &object.Options{FoldSlots: -1})
			a := begin(t, s, "s", 2)
			if c.lost == nil {
				if err := s.Fold("s"); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				a.append(t, s, "more")
			}
			keys, err := s.Keys()
			if err != nil {
				t.Fatal(err)
			}
			for key := range keys {
				if !strings.Contains(key, c.key) {
					continue
				}
				b, err := s.Get(key)
				if err != nil {
					t.Fatal(err)
				}
				b[len(b)/2] = '\n'
				if c.to != "" {
					b = []byte(c.to)
				}
				if err := s.Put(key, b); err != nil {
					t.Fatal(err)
				}
			}
			for _, r := range []session.Range{{}, {Reverse: true}} {
				var good, bad int64
				for r, err := range open(t, url, nil).Read(ctx, "s", r) {
					e, _ := errors.AsType[*session.Error](err)
					switch {
					case err == nil && r.Check() == nil:
						good++
					case errors.Is(err, session.ErrCorrupt) && e.Seq > 0:
						bad++
					default:
						t.Fatalf("%+v %v", r, err)
					}
				}
				if bad != 1 || good+bad != a.head {
					t.Errorf("%d records can be read, %d cannot, of %d", good, bad, a.head)
				}
			}
		})
	}
}
