package workspace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wait"
	"github.com/holdfast-dev/holdfast/internal/workspace/tree"
)

// watchTime is the interval between measurements of the disk use during a turn. watchCost is the
// minimum pause after a measurement, as a multiple of the time that the measurement took.
const (
	watchTime = 10 * time.Second
	watchCost = 20
)

// watchDisk measures the disk use of a workspace while a process runs in it. If the disk use
// exceeds the limit by a tenth, it calls full once with [ErrQuota]. If the limit is exceeded by
// less, the agent may still free the space itself, and the next turn does not start until there is
// room. The caller must call stop.
func (w *Workspaces) watchDisk(slug string, full func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for pause := w.watchTime; ; {
			if wait.For(ctx, pause) != nil {
				return
			}
			began := time.Now()
			err := w.overLimit(ctx, slug)
			if errors.Is(err, ErrQuota) {
				full(err)
				return
			}
			pause = max(w.watchTime, watchCost*time.Since(began))
		}
	})
	return func() { cancel(); done.Wait() }
}

// overLimit returns [ErrQuota] if a workspace's disk use exceeds its limit by a tenth. A folder
// that cannot be measured is reported by the next turn.
func (w *Workspaces) overLimit(ctx context.Context, slug string) error {
	s, err := w.Get(ctx, slug)
	if err != nil || s.Limits.Disk == Unlimited {
		return err
	}
	most := int64(s.Limits.Disk) + int64(s.Limits.Disk)/10
	u, err := w.usage(ctx, slug, &tree.Options{MaxBytes: most})
	if err != nil || u.Total().Bytes <= most {
		return err
	}
	return &Error{
		Op: "run an agent in", Slug: slug, Err: ErrQuota, Detail: fmt.Sprintf("it wrote more than %s", s.Limits.Disk),
		Advice: fmt.Sprintf("find large files with holdfast workspace du %s and remove some, or raise limits.disk", slug),
	}
}
