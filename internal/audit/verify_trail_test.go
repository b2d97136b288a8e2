package audit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/holdfast-dev/holdfast/session"
)

// change replaces a file of the trail by what f makes of it.
func (s tamperEnv) change(t testing.TB, name string, f func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(s.trailDir(), name)
	b, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(path, f(b), 0o600))
}

// forgeTrail makes a checkpoint of the leaves as they are, with another key of the same
// name.
func (s tamperEnv) forgeTrail(t testing.TB) {
	t.Helper()
	for _, name := range []string{keyName, verifierName, checkpointName, historyName, treeName} {
		check(t, os.Remove(filepath.Join(s.trailDir(), name)))
	}
	trail, err := OpenTrail(s.trailDir(), &TrailOptions{Name: "test"})
	check(t, err)
	_, err = trail.Checkpoint()
	check(t, err)
	check(t, trail.Close())
}

func splitLines(b []byte) [][]byte { return slices.Collect(bytes.Lines(b)) }

func TestVerifyFindsTamperedTrail(t *testing.T) {
	whole := newTamperEnv(t, inFiles{})
	for _, c := range []struct {
		name string
		do   func(t *testing.T, s tamperEnv)
		leaf int64 // of the first finding of no session
		what string
	}{
		{"leaves cut", func(t *testing.T, s tamperEnv) {
			s.change(t, leavesName, func(b []byte) []byte { return bytes.Join(splitLines(b)[:20], nil) })
		}, 21, "leaves 21 to "},
		{"leaves gone", func(t *testing.T, s tamperEnv) { check(t, os.Remove(filepath.Join(s.trailDir(), leavesName))) }, 1, "leaves 1 to "},
		{"a leaf edited", func(t *testing.T, s tamperEnv) {
			s.change(t, leavesName, func(b []byte) []byte {
				l := splitLines(b)
				l[9] = bytes.Replace(l[9], []byte(`"seq":10`), []byte(`"seq":11`), 1)
				return bytes.Join(l, nil)
			})
		}, 10, "the leaf was changed, removed or moved after it was signed"},
		{"a leaf removed", func(t *testing.T, s tamperEnv) {
			s.change(t, leavesName, func(b []byte) []byte { return bytes.Join(slices.Delete(splitLines(b), 9, 10), nil) })
		}, 10, "the leaf was changed, removed or moved after it was signed"},
		{"two leaves swapped", func(t *testing.T, s tamperEnv) {
			s.change(t, leavesName, func(b []byte) []byte {
				l := splitLines(b)
				l[4], l[9] = l[9], l[4]
				return bytes.Join(l, nil)
			})
		}, 5, "the leaf was changed, removed or moved after it was signed"},
		{"a leaf edited, and the tree removed", func(t *testing.T, s tamperEnv) {
			s.change(t, leavesName, func(b []byte) []byte { return bytes.Replace(b, []byte("beta"), []byte("bete"), 1) })
			check(t, os.Remove(filepath.Join(s.trailDir(), treeName)))
		}, 1, "differ from the signed leaves"},
		{"a line that is no leaf", func(t *testing.T, s tamperEnv) {
			s.change(t, leavesName, func(b []byte) []byte {
				l := splitLines(b)
				l[2] = []byte("{}\n")
				return bytes.Join(l, nil)
			})
		}, 3, "the line is not a leaf"},
		{"the checkpoint edited", func(t *testing.T, s tamperEnv) {
			s.change(t, checkpointName, func(b []byte) []byte { return bytes.Replace(b, []byte("\nbytes "), []byte("\nbytes 9"), 1) })
		}, 0, "the file checkpoint: it was changed"},
		{"the history edited", func(t *testing.T, s tamperEnv) {
			s.change(t, historyName, func(b []byte) []byte { return bytes.Replace(b, []byte("\nbytes "), []byte("\nbytes 9"), 1) })
		}, 0, "note 1 of the file checkpoints: it was changed"},
		{"a checkpoint of another key", func(t *testing.T, s tamperEnv) {
			other := s.copy(t)
			other.forgeTrail(t)
			b, err := os.ReadFile(filepath.Join(other.trailDir(), checkpointName))
			check(t, err)
			s.change(t, checkpointName, func([]byte) []byte { return b })
		}, 0, "the file checkpoint: it is signed with test+"},
		{"another public key", func(t *testing.T, s tamperEnv) {
			_, public, err := note.GenerateKey(zeros{}, "test")
			check(t, err)
			s.change(t, verifierName, func([]byte) []byte { return []byte(public) })
		}, 0, "does not belong to the signing key"},
		{"no public key", func(t *testing.T, s tamperEnv) {
			check(t, os.Remove(filepath.Join(s.trailDir(), verifierName)))
		}, 0, "the key of the checkpoints is unknown"},
		{"a public key that is none", func(t *testing.T, s tamperEnv) {
			s.change(t, verifierName, func([]byte) []byte { return []byte("x") })
		}, 0, "key.pub"},
		{"all but the keys gone", func(t *testing.T, s tamperEnv) {
			for _, name := range []string{leavesName, checkpointName, historyName, treeName} {
				check(t, os.Remove(filepath.Join(s.trailDir(), name)))
			}
		}, 0, "the leaves and the checkpoints are missing"},
		{"the tree edited", func(t *testing.T, s tamperEnv) {
			s.change(t, treeName, func(b []byte) []byte {
				b[0] ^= 1
				return b
			})
		}, 1, "the file tree was changed, but the leaf equals the signed leaf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := whole.copy(t)
			c.do(t, st)
			r := st.verify(t, nil)
			if len(r.Findings) == 0 {
				t.Fatalf("not found: %+v", r)
			}
			f := r.Findings[0]
			for _, other := range r.Findings {
				if strings.Contains(other.Detail, c.what) {
					f = other
				}
			}
			if f.Session != "" || f.Leaf != c.leaf || !strings.Contains(f.Detail, c.what) {
				t.Errorf("found %v", r.Findings)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// A user with access to the folder can recreate the whole trail; a checkpoint stored elsewhere
// shows that.
func TestVerifyAgainstCheckpoint(t *testing.T) {
	st := newTamperEnv(t, inSQLite{})
	kept, err := os.ReadFile(filepath.Join(st.trailDir(), checkpointName))
	check(t, err)
	key, err := os.ReadFile(filepath.Join(st.trailDir(), verifierName))
	check(t, err)
	if r := st.verify(t, &VerifyOptions{Checkpoint: kept, Key: string(key)}); len(r.Findings) > 0 {
		t.Fatalf("%+v", r)
	}
	recs := st.load(t, st.dir, "alpha")
	forge(&recs[6])
	reseal(recs, 6)
	st.save(t, st.dir, "alpha", recs)
	st.change(t, leavesName, func(b []byte) []byte {
		var out []byte
		for i, line := range splitLines(b) {
			l, err := parseLeaf(line[:len(line)-1])
			check(t, err)
			if l.session == "alpha" && !l.deleted {
				l.digest = recs[l.seq-1].Digest
			}
			if i < 40 {
				out = l.append(out)
			}
		}
		return out
	})
	st.forgeTrail(t)
	if r := st.verify(t, &VerifyOptions{Session: "alpha"}); len(r.Findings) > 0 {
		t.Fatalf("a forged trail is consistent in itself: %+v", r)
	}
	for name, o := range map[string]VerifyOptions{
		"key":        {Session: "alpha", Key: string(key)},
		"checkpoint": {Session: "alpha", Checkpoint: kept},
		"both":       {Session: "alpha", Key: string(key), Checkpoint: kept},
	} {
		if r := st.verify(t, &o); len(r.Findings) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
}

// A trail that was restored to an earlier state contradicts a later checkpoint.
func TestVerifyFindsRollback(t *testing.T) {
	st := newTamperEnv(t, inSQLite{})
	old := st.copy(t)
	store := st.open(t, st.dir)
	trail, err := OpenTrail(st.trailDir(), nil)
	check(t, err)
	check(t, session.New(store, &session.Options{AppendObserver: trail}).Rename(context.Background(), "beta", "title"))
	kept, err := trail.Checkpoint()
	check(t, err)
	check(t, trail.Close())
	closeStore(t, store)
	if r := old.verify(t, nil); len(r.Findings) > 0 {
		t.Fatalf("%+v", r)
	}
	r := old.verify(t, &VerifyOptions{Checkpoint: kept})
	want := fmt.Sprintf("leaves %d to %d are missing: the given checkpoint covers", r.Leaves+1, r.Leaves+1)
	if len(r.Findings) != 1 || r.Findings[0].Leaf != int64(r.Leaves)+1 || !strings.HasPrefix(r.Findings[0].Detail, want) {
		t.Fatalf("%+v", r)
	}
	if r := st.verify(t, &VerifyOptions{Checkpoint: kept}); len(r.Findings) > 0 {
		t.Fatalf("%+v", r)
	}
	if r := st.verify(t, &VerifyOptions{Checkpoint: []byte("no note")}); len(r.Findings) != 1 {
		t.Fatalf("%+v", r)
	}
}
