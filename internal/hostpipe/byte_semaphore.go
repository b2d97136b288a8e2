package hostpipe

import (
	"context"
	"sync"
)

// byteSemaphore limits the total bytes of concurrent requests. A request that is larger than the
// limit runs alone.
type byteSemaphore struct {
	mu    sync.Mutex
	used  int
	freed chan struct{} // closed when bytes are released; nil if no request waits
}

// maxBlobBytes is the maximum total size of the blobs of running requests, in bytes.
const maxBlobBytes = 256 << 20

// take waits until n more bytes fit.
func (r *byteSemaphore) take(ctx context.Context, n int) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.mu.Lock()
		if r.used == 0 || r.used+n <= maxBlobBytes {
			r.used += n
			r.mu.Unlock()
			return nil
		}
		if r.freed == nil {
			r.freed = make(chan struct{})
		}
		freed := r.freed
		r.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *byteSemaphore) release(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	if r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
}
