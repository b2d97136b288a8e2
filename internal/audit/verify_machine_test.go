package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// worker performs random operations on sessions with a trail.
type worker struct {
	dir   string
	store session.Store
	trail *Trail
	s     *session.Sessions
	next  int
}

func (w *worker) start(t rapid.TB) {
	var err error
	if w.trail, err = OpenTrail(w.dir, nil); err != nil {
		t.Fatal(err)
	}
	w.s = session.New(w.store, &session.Options{AppendObserver: w.trail})
}

func (w *worker) name(prefix string) string {
	w.next++
	return fmt.Sprint(prefix, w.next)
}

// pick returns an existing session, or "".
func (w *worker) pick(t *rapid.T) string {
	p, err := w.s.List(context.Background(), session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sessions) == 0 {
		t.Skip("no session yet")
	}
	ids := make([]string, len(p.Sessions))
	for i, m := range p.Sessions {
		ids[i] = m.ID
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "session")
}

func (w *worker) steps() map[string]func(*rapid.T) {
	ctx := context.Background()
	must := func(t *rapid.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(*rapid.T){
		"create": func(t *rapid.T) {
			// An id that was deleted may be used again.
			id := rapid.SampledFrom([]string{"s1", "s2", "s3", w.name("t")}).Draw(t, "id")
			l, err := w.s.Create(ctx, session.Opened{SessionID: id})
			if errors.Is(err, session.ErrExists) {
				t.Skip("it is there")
			}
			must(t, err)
			must(t, l.Close())
		},
		"append": func(t *rapid.T) {
			l, err := w.s.Open(ctx, w.pick(t), nil)
			must(t, err)
			for range rapid.IntRange(1, 3).Draw(t, "appends") {
				var drafts []session.Draft
				for range rapid.IntRange(1, 3).Draw(t, "drafts") {
					drafts = append(drafts, noteDraft(w.name("i"), "some words"))
				}
				_, err = l.Append(ctx, drafts...)
				must(t, err)
			}
			must(t, l.Close())
		},
		"crash": func(t *rapid.T) { // after the store and before the trail
			l, err := session.New(w.store, nil).Open(ctx, w.pick(t), nil)
			must(t, err)
			_, err = l.Append(ctx, noteDraft(w.name("i"), "unseen words"))
			must(t, err)
			must(t, l.Close())
		},
		"rename": func(t *rapid.T) { must(t, w.s.Rename(ctx, w.pick(t), w.name("title "))) },
		"fork": func(t *rapid.T) {
			_, err := w.s.Fork(ctx, w.pick(t), &session.ForkOptions{ID: w.name("f")})
			must(t, err)
		},
		"redact": func(t *rapid.T) {
			_, err := w.s.Redact(ctx, w.pick(t), session.RedactOptions{Reason: "test", Mask: func(p json.RawMessage) json.RawMessage {
				return bytes.ReplaceAll(p, []byte("words"), []byte("*****"))
			}})
			must(t, err)
		},
		"delete": func(t *rapid.T) { must(t, w.s.Delete(ctx, w.pick(t))) },
		"checkpoint": func(t *rapid.T) {
			rarely(t)
			_, err := w.trail.Checkpoint()
			must(t, err)
		},
		"restart": func(t *rapid.T) {
			rarely(t)
			must(t, w.trail.Close())
			w.start(t)
		},
		"": func(t *rapid.T) {
			r, err := Verify(ctx, w.s, w.dir, nil)
			must(t, err)
			if len(r.Findings) > 0 {
				t.Fatalf("%v", r.Findings)
			}
		},
	}
}

// rarely skips most of the steps that wait for the disk.
func rarely(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
		t.Skip("another time")
	}
}

// After any valid operations on sessions, verification finds nothing.
func TestVerifyMachine(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		sub, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		w := &worker{dir: sub, store: memory.New()}
		w.start(t)
		defer func() { w.trail.Close() }()
		t.Repeat(w.steps())
	})
}

// Any change of a log's records without using the store is found, and no later record is
// reported.
func TestVerifyFindsRandomChange(t *testing.T) {
	m := inFiles{}
	whole := newTamperEnv(t, m)
	original := m.load(t, whole.dir, "alpha")
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		st := tamperEnv{m, filepath.Join(dir, fmt.Sprint(rapid.Uint64().Draw(rt, "folder")))}
		defer os.RemoveAll(st.dir)
		check(t, os.CopyFS(st.dir, os.DirFS(whole.dir)))
		check(t, os.Chmod(st.trailDir(), 0o700))
		recs := slices.Clone(original)
		at := rapid.IntRange(0, len(recs)-1).Draw(rt, "at")
		switch rapid.SampledFrom([]string{"payload", "digest", "remove", "swap", "cut", "chain"}).Draw(rt, "what") {
		case "payload":
			recs[at].Payload = append(slices.Clone(recs[at].Payload[:len(recs[at].Payload)-1]), `,"x":1}`...)
		case "digest":
			recs[at].Digest[rapid.IntRange(0, 31).Draw(rt, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		case "remove":
			recs = slices.Delete(recs, at, at+1)
		case "swap":
			to := rapid.IntRange(0, len(recs)-1).Draw(rt, "to")
			if to == at {
				rt.Skip("nothing to swap")
			}
			recs[at], recs[to] = recs[to], recs[at]
			recs[at].Seq, recs[to].Seq = int64(at)+1, int64(to)+1
			at = min(at, to)
		case "cut":
			at = max(at, 1)
			recs = recs[:at]
		case "chain":
			recs[at].Time = recs[at].Time.Add(1e6)
			reseal(recs, at)
		}
		st.save(t, st.dir, "alpha", recs)
		r := st.verify(t, &VerifyOptions{Session: "alpha"})
		if len(r.Findings) == 0 || r.Findings[0].Seq > int64(at)+1 {
			rt.Fatalf("record %d: %v", at+1, r.Findings)
		}
	})
}

// Verification may run while others work.
func TestVerifyDuringWrites(t *testing.T) {
	st := newTamperEnv(t, inSQLite{})
	store := st.open(t, st.dir)
	defer closeStore(t, store)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			trail, err := OpenTrail(st.trailDir(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			s := session.New(store, &session.Options{AppendObserver: trail})
			for n := 0; ctx.Err() == nil; n++ {
				id := fmt.Sprint("w", i, "-", n)
				l, err := s.Create(context.Background(), session.Opened{SessionID: id})
				for k := 0; k < 5 && err == nil; k++ {
					_, err = l.Append(context.Background(), noteDraft(fmt.Sprint(k), "words"))
				}
				if err == nil {
					err = l.Close()
				}
				if err == nil && n%2 == 0 {
					err = s.Delete(context.Background(), id)
				}
				if err != nil {
					t.Error(err)
					break
				}
			}
			if err := trail.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for range 30 {
		r, err := Verify(context.Background(), session.New(store, nil), st.trailDir(), nil)
		if err != nil || len(r.Findings) > 0 {
			t.Errorf("%v: %+v", err, r)
			break
		}
	}
	stop()
	wg.Wait()
	if r := st.verify(t, nil); len(r.Findings)+len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
}
