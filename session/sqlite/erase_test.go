package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// holds lists the files beside a database, itself included, that have a text.
func holds(t *testing.T, path, text string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil {
		t.Fatal(err)
	}
	var with []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) {
			with = append(with, filepath.Base(f))
		}
	}
	return with
}

func TestEraseLeavesNoTrace(t *testing.T) {
	const horse = "correct horse battery staple"
	s := fresh(t)
	sessions := session.New(s, nil)
	l, err := sessions.Create(ctx, session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 { // small ones, and some that need pages of their own
		text := horse
		if i%7 == 0 {
			text = strings.Repeat(horse, 900)
		}
		payload := `{"item":{"id":"` + string(rune('a'+i)) + `","role":"user","parts":[{"type":"text","text":"` + text + `"}]}}`
		if i%2 == 1 {
			payload = strings.ReplaceAll(payload, horse, "something else")
		}
		if _, err := l.Append(ctx, session.Draft{Kind: session.KindItem, Payload: []byte(payload)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := sessions.Rename(ctx, "s", horse); err != nil {
		t.Fatal(err)
	}
	if got := holds(t, s.Path(), horse); len(got) == 0 {
		t.Fatal("no file has it to begin with")
	}
	var seqs []int64
	for seq := int64(2); seq < 62; seq += 2 {
		seqs = append(seqs, seq)
	}
	if _, err := sessions.Redact(ctx, "s", session.RedactOptions{Seqs: append(seqs, 62)}); err != nil {
		t.Fatal(err)
	}
	if got := holds(t, s.Path(), horse); len(got) != 0 {
		t.Errorf("it is still in %v", got)
	}
	r, err := sessions.Verify(ctx, "s")
	if err != nil || !r.OK() || r.Erased != 31 || r.Items != 60 {
		t.Errorf("%+v %v", r, err)
	}
}

// A reader that holds on to the journal is waited for, and then told about.
func TestEraseDuringRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := sqlite.Open(path, &sqlite.Options{BusyTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a := create(t, s, "s")
	a.items(3)
	free := hold(t, path)
	err = s.Erase(ctx, "s", a.epoch, []int64{2})
	if e, ok := errors.AsType[*session.Error](err); !ok || !errors.Is(err, session.ErrBusy) || e.Hint == "" {
		t.Errorf("while somebody reads: %v", err)
	}
	free()
	if err := s.Erase(ctx, "s", a.epoch, []int64{2}); err != nil {
		t.Error(err)
	}
	if wal, err := os.ReadFile(path + "-wal"); err != nil || len(bytes.Trim(wal, "\x00")) != 0 {
		t.Errorf("the journal has content (%v)", err)
	}
}
