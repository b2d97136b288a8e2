package convert_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/claudefixture"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// An import that is interrupted begins no other session; the next one does the rest,
// and the one after that nothing. Real disks.
func TestResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".claude")
	if _, err := claudefixture.Make(dir, claudefixture.Options{Sessions: 30, Turns: 2, Result: 100, Faults: true}); err != nil {
		t.Fatal(err)
	}
	found := find(t, dir, convert.Claude)
	for name, open := range map[string]func() (session.Store, error){
		"sqlite": func() (session.Store, error) {
			return sqlite.Open(filepath.Join(t.TempDir(), "sessions.db"), nil)
		},
		"file": func() (session.Store, error) { return file.Open(filepath.Join(t.TempDir(), "sessions"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer store.(interface{ Close() error }).Close()
			s := session.New(store, nil)
			run := func(ctx context.Context, each func(n int)) (of map[convert.Status]int, err error) {
				of = map[convert.Status]int{}
				n := 0
				err = convert.ImportAll(ctx, s, found.Sources, nil, func(r *convert.Report, err error) bool {
					if err != nil {
						t.Error(err)
					}
					of[r.Status]++
					n++
					each(n)
					return true
				})
				return of, err
			}
			ctx, stop := context.WithCancel(t.Context())
			first, err := run(ctx, func(n int) {
				if n == 3 {
					stop()
				}
			})
			if !errors.Is(err, context.Canceled) || first[convert.Imported] < 3 || first[convert.Imported] == len(found.Sources) {
				t.Fatalf("%v, %v", first, err)
			}
			rest, err := run(t.Context(), func(int) {})
			if err != nil || rest[convert.Imported]+rest[convert.Unchanged] != len(found.Sources) || rest[convert.Unchanged] < first[convert.Imported] {
				t.Errorf("%v after %v, %v", rest, first, err)
			}
			if none, err := run(t.Context(), func(int) {}); err != nil || none[convert.Unchanged] != len(found.Sources) {
				t.Errorf("%v, %v", none, err)
			}
			owned, err := s.List(t.Context(), session.Query{Owner: claudefixture.SessionID(8)})
			if err != nil || len(owned.Sessions) != 1 || owned.Sessions[0].ID != claudefixture.SessionID(8)+"-agent-a1b2c3" {
				t.Errorf("sub-agents: %+v, %v", owned.Sessions, err)
			}
		})
	}
}

// A file that grows is taken in as far as it is, wherever it was cut.
func TestGrowing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".claude")
	if _, err := claudefixture.Make(dir, claudefixture.Options{Sessions: len(claudefixture.Faults), Turns: 3, Result: 60, Faults: true}); err != nil {
		t.Fatal(err)
	}
	for _, src := range find(t, dir, convert.Claude).Sources {
		whole, err := os.ReadFile(src.Path)
		if err != nil {
			t.Fatal(err)
		}
		once := newSessions()
		want := importSource(t, once, src, nil)
		lines := bytes.SplitAfter(whole, []byte("\n"))
		s, grown := newSessions(), 0
		for n := 2; n < len(lines)+2; n += 2 {
			part := bytes.Join(lines[:min(n, len(lines))], nil)
			if n%4 == 0 && n < len(lines) { // and half a line
				part = append(part, lines[n][:len(lines[n])/2]...)
			}
			if err := os.WriteFile(src.Path, part, 0o600); err != nil {
				t.Fatal(err)
			}
			r := importSource(t, s, src, nil)
			if r.Status == convert.Skipped {
				t.Fatalf("%s, %d lines: %v", src.Path, n, r.Warnings)
			}
			grown++
		}
		// After an interruption in an open tool use or in an answer of several lines, the result is
		// the same.
		if a, b := itemStrings(t, once, want.Session), itemStrings(t, s, want.Session); strings.ReplaceAll(a, " | assistant:", "") != strings.ReplaceAll(b, " | assistant:", "") {
			t.Errorf("%s in %d steps:\n%s\nat once:\n%s", src.Path, grown, b, a)
		}
		if !bytes.Equal(export(t, once, want.Session, convert.Claude), export(t, s, want.Session, convert.Claude)) {
			t.Errorf("%s: the lines differ", src.Path)
		}
	}
}

// A session that was continued here is not changed by its file.
func TestSessionContinuedHere(t *testing.T) {
	s := newSessions()
	src := write(t, "rollout.jsonl", rollout)
	r := importSource(t, s, src, nil)
	l, err := s.Load(t.Context(), r.Session, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Rename(t.Context(), r.Session, "renamed"); err != nil {
		t.Fatal(err)
	}
	rewrite(t, src.Path, rollout+`{"type":"event_msg","payload":{"type":"x"}}`+"\n")
	if r := importSource(t, s, src, nil); r.Status != convert.Continued {
		t.Errorf("a title is no reason: %s %v", r.Status, r.Warnings)
	}
	log, err := s.Open(t.Context(), r.Session, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Rewrite(t.Context(), session.Rewrite{Reason: "truncate", By: "me", TruncateAfter: l.Items[1].ID()}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	rewrite(t, src.Path, rollout+`{"type":"event_msg","payload":{"type":"x"}}`+"\n{}\n")
	if r := importSource(t, s, src, nil); r.Status != convert.Skipped || !strings.Contains(fmt.Sprint(r.Warnings), "was continued here") {
		t.Errorf("%s %v", r.Status, r.Warnings)
	}
}
