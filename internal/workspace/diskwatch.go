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

// watchTime is how often the disk of a turn under way is looked at, and watchCost how much
// longer it is left alone than a look takes.
const (
	watchTime = 10 * time.Second
	watchCost = 20
)

// watchDisk looks at the disk of a workspace while something runs in it. When it has
// grown beyond its limit by a tenth, full is called with [ErrQuota], once: what is over by
// less may end by itself, and the next turn waits until there is room. The caller stops it.
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

// overLimit reports a workspace whose disk has grown beyond its limit by a tenth. What
// cannot be measured is for the next turn to say.
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
		Advice: fmt.Sprintf("holdfast workspace du %s shows what is large; remove some, or raise limits.disk", slug),
	}
}
