package diskfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// WaitLock makes a lock file (0600) with its folder (0700), waits for its lock until ctx ends, and keeps other
// programs from it until unlock is called. The file stays: to remove it would let two have the lock. Where the
// system has no locks, it keeps nobody from it. When others hold it until the end, the error is ctx's cause.
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
		case <-time.After(pause): // the kernel has no lock that waits for a bounded time
		}
	}
}
