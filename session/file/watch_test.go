package file

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// TestNotices lets another client append, erase and delete while the slow look beneath
// would come after an hour: the system's notices must be enough.
func TestNotices(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux does the store ask the system for notices")
	}
	dir := fastDir(t)
	here, other := openStore(t, dir), openStore(t, dir)
	here.pollInterval = time.Hour
	there := session.New(other, nil)
	l, err := there.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for head, err := range here.Watch(ctx, "s", 0) {
		switch {
		case head == 20:
			err = there.Delete(ctx, "s")
		case head == 10: // the log becomes another file
			var lease session.Lease
			lease, err = other.Acquire(ctx, "s", session.Lease{}, func(session.Lease) bool { return true })
			if err == nil {
				err = errors.Join(other.Erase(ctx, "s", lease.Epoch, []int64{2}), other.Release(ctx, "s", lease))
			}
			fallthrough
		case err == nil:
			err = errors.Join(err, there.Rename(ctx, "s", time.Now().String()))
		case errors.Is(err, session.ErrNotFound):
			return
		}
		if err != nil {
			t.Fatalf("at head %d: %v", head, err)
		}
	}
	t.Fatal("the watcher ended without an error")
}
