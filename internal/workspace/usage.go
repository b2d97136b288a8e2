package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/workspace/tree"
)

// Size is what a folder holds.
type Size = tree.Size

// Usage is what a workspace keeps on the disk.
type Usage struct {
	Home Size
	// Project is that of a project which belongs to the workspace; others are not
	// measured.
	Project  Size
	Limit    Bytes // [Limits.Disk]
	Duration time.Duration
}

// Total is what counts against the limit.
func (u *Usage) Total() Size {
	total := u.Home
	total.Add(u.Project)
	return total
}

// OverLimit reports whether the workspace has used up its disk.
func (u *Usage) OverLimit() bool { return u.Limit != Unlimited && u.Total().Bytes > int64(u.Limit) }

// Usage measures what a workspace keeps. Links are not followed and nothing but folders
// is opened; a file with several names counts once, and each entry 4 KiB at least.
func (w *Workspaces) Usage(ctx context.Context, slug string) (*Usage, error) {
	return w.usage(ctx, slug, nil)
}

func (w *Workspaces) usage(ctx context.Context, slug string, o *tree.Options) (*Usage, error) {
	dir, err := w.open("measure", slug)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	s, err := w.read(dir, slug)
	if err != nil {
		return nil, err
	}
	u, began := &Usage{Limit: s.Limits.Disk}, time.Now()
	if u.Home, err = measure(ctx, dir, homeName, o); err == nil && s.Project == "" {
		u.Project, err = measure(ctx, dir, projectName, o)
	}
	if err != nil {
		return nil, &Error{Op: "measure", Slug: slug, Err: err}
	}
	u.Duration = time.Since(began)
	return u, nil
}

// measure measures a folder in dir. One that is not there holds nothing.
func measure(ctx context.Context, dir *os.Root, name string, o *tree.Options) (Size, error) {
	f, err := dir.Open(".")
	if err != nil {
		return Size{}, err
	}
	defer f.Close()
	size, err := tree.Measure(ctx, f, name, o)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return size, err
}

// CheckDisk is called before each turn: [ErrQuota] when the workspace has used up its
// disk. A folder that nobody may look into counts as if it did; those that the caller
// may open are opened (u+rx) for it. Measuring a large workspace takes a while, so a
// result is good for twenty times as long as it took; it ends where the limit is passed.
func (w *Workspaces) CheckDisk(ctx context.Context, slug string) error {
	s, err := w.Get(ctx, slug)
	if err != nil || s.Limits.Disk == Unlimited {
		return err
	}
	now := w.opt.Clock()
	u := w.disks.known(s, now)
	if u == nil {
		u, err = w.usage(ctx, slug, &tree.Options{Unlock: true, MaxBytes: int64(s.Limits.Disk)})
		if err != nil {
			return err
		}
		w.disks.keep(s.ID, u, now)
	}
	total := u.Total()
	advice := fmt.Sprintf("holdfast workspace du %s shows what is large; remove some, or raise limits.disk", slug)
	switch {
	case u.OverLimit():
		return &Error{
			Op: "check disk", Slug: slug, Err: ErrQuota, Advice: advice,
			Detail: fmt.Sprintf("at least %d files take %s of %s", total.Files, roundUp(total.Bytes), u.Limit),
		}
	case total.Unreadable > 0:
		return &Error{
			Op: "check disk", Slug: slug, Err: ErrQuota, Advice: "give their owner the rights again (chmod -R u+rwx), or remove them",
			Detail: fmt.Sprintf("%d folders cannot be looked into, so nobody knows how much is there", total.Unreadable),
		}
	}
	return nil
}

// roundUp is a number of bytes for a person: three digits at most.
func roundUp(n int64) string {
	f, unit := float64(n), 0
	names := []string{" bytes", "k", "m", "g", "t", "p"}
	for f >= 1000 && unit < len(names)-1 {
		f, unit = f/1024, unit+1
	}
	return fmt.Sprintf("%.3g%s", f, names[unit])
}

// disks are results of measuring that are still good, by the workspaces' ids.
type disks struct {
	mu  sync.Mutex
	all map[string]measured
}

type measured struct {
	usage *Usage
	until time.Time
}

// known is a result that is still good for a workspace, as its settings are now.
func (d *disks) known(s *Settings, now time.Time) *Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m, ok := d.all[s.ID]; ok && now.Before(m.until) && m.usage.Limit == s.Limits.Disk {
		return m.usage
	}
	delete(d.all, s.ID)
	return nil
}

// keep keeps a result that was within the limit: who is over it and has made room is
// not to wait.
func (d *disks) keep(id string, u *Usage, now time.Time) {
	const good = 20
	if u.OverLimit() || u.Duration < 10*time.Millisecond {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]measured{}
	}
	d.all[id] = measured{u, now.Add(good * u.Duration)}
}
