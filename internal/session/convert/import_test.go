package convert_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/claudefixture"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func newSessions() *session.Sessions { return session.New(memory.New(), nil) }

func find(t *testing.T, path string, f convert.Format) *convert.Found {
	t.Helper()
	found, err := convert.Find(path, f)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func export(t *testing.T, s *session.Sessions, id string, f convert.Format) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := convert.Export(t.Context(), &b, s, id, f); err != nil {
		t.Fatalf("export %s as %s: %v", id, f, err)
	}
	return b.Bytes()
}

func verify(t *testing.T, s *session.Sessions, id string) *session.Report {
	t.Helper()
	r, err := s.Verify(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK() {
		t.Fatalf("session %s: %+v, meta differs: %v\n%+v\n%+v", id, r.Faults, r.MetaDiffers, r.Meta, r.Rebuilt)
	}
	return r
}

// A folder of 200 sessions with every kind of problem: the counts are right, the warnings name
// the problems, exports equal the files, and they load again equal.
func TestClaudeFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".claude")
	made, err := claudefixture.Make(dir, claudefixture.Options{Sessions: 200, Turns: 4, Result: 600, Faults: true, LongLine: 20 << 20})
	if err != nil {
		t.Fatal(err)
	}
	found := find(t, dir, convert.Auto)
	if len(found.Sources) != made.Files || found.Bytes != made.Bytes || len(found.Skipped) != 0 {
		t.Fatalf("found %d files of %d bytes, left %v; made %d of %d", len(found.Sources), found.Bytes, found.Skipped, made.Files, made.Bytes)
	}
	s := newSessions()
	items, warnings := 0, map[string][]convert.Warning{}
	for _, src := range found.Sources {
		r, err := convert.Import(t.Context(), s, src, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != convert.Imported {
			t.Errorf("%s: %s", src.Path, r.Status)
		}
		items += r.Items
		if r.Warnings != nil {
			warnings[r.Session] = r.Warnings
		}
		verify(t, s, r.Session)
		want, err := os.ReadFile(src.Path)
		if err != nil {
			t.Fatal(err)
		}
		if r.Session == made.Faulty[claudefixture.Truncated] { // the tail is no line yet
			want = want[:bytes.LastIndexByte(want, '\n')+1]
		}
		if got := export(t, s, r.Session, convert.Claude); !bytes.Equal(got, want) {
			t.Errorf("%s is exported as %d bytes, was %d", src.Path, len(got), len(want))
		}
	}
	if items != made.Items {
		t.Errorf("%d items, want %d", items, made.Items)
	}
	for _, fault := range []string{claudefixture.Truncated, claudefixture.MissingParent, claudefixture.Broken, claudefixture.Cycle} {
		if w := warnings[made.Faulty[fault]]; len(w) != 1 || w[0].Line == 0 {
			t.Errorf("%s: %v", fault, w)
		}
		delete(warnings, made.Faulty[fault])
	}
	for id, w := range warnings {
		t.Errorf("session %s: %v", id, w)
	}
}
