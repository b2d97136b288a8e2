package encrypted

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/zalando/go-keyring"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

const plainText = "quicksilver"

// write makes a session that has plainText everywhere.
func write(t testing.TB, s session.Store, id, project string) {
	t.Helper()
	ss := session.New(s, nil)
	l, err := ss.Create(t.Context(), session.Opened{SessionID: id, Title: plainText, Project: project, CWD: "/" + plainText, User: plainText, GitBranch: plainText})
	if err != nil {
		t.Fatal(err)
	}
	it := transcript.UserText(plainText)
	it.ID = ss.NewID()
	if _, err := l.Append(t.Context(), session.ItemDraft(it.MustEncode(), false, nil)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ss.Tag(t.Context(), id, plainText); err != nil {
		t.Fatal(err)
	}
}

func records(t testing.TB, s session.Store, id string) []session.Record {
	t.Helper()
	var out []session.Record
	for r, err := range s.Read(t.Context(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func TestNothingPlainOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := open(t, openFile(t, dir), newKey(t))
	write(t, s, "a", plainText)
	if _, err := session.New(s, nil).Fork(t.Context(), "a", &session.ForkOptions{ID: "b"}); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(plainText)) {
			t.Errorf("%s has plain text", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatal(files, err)
	}
	for _, id := range []string{"a", "b"} {
		if r, err := session.New(s, nil).Verify(t.Context(), id); err != nil || !r.OK() {
			t.Errorf("verify %s: %+v %v", id, r, err)
		}
	}
}

func TestWithoutTheWrapper(t *testing.T) {
	inner := memory.New()
	write(t, open(t, inner, newKey(t)), "a", "p")
	ss := session.New(inner, nil)
	_, load := ss.Load(t.Context(), "a", nil)
	_, verify := ss.Verify(t.Context(), "a")
	_, restore := ss.Restore(t.Context(), session.RestoreOptions{SessionID: "a"})
	for name, err := range map[string]error{"load": load, "verify": verify, "restore": restore} {
		if !errors.Is(err, session.ErrSealed) || session.Hint(err) == "" {
			t.Errorf("%s: %v, hint %q", name, err, session.Hint(err))
		}
	}
}

func TestWrongKey(t *testing.T) {
	inner := memory.New()
	write(t, open(t, inner, newKey(t)), "a", "p")
	before := records(t, inner, "a")
	if _, err := New(t.Context(), inner, newKey(t), nil); !errors.Is(err, session.ErrSealed) || session.Hint(err) == "" {
		t.Fatalf("another key: %v", err)
	}
	if _, err := New(t.Context(), inner, nil, nil); !errors.Is(err, session.ErrInvalid) {
		t.Fatalf("no key: %v", err)
	}
	if !slices.EqualFunc(before, records(t, inner, "a"), func(a, b session.Record) bool { return string(a.Payload) == string(b.Payload) }) {
		t.Error("something was written")
	}
	plain := memory.New()
	write(t, plain, "a", "p")
	if _, err := New(t.Context(), plain, newKey(t), nil); !errors.Is(err, session.ErrUnsupported) {
		t.Fatalf("a store that is not encrypted: %v", err)
	}
}

func TestTampered(t *testing.T) {
	inner, key := memory.New(), newKey(t)
	s := open(t, inner, key)
	write(t, s, "a", "p")
	write(t, s, "b", "p")
	good, other := records(t, inner, "a"), records(t, inner, "b")
	for name, change := range map[string]func(r *session.Record){
		"another session's": func(r *session.Record) { r.Payload = other[r.Seq-1].Payload },
		"another record's":  func(r *session.Record) { r.Payload = good[(r.Seq-1)%2+1].Payload },
		"another time":      func(r *session.Record) { r.Time = r.Time.Add(1e9); r.Digest = session.Digest(sha256.Sum256(nil)) },
		"a plain one":       func(r *session.Record) { r.Payload = json.RawMessage(`{"text":"x"}`) },
		"a cut one":         func(r *session.Record) { r.Payload = r.Payload[:len(r.Payload)/2] },
		"another delta": func(r *session.Record) {
			r.Payload = bytes.Replace(r.Payload, []byte(`"bytes":`), []byte(`"bytes":1`), 1)
		},
		"another data key's": func(r *session.Record) {
			r.Payload = bytes.Replace(r.Payload, []byte(`"key":"`), []byte(`"key":"0`), 1)
		},
	} {
		for seq := int64(2); seq <= 3; seq++ {
			recs := slices.Clone(good)
			change(&recs[seq-1])
			forged := memory.New()
			for _, r := range recs {
				d, err := session.Fold(good[r.Seq-1 : r.Seq])
				if err != nil {
					t.Fatal(err)
				}
				if err := forged.Append(t.Context(), "a", session.Batch{Expect: r.Seq - 1, Epoch: epoch(t, forged), Records: []session.Record{r}, Delta: d}); err != nil {
					t.Fatal(err)
				}
			}
			f := open(t, forged, key)
			read := 0
			var fault error
			for r, err := range f.Read(t.Context(), "a", session.Range{}) {
				if err != nil {
					fault = err
					continue
				}
				if read++; r.Seq == seq {
					t.Errorf("%s at %d was read: %s", name, seq, r.Payload)
				}
			}
			e, ok := errors.AsType[*session.Error](fault)
			if !ok || !errors.Is(fault, session.ErrCorrupt) || e.Seq != seq || read != 3 {
				t.Errorf("%s at %d: %v, and %d others were read", name, seq, fault, read)
			}
		}
	}
}

// epoch takes the lease of session a.
func epoch(t testing.TB, s session.Leaser) int64 {
	t.Helper()
	l, err := s.Acquire(t.Context(), "a", session.Lease{}, func(session.Lease) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return l.Epoch
}

func TestExportSameBytes(t *testing.T) {
	a, b, key := memory.New(), memory.New(), newKey(t)
	sa := open(t, a, key)
	write(t, sa, "a", "p")
	if _, err := session.New(a, nil).Replicate(t.Context(), b, "a"); err != nil { // sealed as it is
		t.Fatal(err)
	}
	sb := open(t, b, key) // with the data key that came along
	write(t, sa, "x", "p")
	if _, err := session.New(sa, nil).Replicate(t.Context(), sb, "x"); err != nil {
		t.Fatal(err)
	}
	want, got := records(t, a, "x"), records(t, b, "x")
	for i := range want {
		if i > 0 && string(got[i].Payload) != string(want[i].Payload) {
			t.Errorf("record %d is sealed differently", i+1)
		}
	}
	if r, err := session.New(sb, nil).Verify(t.Context(), "a"); err != nil || !r.OK() {
		t.Errorf("the shipped session: %+v %v", r, err)
	}
}

func TestRotation(t *testing.T) {
	inner, old := memory.New(), newKey(t)
	write(t, open(t, inner, old), "a", "p")
	s, err := New(t.Context(), inner, old, &Options{NewKey: true})
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, "b", "p")
	again := open(t, inner, old)
	p, err := again.List(t.Context(), session.Query{Project: "p"})
	if err != nil || len(p.Sessions) != 2 {
		t.Fatalf("list over two data keys: %+v %v", p, err)
	}
	if a, b := again.keys.of["a"], again.keys.of["b"]; a == b && a != "" {
		t.Error("the new session has the old data key")
	}
	for _, id := range []string{"a", "b"} {
		if r, err := session.New(again, nil).Verify(t.Context(), id); err != nil || !r.OK() {
			t.Errorf("verify %s: %+v %v", id, r, err)
		}
	}
}

func TestRecipients(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key, err := newKey(t).WithRecipients(id.Recipient().String())
	if err != nil {
		t.Fatal(err)
	}
	inner := memory.New()
	write(t, open(t, inner, key), "a", "p")
	colleague, err := Identities(strings.NewReader(id.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got := records(t, open(t, inner, colleague), "a"); len(got) != 4 {
		t.Errorf("the other recipient reads %d records", len(got))
	}
	words, err := passphrase("correct horse", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		k *Key
		r string
	}{{key, "nobody"}, {words, id.Recipient().String()}} {
		if _, err := c.k.WithRecipients(c.r); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("recipient %s: %v", c.r, err)
		}
	}
}

func TestKeys(t *testing.T) {
	keyring.MockInit()
	path := filepath.Join(t.TempDir(), "key")
	id, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("# mine\n"+id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, open2 := range map[string]func() (*Key, error){
		"file":       func() (*Key, error) { return IdentityFile(path) },
		"passphrase": func() (*Key, error) { return passphrase("correct horse", 10) },
		"keychain": func() (*Key, error) {
			if k, err := Keychain("ada"); err == nil {
				return k, nil
			}
			return NewKeychain("ada")
		},
	} {
		inner := memory.New()
		for i := range 2 {
			k, err := open2()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s := open(t, inner, k)
			write(t, s, fmt.Sprint(i), "p")
			if got := records(t, s, "0"); len(got) != 4 {
				t.Errorf("%s: %d records", name, len(got))
			}
			_ = s.Close()
		}
	}
	if _, err := NewKeychain("ada"); !errors.Is(err, session.ErrExists) {
		t.Errorf("a key of that name again: %v", err)
	}
	if _, err := Keychain("bob"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("no such key: %v", err)
	}
	for _, f := range []func() (*Key, error){
		func() (*Key, error) { return IdentityFile(path + ".none") },
		func() (*Key, error) { return Identities(strings.NewReader("no key")) },
		func() (*Key, error) { return Passphrase("  ") },
	} {
		if _, err := f(); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("a bad key: %v", err)
		}
	}
}

func TestFilters(t *testing.T) {
	s := open(t, memory.New(), newKey(t))
	for i := range 40 {
		write(t, s, fmt.Sprintf("s%02d", i), fmt.Sprint("p", i%4))
	}
	for _, limit := range []int{0, 1, 3, 10} {
		seen := 0
		q := session.Query{Project: "p1", Tag: plainText, Limit: limit}
		for {
			p, err := s.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			seen += len(p.Sessions)
			if len(p.Sessions) == 0 || limit > 0 && len(p.Sessions) > limit {
				t.Fatalf("a page of %d for a limit of %d", len(p.Sessions), limit)
			}
			if q.After = p.Next; p.Next == "" {
				break
			}
		}
		if seen != 10 {
			t.Errorf("limit %d: %d sessions", limit, seen)
		}
	}
}

func TestSearchUnsupported(t *testing.T) {
	s := open(t, memory.New(), newKey(t))
	f, ok := session.As[session.Searcher](s)
	if !ok {
		t.Fatal("the inner store's searcher would be found")
	}
	if err := f.Index(t.Context()); !errors.Is(err, session.ErrUnsupported) {
		t.Errorf("index: %v", err)
	}
	if _, err := f.Search(t.Context(), session.Search{Words: "x"}); !errors.Is(err, session.ErrUnsupported) {
		t.Errorf("search: %v", err)
	}
}

func FuzzSealed(f *testing.F) {
	p, err := (&record.Sealed{Ciphertext: []byte("x"), Key: "k", Delta: json.RawMessage(`{"bytes":1}`)}).Payload()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(p))
	f.Add([]byte(`{"sealed":"`))
	f.Add([]byte(`{"masked":{"masked":{}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := record.ReadSealed(b)
		r := session.Record{Seq: 1, Kind: session.KindItem, Payload: b}
		_, _ = session.Fold([]session.Record{r})
		if err != nil {
			return
		}
		again, err := s.Payload()
		if err != nil {
			return
		}
		if t2, err := record.ReadSealed(again); err != nil || !bytes.Equal(t2.Ciphertext, s.Ciphertext) || t2.Key != s.Key {
			t.Errorf("%q came back as %+v %v", b, t2, err)
		}
	})
}

// dataKeyOf is the id of the data key that a session is sealed with.
func dataKeyOf(t *testing.T, inner session.Store, id string) string {
	t.Helper()
	box, err := record.ReadSealed(records(t, inner, id)[0].Payload)
	if err != nil {
		t.Fatal(err)
	}
	return box.Key
}

// Anyone who knows a recipient can add a session with a data key of their own. New sessions
// are not encrypted with it.
func TestPlantedDataKey(t *testing.T) {
	inner, key := memory.New(), newKey(t)
	write(t, open(t, inner, key), "mine", "p")
	planted := &Key{from: "nobody's", recipients: key.recipients, makers: [][]byte{identityMark("x")}}
	other, err := New(t.Context(), memory.New(), planted, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, "theirs", "p")
	if _, err := session.New(other.Unwrap(), nil).Replicate(t.Context(), inner, "theirs"); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, inner, key), "later", "p")
	mine, theirs, later := dataKeyOf(t, inner, "mine"), dataKeyOf(t, inner, "theirs"), dataKeyOf(t, inner, "later")
	if later == theirs || later != mine {
		t.Errorf("mine %s, theirs %s, later %s", mine, theirs, later)
	}
}

// Other recipients start another data key, and the same ones keep theirs.
func TestRecipientsAdded(t *testing.T) {
	inner, key := memory.New(), newKey(t)
	write(t, open(t, inner, key), "a", "p")
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	both, err := key.WithRecipients(id.Recipient().String())
	if err != nil {
		t.Fatal(err)
	}
	write(t, open(t, inner, both), "b", "p")
	write(t, open(t, inner, both), "c", "p")
	write(t, open(t, inner, key), "d", "p")
	a, b, c, d := dataKeyOf(t, inner, "a"), dataKeyOf(t, inner, "b"), dataKeyOf(t, inner, "c"), dataKeyOf(t, inner, "d")
	if a == b || b != c || d != a {
		t.Errorf("%s %s %s %s", a, b, c, d)
	}
	colleague, err := Identities(strings.NewReader(id.String()))
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{inner: inner, keys: newKeyCache(colleague)}
	s.life, s.end = t.Context(), func() {}
	for id, opens := range map[string]bool{"a": false, "b": true, "c": true, "d": false} {
		if k, err := s.keyOf(t.Context(), id); (k != nil) != opens || (err == nil) != opens {
			t.Errorf("%s: %v", id, err)
		}
	}
}
