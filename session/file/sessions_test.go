package file

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// The whole package session on top of this store, across a crash.
func TestSessions(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	store := openStore(t, dir)
	s := session.New(store, nil)
	var items []transcript.Item
	for i := range 500 {
		it := transcript.UserText(fmt.Sprintf("text %d", i))
		it.ID = fmt.Sprintf("i%d", i)
		items = append(items, it)
	}
	if err := s.Save(ctx, "a", items, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Rename(ctx, "a", "the title"); err != nil {
		t.Fatal(err)
	}
	upTo := 99
	fork, err := s.Fork(ctx, "a", &session.ForkOptions{ItemIndex: &upTo})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	store.Close()

	log := filepath.Join(dir, fork, logName)
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("00000123 half a li"); err != nil {
		t.Fatal(err)
	}
	f.Close()

	s = session.New(openStore(t, dir), nil)
	l, err := s.Open(ctx, fork, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := l.Recovery(); r == nil || r.CutBytes != 18 {
		t.Errorf("recovery: %+v", r)
	}
	if _, err := l.Append(ctx, session.ItemDraft(transcript.Item{ID: "new", Role: "user"}.MustEncode(), false, nil)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load(ctx, fork, &session.LoadOptions{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Items); n != 50 || got.Items[0].ID() != "i51" || got.Items[49].ID() != "new" || got.Meta.MessageCount != 101 {
		t.Fatalf("%d items from %s to %s, %+v", n, got.Items[0].ID(), got.Items[n-1].ID(), got.Meta)
	}
	report, err := s.Verify(ctx, fork)
	if err != nil || !report.OK() {
		t.Fatalf("%+v, %v", report, err)
	}
	if _, err := s.Rebuild(ctx, fork); err != nil {
		t.Fatal(err)
	}
}
