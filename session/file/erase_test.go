package file

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// holds lists the files of a store that have a text.
func holds(t *testing.T, dir, text string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const secretText = "correct horse battery staple"

func TestEraseLeavesNoTrace(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	other := openStore(t, dir) // another process that has the session open
	sessions := session.New(s, nil)
	l, err := sessions.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	payload := `{"item":{"id":"i","role":"user","parts":[{"type":"text","text":"` + secretText + `"}]}}`
	if _, err := l.Append(t.Context(), session.Draft{Kind: session.KindItem, Payload: []byte(payload)}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil { // writes the cache
		t.Fatal(err)
	}
	if err := session.New(other, nil).Rename(t.Context(), "s", secretText); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, "s", "torn-1-2.bin")
	if err := os.WriteFile(torn, []byte(secretText), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := holds(t, dir, secretText); len(got) < 2 {
		t.Fatalf("only %v have it", got)
	}
	if _, err := sessions.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{2, 3}}); err != nil {
		t.Fatal(err)
	}
	if got := holds(t, dir, secretText); len(got) != 0 {
		t.Errorf("it is still in %v", got)
	}
	if err := session.New(other, nil).Tag(t.Context(), "s", "tag"); err != nil {
		t.Fatal(err)
	}
	other.Close()
	s.Close()
	if got := holds(t, dir, secretText); len(got) != 0 {
		t.Errorf("it came back in %v", got)
	}
	again := openStore(t, dir)
	r, err := session.New(again, nil).Verify(t.Context(), "s")
	if err != nil || !r.OK() || r.Erased != 2 || r.Meta.Tag != "tag" || r.Meta.FirstPrompt != record.Erased {
		t.Errorf("%+v %v", r, err)
	}
	os.Remove(filepath.Join(dir, "s", metaName)) // the cache follows from the log, erased or not
	m, _, err := openStore(t, dir).meta("s")
	if err != nil || m.FirstPrompt != record.Erased || m.Title != "" || m.Tag != "tag" || m.MessageCount != 1 {
		t.Errorf("%+v %v", m, err)
	}
}

// If any operation of an Erase and all later ones fail, the log is the old or the new one,
// every acknowledged record is stored, and erasing again completes it.
func TestEraseFaults(t *testing.T) {
	for _, forever := range []bool{false, true} {
		for nth := 1; ; nth++ {
			name := fmt.Sprintf("operation %d, forever %v", nth, forever)
			dir := fastDir(t)
			f := &failing{nth: 1 << 30, err: syscall.EIO, forever: forever, partly: nth * 50}
			s, err := open(dir, nil, diskOps{fault: f.fault})
			if err != nil {
				t.Fatal(err)
			}
			a, l := begin(t, s, "s")
			add(t, s, a, l.Epoch, a.items(30, 300)...)
			f.seen, f.nth = 0, nth
			err = s.Erase(t.Context(), "s", l.Epoch, []int64{2, 30})
			f.nth, f.forever = -1, false // the process ends; the medium is well again
			after := openStore(t, dir)
			rs, faults := readAll(t, after, "s", session.Range{})
			gone := slices.DeleteFunc(slices.Clone(rs), func(r session.Record) bool { return r.Payload != nil })
			if len(rs) != 31 || faults != nil || len(gone) != 0 && len(gone) != 2 || err == nil && len(gone) != 2 {
				t.Fatalf("%s (%v): %d records, %d erased, faults %v", name, err, len(rs), len(gone), faults)
			}
			if err := after.Erase(t.Context(), "s", l.Epoch, []int64{2, 30}); err != nil {
				t.Fatalf("%s: again: %v", name, err)
			}
			add(t, after, a, l.Epoch, a.items(1, 10)...)
			rs, faults = readAll(t, after, "s", session.Range{})
			if len(rs) != 32 || faults != nil || rs[1].Payload != nil || rs[29].Payload != nil || rs[2].Payload == nil {
				t.Fatalf("%s: in the end %d records, faults %v", name, len(rs), faults)
			}
			if _, err := os.Stat(filepath.Join(dir, "s", rewriteName)); err == nil {
				t.Errorf("%s: %s is left behind", name, rewriteName)
			}
			s.Close()
			after.Close()
			if !f.hit {
				if nth < 6 {
					t.Errorf("only %d operations", nth)
				}
				break
			}
		}
	}
}

func TestEraseOfADamagedLog(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	a, l := begin(t, s, "s")
	add(t, s, a, l.Epoch, a.items(5, 100)...)
	s.Close()
	path := filepath.Join(dir, "s", logName)
	b, _ := os.ReadFile(path)
	lines := strings.SplitAfter(string(b), "\n")
	lines[2] = strings.Replace(lines[2], `"kind"`, `"kimd"`, 1)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	err := openStore(t, dir).Erase(t.Context(), "s", l.Epoch, []int64{2})
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("erasing in a damaged log: %v", err)
	}
	if now, _ := os.ReadFile(path); string(now) != strings.Join(lines, "") {
		t.Error("the log was changed")
	}
}

// childErases takes the lease and erases, and dies on the way.
func childErases(dir string) error {
	nth, _ := strconv.Atoi(os.Getenv(killAtEnv))
	s, err := open(dir, nil, diskOps{fault: dieAt(nth)})
	if err != nil {
		return err
	}
	l, err := s.Acquire(context.Background(), "s", session.Lease{}, func(session.Lease) bool { return true })
	if err != nil {
		return err
	}
	return s.Erase(context.Background(), "s", l.Epoch, []int64{2, 30})
}

// TestEraseKilled kills who erases at each of its operations on the disk in turn.
func TestEraseKilled(t *testing.T) {
	dir := fastDir(t)
	s := openStore(t, dir)
	for nth := 1; ; nth++ {
		a, l := begin(t, s, "s")
		add(t, s, a, l.Epoch, a.items(40, 1000)...)
		c := child(t, "erase", dir)
		c.Env = append(c.Env, fmt.Sprintf("%s=%d", killAtEnv, nth))
		died := c.Run() != nil
		rs, faults := readAll(t, s, "s", session.Range{})
		if len(rs) != 41 || faults != nil || (rs[1].Payload == nil) != (rs[29].Payload == nil) || !died && rs[1].Payload != nil {
			t.Fatalf("killed at operation %d: %d records, faults %v", nth, len(rs), faults)
		}
		again, err := s.Acquire(t.Context(), "s", session.Lease{}, func(session.Lease) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Erase(t.Context(), "s", again.Epoch, []int64{2, 30}); err != nil {
			t.Fatalf("after a kill at operation %d: %v", nth, err)
		}
		if rs, _ := readAll(t, s, "s", session.Range{}); len(rs) != 41 || rs[1].Payload != nil || rs[29].Payload != nil {
			t.Fatalf("after a kill at operation %d it was not finished", nth)
		}
		if err := s.Delete(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if !died {
			if nth < 8 {
				t.Errorf("only %d operations", nth)
			}
			return
		}
	}
}
