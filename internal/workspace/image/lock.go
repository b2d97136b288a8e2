package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// buildLock is the exclusive right to build an image name in an engine, with a folder for the build.
type buildLock struct {
	file *os.File
	dir  string
}

// lock waits until no other build of this user builds the image.
func lock(ctx context.Context, folder, key string, wait func()) (*buildLock, error) {
	sum := sha256.Sum256([]byte(key))
	base := filepath.Join(folder, hex.EncodeToString(sum[:8]))
	f, err := os.OpenFile(base+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, &Error{Op: "build image", Err: err}
	}
	for reported := false; ; {
		got, err := diskfile.TryLock(f)
		if err != nil {
			_ = f.Close()
			return nil, &Error{Op: "build image", Name: f.Name(), Err: err}
		}
		if got {
			break
		}
		if !reported {
			reported = true
			wait()
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	h := &buildLock{file: f, dir: base + ".tmp"}
	err = os.RemoveAll(h.dir) // leftover of a killed build
	if err == nil {
		err = os.Mkdir(h.dir, 0o700)
	}
	if err != nil {
		_ = f.Close()
		return nil, &Error{Op: "build image", Name: h.dir, Err: err}
	}
	return h, nil
}

// release removes the folder and releases the lock. The lock's file is kept, because two processes
// could hold the lock if it were removed.
func (h *buildLock) release() error {
	err := os.RemoveAll(h.dir)
	diskfile.Unlock(h.file)
	_ = h.file.Close()
	return err
}
