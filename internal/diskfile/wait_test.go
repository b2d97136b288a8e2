package diskfile

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

// A lock is waited for as long as its caller wants, and had by one at a time.
func TestWaitLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "x.lock")
	unlock, err := WaitLock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := WaitLock(ctx, path); !errors.Is(err, enough) {
		t.Errorf("while another has it: %v", err)
	}
	had := make(chan error, 1)
	go func() {
		unlock, err := WaitLock(t.Context(), path)
		if err == nil {
			unlock()
		}
		had <- err
	}()
	unlock()
	if err := <-had; err != nil {
		t.Error(err)
	}
}
