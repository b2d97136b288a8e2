package sqlite

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// TestNotices lets another client append while the slow look beneath would come after
// an hour: the system's notice must be enough.
func TestNotices(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux does the store ask the system for notices")
	}
	path := filepath.Join(t.TempDir(), "sessions.db")
	var stores [2]*Store
	for i := range stores {
		s, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		stores[i] = s
	}
	here, there := stores[0], session.New(stores[1], nil)
	here.pollInterval = time.Hour
	l, err := there.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	last := int64(1)
	for head, err := range here.Watch(ctx, "s", 0) {
		if err != nil {
			t.Fatalf("at head %d: %v", last, err)
		}
		if last = head; head == 20 {
			break
		}
		if err := there.Rename(ctx, "s", time.Now().String()); err != nil {
			t.Fatal(err)
		}
	}
	if err := there.Delete(ctx, "s"); err != nil {
		t.Fatal(err)
	}
}
