package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// reseal recomputes the chain from index i on.
func reseal(recs []session.Record, i int) {
	for ; i < len(recs); i++ {
		prev := session.Digest{}
		if i > 0 {
			prev = recs[i-1].Digest
		}
		recs[i].Seal(prev)
	}
}

func forge(r *session.Record) {
	r.Payload = bytes.Replace(r.Payload, []byte("words"), []byte("swrod"), 1)
}

// tampering is what is done to alpha's log, which has 18 records: opened, 12 items,
// a rename, a batch of three, a rewrite. Record i is recs[i-1].
var tampering = []struct {
	name string
	do   func(recs []session.Record) []session.Record
	seq  int64
	leaf bool // the finding names a leaf
	what string
}{
	{"a changed byte of a payload", func(r []session.Record) []session.Record {
		forge(&r[6])
		return r
	}, 7, false, "the payload does not match its digest"},
	{"a changed byte of a digest", func(r []session.Record) []session.Record {
		r[6].Digest[9] ^= 1
		return r
	}, 7, true, "the record does not match its digest"},
	{"a changed payload with its digest", func(r []session.Record) []session.Record {
		forge(&r[6])
		r[6].Body = session.Digest(sha256.Sum256(r[6].Payload))
		return r
	}, 7, false, "the record does not match its digest"},
	{"another time", func(r []session.Record) []session.Record {
		r[6].Time = r[6].Time.Add(1e9)
		return r
	}, 7, false, "the record does not match its digest"},
	{"another kind", func(r []session.Record) []session.Record {
		r[6].Kind = record.KindHookRan
		return r
	}, 7, false, "the record does not match its digest"},
	{"a removed record", func(r []session.Record) []session.Record {
		return slices.Delete(r, 6, 7)
	}, 7, true, ""},
	{"three removed records", func(r []session.Record) []session.Record {
		return slices.Delete(r, 6, 9)
	}, 7, true, ""},
	{"the first record removed", func(r []session.Record) []session.Record {
		return slices.Delete(r, 0, 1)
	}, 1, true, ""},
	{"a removed record and the chain closed", func(r []session.Record) []session.Record {
		r = slices.Delete(r, 6, 7)
		for i := range r {
			r[i].Seq = int64(i) + 1
		}
		reseal(r, 6)
		return r
	}, 7, true, "record 7 is inconsistent with leaf 7: the hash chain was recomputed"},
	{"a removed tail", func(r []session.Record) []session.Record {
		return r[:11]
	}, 12, true, "records 12 to 18 are missing: leaf"},
	{"the last record removed", func(r []session.Record) []session.Record {
		return r[:len(r)-1]
	}, 18, true, "record 18 is missing: leaf"},
	{"two swapped records", func(r []session.Record) []session.Record {
		r[4], r[8] = r[8], r[4]
		r[4].Seq, r[8].Seq = 5, 9
		return r
	}, 5, true, ""},
	{"two swapped neighbours and the chain closed", func(r []session.Record) []session.Record {
		r[4], r[5] = r[5], r[4]
		r[4].Seq, r[5].Seq = 5, 6
		reseal(r, 4)
		return r
	}, 5, true, "record 5 is inconsistent with leaf 5"},
	{"a rewritten chain", func(r []session.Record) []session.Record {
		forge(&r[6])
		reseal(r, 6)
		return r
	}, 7, true, "record 7 is inconsistent with leaf 7: the hash chain was recomputed"},
	{"a chain rewritten from the first", func(r []session.Record) []session.Record {
		r[0].Payload = bytes.Replace(r[0].Payload, []byte("/src"), []byte("/etc"), 1)
		reseal(r, 0)
		return r
	}, 1, true, "record 1 is inconsistent with leaf 1"},
	{"a chain rewritten within a batch", func(r []session.Record) []session.Record {
		r[15].Payload = bytes.Replace(r[15].Payload, []byte("two"), []byte("owt"), 1)
		reseal(r, 15)
		return r
	}, 15, true, "records 15 to 17 are inconsistent with leaf"},
	{"a record more", func(r []session.Record) []session.Record {
		x := r[6]
		r = slices.Insert(r, 6, x)
		for i := range r {
			r[i].Seq = int64(i) + 1
		}
		reseal(r, 6)
		return r
	}, 8, true, "record 8 is inconsistent with leaf 8"},
	{"an erased payload", func(r []session.Record) []session.Record {
		r[6].Payload = nil
		return r
	}, 7, false, "the payload was erased, but no redacted record names it"},
}

func TestVerifyFindsTampering(t *testing.T) {
	for name, m := range media {
		t.Run(name, func(t *testing.T) {
			whole := newTamperEnv(t, m)
			r := whole.copy(t).verify(t, nil)
			if len(r.Findings) > 0 || len(r.Notes) > 0 || r.Sessions != 6 || r.Checkpoint != r.Leaves || r.Leaves == 0 || r.Key == "" || r.Signed == "" {
				t.Fatalf("the untouched copy: %+v", r)
			}
			for _, c := range tampering {
				t.Run(c.name, func(t *testing.T) {
					st := whole.copy(t)
					recs := st.load(t, st.dir, "alpha")
					if len(recs) != 18 {
						t.Fatalf("%d records", len(recs))
					}
					recs = c.do(recs)
					for i := range recs {
						if recs[i].Payload == nil && name == "file" {
							recs[i].Payload = []byte("null")
						}
					}
					st.save(t, st.dir, "alpha", recs)
					r := st.verify(t, nil)
					at := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Session == "alpha" })
					if at < 0 {
						t.Fatalf("not found: %+v", r)
					}
					f := r.Findings[at]
					if f.Seq != c.seq || c.leaf && f.Leaf == 0 || !strings.Contains(f.Detail, c.what) {
						t.Errorf("found %v, want record %d: %s", f, c.seq, c.what)
					}
					for _, o := range r.Findings { // the fork shares the first records
						if o.Session != "alpha" && o.Session != "fork" {
							t.Errorf("also found %v", o)
						}
					}
					one := st.verify(t, &VerifyOptions{Session: "alpha"})
					if len(one.Findings) != 1 || one.Findings[0] != f {
						t.Errorf("alone: %v", one.Findings)
					}
				})
			}
		})
	}
}

// A byte of the file itself, without any help of the store.
func TestVerifyFindsRawByte(t *testing.T) {
	for name, m := range media {
		t.Run(name, func(t *testing.T) {
			st := newTamperEnv(t, m)
			path := st.bytes(st.dir, "beta")
			b, err := os.ReadFile(path)
			check(t, err)
			i := bytes.Index(b, []byte(`"beta-1"`))
			b[i+5] ^= 4
			check(t, os.WriteFile(path, b, 0o600))
			r := st.verify(t, nil)
			if len(r.Findings) != 1 || r.Findings[0].Session != "beta" || r.Findings[0].Seq != 3 {
				t.Fatalf("%+v", r)
			}
		})
	}
}

func TestVerifyFindsMissingSession(t *testing.T) {
	for name, m := range media {
		t.Run(name, func(t *testing.T) {
			st := newTamperEnv(t, m)
			st.remove(t, st.dir, "beta")
			r := st.verify(t, nil)
			if len(r.Findings) != 1 || r.Findings[0].Session != "beta" || !strings.Contains(r.Findings[0].Detail, "the session is missing: no leaf records a delete, and its log ended at record 4") {
				t.Fatalf("%+v", r)
			}
			st.remove(t, st.dir, "gone") // the second of this name
			r = st.verify(t, nil)
			if len(r.Findings) != 2 || r.Findings[1].Session != "gone" {
				t.Fatalf("%+v", r)
			}
		})
	}
}

func TestVerifyMetadata(t *testing.T) {
	m := inSQLite{}
	whole := newTamperEnv(t, m)
	for _, c := range []struct {
		q, want string
		seq     int64
	}{
		{"UPDATE sessions SET title = 'another' WHERE id = 'alpha'", "the session's metadata does not match its records", 18},
		{"UPDATE sessions SET head_digest = zeroblob(32) WHERE id = 'alpha'", "the session's metadata does not match its records", 18},
		{"UPDATE sessions SET head = 10 WHERE id = 'alpha'", "records 11 to 18 are missing", 11},
		{"UPDATE sessions SET deleted = 1 WHERE id = 'alpha'", "marked as deleted, but no leaf records the delete", 0},
		{"UPDATE sessions SET head = 30 WHERE id = 'alpha'", "", 19},
	} {
		st := whole.copy(t)
		m.exec(t, st.dir, c.q)
		r := st.verify(t, nil)
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Session == "alpha" })
		if i < 0 || r.Findings[i].Seq != c.seq || !strings.Contains(r.Findings[i].Detail, c.want) {
			t.Errorf("%s: %+v", c.q, r)
		}
	}
}

func TestVerifyNotes(t *testing.T) {
	m := inSQLite{}
	st := newTamperEnv(t, m)
	ctx := context.Background()
	store := m.open(t, st.dir)
	blind := session.New(store, nil)
	l, err := blind.Open(ctx, "beta", nil)
	check(t, err)
	_, err = l.Append(ctx, noteDraft("unseen", "unseen"))
	check(t, err)
	check(t, l.Close())
	l, err = blind.Create(ctx, session.Opened{SessionID: "bare"})
	check(t, err)
	check(t, l.Close())
	closeStore(t, store)
	r := st.verify(t, nil)
	want := []string{
		"session beta: record 5 is not in the trail yet",
		"1 session has no leaf, so only the chain of the records was checked: bare",
	}
	if len(r.Findings) > 0 || !slices.Equal(r.Notes, want) {
		t.Errorf("%+v", r)
	}
	// Without a trail only the hash chains are checked.
	check(t, os.Rename(st.trailDir(), filepath.Join(st.dir, "elsewhere")))
	if r := st.verify(t, nil); len(r.Findings) > 0 || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "no audit trail") {
		t.Errorf("%+v", r)
	}
	if r := st.verify(t, &VerifyOptions{Key: "test+00000000+AA"}); len(r.Findings) != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(st.trailDir()); err == nil {
		t.Error("verifying made a folder")
	}
}

func TestVerifyRefuses(t *testing.T) {
	st := newTamperEnv(t, inFiles{})
	store := st.open(t, st.dir)
	defer closeStore(t, store)
	s := session.New(store, nil)
	for _, o := range []VerifyOptions{{Session: "a/b"}, {Session: "nowhere"}, {Key: "no key"}} {
		if r, err := Verify(context.Background(), s, st.trailDir(), &o); err == nil {
			t.Errorf("%+v: %+v", o, r)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Verify(ctx, s, st.trailDir(), nil); err == nil {
		t.Error("a cancelled verification succeeds")
	}
}

func (m inSQLite) exec(t testing.TB, dir, q string) {
	t.Helper()
	m.sql(t, dir, func(tx *sql.Tx) {
		_, err := tx.Exec(q)
		check(t, err)
	})
}

// Redaction is no fault, erasing without telling is.
func TestVerifyRedacted(t *testing.T) {
	for name, m := range media {
		t.Run(name, func(t *testing.T) {
			st := newTamperEnv(t, m)
			store := m.open(t, st.dir)
			trail, err := OpenTrail(st.trailDir(), nil)
			check(t, err)
			s := session.New(store, &session.Options{AppendObserver: trail})
			for _, id := range []string{"alpha", "orphan"} {
				o := session.RedactOptions{Reason: "test", Mask: func(p json.RawMessage) json.RawMessage {
					return bytes.ReplaceAll(p, []byte("two"), []byte("***"))
				}}
				if id == "alpha" {
					o = session.RedactOptions{Seqs: []int64{3, 16}}
				}
				_, err = s.Redact(context.Background(), id, o)
				check(t, err)
			}
			check(t, trail.Close())
			closeStore(t, store)
			if r := st.verify(t, nil); len(r.Findings)+len(r.Notes) > 0 {
				t.Errorf("%+v", r)
			}
			recs := st.load(t, st.dir, "alpha")
			if recs[2].Payload != nil && string(recs[2].Payload) != "null" {
				t.Fatalf("not erased: %s", recs[2].Payload)
			}
		})
	}
}

// A writer of the store without access to the trail erases something and adds a record of it,
// which no leaf names.
func TestVerifyFindsForgedRedaction(t *testing.T) {
	for name, m := range media {
		t.Run(name, func(t *testing.T) {
			st := newTamperEnv(t, m)
			store := m.open(t, st.dir)
			ctx := context.Background()
			_, err := session.New(store, nil).Redact(ctx, "alpha", session.RedactOptions{Seqs: []int64{7}})
			check(t, err)
			closeStore(t, store)
			want := Finding{Session: "alpha", Seq: 7, Detail: "the payload was erased, but record 19, which names it, is not in the trail"}
			if r := st.verify(t, nil); len(r.Findings) != 1 || r.Findings[0] != want {
				t.Fatalf("%+v", r)
			}
			// A trail that lost its last leaves with the machine gets them again when the session is
			// opened.
			store = m.open(t, st.dir)
			trail, err := OpenTrail(st.trailDir(), nil)
			check(t, err)
			l, err := session.New(store, &session.Options{AppendObserver: trail}).Open(ctx, "alpha", nil)
			check(t, err)
			check(t, l.Close())
			check(t, trail.Close())
			closeStore(t, store)
			if r := st.verify(t, nil); len(r.Findings) > 0 {
				t.Fatalf("%+v", r)
			}
		})
	}
}
