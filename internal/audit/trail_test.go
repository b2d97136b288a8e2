package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/holdfast-dev/holdfast/session"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 5e6, time.UTC)

func openTrail(t testing.TB, dir string) *Trail {
	t.Helper()
	trail, err := OpenTrail(dir, &TrailOptions{Name: "test", Clock: func() time.Time { return noon }})
	check(t, err)
	t.Cleanup(func() { trail.Close() })
	return trail
}

func head(seq int64) session.Record {
	return session.Record{Seq: seq, Digest: session.Digest(sha256.Sum256(fmt.Append(nil, seq)))}
}

func addLeaves(t testing.TB, trail *Trail, id string, seqs ...int64) {
	t.Helper()
	for _, seq := range seqs {
		check(t, trail.Appended(context.Background(), id, head(seq)))
	}
}

func readTrail(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	check(t, err)
	return string(b)
}

func TestLeaves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "trail")
	trail := openTrail(t, dir)
	addLeaves(t, trail, `s "quoted" é`, 1)
	addLeaves(t, trail, "s", 1, 1, 2, 2, 1)
	check(t, trail.Deleted(t.Context(), "s"))
	check(t, trail.Deleted(t.Context(), "s"))
	addLeaves(t, trail, "s", 1)
	d1, d2 := head(1).Digest.String(), head(2).Digest.String()
	const at = `"time":"2026-05-01T12:00:00.005Z"}`
	want := strings.Join([]string{
		`{"digest":"` + d1 + `","seq":1,"session":"s \"quoted\" é",` + at,
		`{"digest":"` + d1 + `","seq":1,"session":"s",` + at,
		`{"digest":"` + d2 + `","seq":2,"session":"s",` + at,
		`{"digest":"` + d1 + `","seq":1,"session":"s",` + at, // another program was slower
		`{"deleted":true,"session":"s",` + at,
		`{"deleted":true,"session":"s",` + at,
		`{"digest":"` + d1 + `","seq":1,"session":"s",` + at,
		"",
	}, "\n")
	if got := readTrail(t, dir, leavesName); got != want {
		t.Errorf("leaves are\n%swant\n%s", got, want)
	}
	for line := range strings.Lines(want) {
		if _, err := parseLeaf([]byte(strings.TrimSuffix(line, "\n"))); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	check(t, trail.Close())
	// The next program knows the last leaf.
	addLeaves(t, openTrail(t, dir), "s", 1)
	if got := readTrail(t, dir, leavesName); got != want {
		t.Error("a leaf was written again")
	}
	for name, mode := range map[string]os.FileMode{".": 0o700, leavesName: 0o600, keyName: 0o600, checkpointName: 0o600, treeName: 0o600, historyName: 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

func TestCheckpoints(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o700))
	trail := openTrail(t, dir)
	empty, err := trail.Checkpoint()
	check(t, err)
	addLeaves(t, trail, "s", 1, 2, 3)
	first, err := trail.Checkpoint()
	check(t, err)
	again, err := trail.Checkpoint()
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("nothing was added, and: %s %v", again, err)
	}
	addLeaves(t, trail, "s", 4)
	check(t, trail.Close())
	check(t, trail.Close())
	last := readTrail(t, dir, checkpointName)
	history := string(empty) + "\n" + string(first) + "\n" + last + "\n"
	if got := readTrail(t, dir, historyName); got != history {
		t.Errorf("history\n%s\nwant\n%s", got, history)
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(readTrail(t, dir, verifierName)))
	check(t, err)
	n, err := note.Open([]byte(last), note.VerifierList(verifier))
	check(t, err)
	want := fmt.Sprintf("bytes %d\ntime 2026-05-01T12:00:00.005Z\n", len(readTrail(t, dir, leavesName)))
	if !strings.HasPrefix(n.Text, "test\n4\n") || !strings.HasSuffix(n.Text, want) {
		t.Errorf("%s", n.Text)
	}
	for _, do := range []func() error{
		func() error { return trail.Appended(t.Context(), "s", head(5)) },
		func() error { return trail.Deleted(t.Context(), "s") },
		func() error { _, err := trail.Checkpoint(); return err },
	} {
		if err := do(); !errors.Is(err, session.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	// A program that adds nothing signs nothing.
	check(t, openTrail(t, dir).Close())
	if readTrail(t, dir, historyName) != history {
		t.Error("a checkpoint of nothing new")
	}
}

// Many leaves get a checkpoint automatically, and the tree's file is recreated when it is
// lost.
func TestAutomaticCheckpoints(t *testing.T) {
	dir := t.TempDir()
	trail := openTrail(t, dir)
	for i := range int64(2*signEvery + 10) {
		if i == signEvery+5 {
			check(t, os.Truncate(filepath.Join(dir, treeName), 3))
		}
		addLeaves(t, trail, "s", i+1)
	}
	if notes, torn := splitNotes([]byte(readTrail(t, dir, historyName))); len(notes) != 2 || torn != nil {
		t.Fatalf("%d notes", len(notes))
	}
	v := verifyRun{ctx: t.Context(), dir: dir, r: &Report{}}
	check(t, v.readTrail())
	if v.r.Checkpoint != 2*signEvery || v.r.Leaves != 2*signEvery+10 || len(v.r.Findings) > 0 || len(v.r.Notes) != 1 {
		t.Errorf("%+v", v.r)
	}
}

func TestOpenTrailRepairs(t *testing.T) {
	for name, torn := range map[string]string{
		"half a line":          `{"digest":"abc`,
		"zeros":                strings.Repeat("\x00", 300),
		"zeros with an end":    strings.Repeat("\x00", 300) + "\n",
		"zeros before a line":  strings.Repeat("\x00", 300) + "\n" + string(leaf{session: "x", deleted: true}.append(nil)),
		"a line of many bytes": `{"x":"` + strings.Repeat("x", maxLeaf) + "\"}\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			trail := openTrail(t, dir)
			addLeaves(t, trail, "s", 1)
			check(t, trail.Close())
			trail = openTrail(t, dir)
			trail.unsigned = -9 // no checkpoint: the program ends as by a crash
			addLeaves(t, trail, "s", 2)
			check(t, trail.Close())
			whole := readTrail(t, dir, leavesName)
			check(t, os.WriteFile(filepath.Join(dir, leavesName), []byte(whole+torn), 0o600))
			trail = openTrail(t, dir)
			addLeaves(t, trail, "s", 3)
			check(t, trail.Close())
			l := leaf{session: "s", seq: 3, digest: head(3).Digest, time: noon}
			if got := readTrail(t, dir, leavesName); got != whole+string(l.append(nil)) {
				t.Errorf("leaves are\n%s", got)
			}
			if kept := readTrail(t, dir, fmt.Sprintf("torn-%d-%d", len(whole), len(torn))); kept != torn {
				t.Errorf("kept %q", kept)
			}
			v := verifyRun{ctx: t.Context(), dir: dir, r: &Report{}}
			check(t, v.readTrail())
			if len(v.r.Findings) > 0 || len(v.r.Notes) != 1 {
				t.Errorf("%+v", v.r)
			}
		})
	}
}

// A program that ends in the middle of a line, while another goes on.
func TestTrailRepairsWhileOpen(t *testing.T) {
	dir := t.TempDir()
	trail := openTrail(t, dir)
	addLeaves(t, trail, "s", 1)
	f, err := os.OpenFile(filepath.Join(dir, leavesName), os.O_WRONLY|os.O_APPEND, 0)
	check(t, err)
	l := leaf{session: "t", seq: 1, time: noon}
	_, err = f.Write(append(l.append(nil), `{"dig`...))
	check(t, errors.Join(err, f.Close()))
	addLeaves(t, trail, "s", 2)
	if n := strings.Count(readTrail(t, dir, leavesName), "\n"); n != 3 || strings.Contains(readTrail(t, dir, leavesName), `{"dig{`) {
		t.Errorf("%s", readTrail(t, dir, leavesName))
	}
	// A torn history is mended as well.
	check(t, trail.Close())
	f, err = os.OpenFile(filepath.Join(dir, historyName), os.O_WRONLY|os.O_APPEND, 0)
	check(t, err)
	_, err = f.WriteString("test\n77\nAAAA")
	check(t, errors.Join(err, f.Close()))
	trail = openTrail(t, dir)
	addLeaves(t, trail, "s", 3)
	check(t, trail.Close())
	if notes, torn := splitNotes([]byte(readTrail(t, dir, historyName))); len(notes) != 2 || torn != nil {
		t.Errorf("%q, torn %q", notes, torn)
	}
}

func TestOpenTrailRefuses(t *testing.T) {
	made := func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "trail")
		trail := openTrail(t, dir)
		addLeaves(t, trail, "s", 1, 2, 3)
		check(t, trail.Close())
		return dir
	}
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"a file in its place": func(t *testing.T, dir string) {
			check(t, os.RemoveAll(dir))
			check(t, os.WriteFile(dir, nil, 0o600))
		},
		"others may write": func(t *testing.T, dir string) { check(t, os.Chmod(dir, 0o770)) },
		"others may read the key": func(t *testing.T, dir string) {
			check(t, errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, keyName), 0o644)))
		},
		"others may write leaves": func(t *testing.T, dir string) {
			check(t, errors.Join(os.Chmod(dir, 0o711), os.Chmod(filepath.Join(dir, leavesName), 0o620)))
		},
		"a link for leaves": func(t *testing.T, dir string) { replaceByLink(t, filepath.Join(dir, leavesName)) },
		"leaves cut":        func(t *testing.T, dir string) { check(t, os.Truncate(filepath.Join(dir, leavesName), 5)) },
		"leaves removed":    func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, leavesName))) },
		"no real checkpoint": func(t *testing.T, dir string) {
			check(t, os.WriteFile(filepath.Join(dir, checkpointName), []byte("x"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := made(t)
			spoil(t, dir)
			trail, err := OpenTrail(dir, nil)
			if err == nil {
				trail.Close()
				t.Fatal("opened")
			}
			if session.Hint(err) == "" || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v; hint %q", err, session.Hint(err))
			}
		})
	}
	for _, name := range []string{"a b", "a+b", "\xff", "a\nb"} {
		if _, err := OpenTrail(made(t), &TrailOptions{Name: name}); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func replaceByLink(t *testing.T, path string) {
	check(t, os.Rename(path, path+".real"))
	check(t, os.Symlink(path+".real", path))
}

func TestCheckpointRefuses(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"the key is gone": func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, keyName))) },
		"another public key": func(t *testing.T, dir string) {
			check(t, os.WriteFile(filepath.Join(dir, verifierName), []byte("x"), 0o600))
		},
		"no key": func(t *testing.T, dir string) {
			check(t, os.WriteFile(filepath.Join(dir, keyName), []byte("PRIVATE+KEY+x"), 0o600))
		},
		"a signed leaf changed, and the tree lost": func(t *testing.T, dir string) {
			b := readTrail(t, dir, leavesName)
			check(t, os.WriteFile(filepath.Join(dir, leavesName), []byte(strings.Replace(b, `"seq":2`, `"seq":7`, 1)), 0o600))
			check(t, os.Remove(filepath.Join(dir, treeName)))
		},
		"a checkpoint of somebody else": func(t *testing.T, dir string) {
			b := readTrail(t, dir, checkpointName)
			check(t, os.WriteFile(filepath.Join(dir, checkpointName), []byte(strings.Replace(b, "time 2026", "time 2025", 1)), 0o600))
		},
	} {
		refuses := func(t *testing.T, inUse bool) {
			dir := t.TempDir()
			trail := openTrail(t, dir)
			addLeaves(t, trail, "s", 1, 2, 3)
			if inUse { // it knows key and checkpoint already
				_, err := trail.Checkpoint()
				check(t, err)
			} else {
				check(t, trail.Close())
			}
			before := readTrail(t, dir, checkpointName)
			spoil(t, dir)
			spoiled := readTrail(t, dir, checkpointName)
			if !inUse {
				trail = openTrail(t, dir)
			}
			addLeaves(t, trail, "s", 4)
			if _, err := trail.Checkpoint(); err == nil || session.Hint(err) == "" {
				t.Errorf("signed: %v", err)
			}
			if err := trail.Close(); err == nil {
				t.Error("closed without a word")
			}
			if now := readTrail(t, dir, checkpointName); now != before && now != spoiled {
				t.Error("a new checkpoint")
			}
		}
		t.Run(name, func(t *testing.T) { refuses(t, false) })
		t.Run(name+", in use", func(t *testing.T) { refuses(t, true) })
	}
}

func TestTrailRemoved(t *testing.T) {
	dir := t.TempDir()
	trail := openTrail(t, dir)
	addLeaves(t, trail, "s", 1, 2)
	check(t, os.Truncate(filepath.Join(dir, leavesName), 10))
	if err := trail.Appended(t.Context(), "s", head(3)); !errors.Is(err, session.ErrCorrupt) {
		t.Errorf("leaves cut: %v", err)
	}
	check(t, os.Remove(filepath.Join(dir, leavesName)))
	if err := trail.Appended(t.Context(), "s", head(3)); !errors.Is(err, session.ErrPoisoned) {
		t.Errorf("leaves removed: %v", err)
	}
	if err := trail.Appended(t.Context(), "../s", head(3)); !errors.Is(err, session.ErrInvalidID) {
		t.Errorf("an id that is none: %v", err)
	}
}

// Several programs, each with several writers, append to one trail and sign.
func TestTrailShared(t *testing.T) {
	dir := t.TempDir()
	if d := os.Getenv("HOLDFAST_TRAIL"); d != "" {
		dir = d
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			trail, err := OpenTrail(dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range int64(50) {
				if err := trail.Appended(t.Context(), fmt.Sprintf("s-%d-%d", os.Getpid(), w), head(i+1)); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					if _, err := trail.Checkpoint(); err != nil {
						t.Error(err)
					}
				}
			}
			if err := trail.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if os.Getenv("HOLDFAST_TRAIL") != "" {
		wg.Wait()
		return
	}
	for range 2 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestTrailShared$")
			cmd.Env = append(os.Environ(), "HOLDFAST_TRAIL="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	v := verifyRun{ctx: t.Context(), dir: dir, r: &Report{}}
	check(t, v.readTrail())
	if v.r.Leaves != 600 || v.r.Checkpoint != 600 || len(v.sessions) != 12 || len(v.r.Findings)+len(v.r.Notes) > 0 {
		t.Errorf("%+v", v.r)
	}
}

func FuzzParseLeaf(f *testing.F) {
	f.Add([]byte(`{"deleted":true,"session":"s","time":"2026-05-01T12:00:00.005Z"}`))
	f.Add(bytes.TrimSpace(leaf{session: `a"b`, seq: 7, time: noon}.append(nil)))
	f.Fuzz(func(t *testing.T, line []byte) {
		l, err := parseLeaf(line)
		if err != nil {
			return
		}
		if again := l.append(nil); string(again) != string(line)+"\n" {
			t.Errorf("%q became %q", line, again)
		}
	})
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add(checkpoint{origin: "test", size: 3, bytes: 300, time: noon}.text())
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCheckpoint(text)
		if err != nil {
			return
		}
		if again, err := parseCheckpoint(c.text()); err != nil || again != c {
			t.Errorf("%+v became %+v: %v", c, again, err)
		}
	})
}
