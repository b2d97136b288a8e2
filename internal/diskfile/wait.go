package diskfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// WaitLock creates a lock file (mode 0600) and its folder (mode 0700) if necessary. It waits until
// it can lock the file, and returns the function that unlocks the file. If ctx ends first, the
// error is the cause of ctx. The file is never removed, because otherwise two programs could have
// the lock. On systems without locks it returns immediately, without a lock.
func WaitLock(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		ok, err := TryLock(f)
		switch {
		case ok, errors.Is(err, errors.ErrUnsupported):
			return func() { Unlock(f); _ = f.Close() }, nil
		case err != nil:
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(pause): // the kernel has no lock call with a timeout
		}
	}
}
