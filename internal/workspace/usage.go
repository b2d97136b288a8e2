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

// Size is the size of a folder.
type Size = tree.Size

// Usage is the disk use of a workspace.
type Usage struct {
	Home Size
	// Project is the size of a project inside the workspace; other projects are not measured.
	Project  Size
	Limit    Bytes // [Limits.Disk]
	Duration time.Duration
}

// Total is the size that is compared with the limit.
func (u *Usage) Total() Size {
	total := u.Home
	total.Add(u.Project)
	return total
}

// OverLimit reports whether the workspace exceeds its disk limit.
func (u *Usage) OverLimit() bool { return u.Limit != Unlimited && u.Total().Bytes > int64(u.Limit) }

// Usage measures the disk use of a workspace. It does not follow links and opens only folders. A file with several
// names is counted once, and each entry as at least 4 KiB.
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

// measure measures a folder in dir. A missing folder is empty.
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

// CheckDisk is called before each turn. It returns [ErrQuota] if the workspace exceeds its disk limit, or if the
// caller cannot read one of its folders; it first adds u+rx to folders the caller owns. Measuring a large
// workspace takes time, so a result is cached for twenty times as long as it took; measuring stops at the limit.
func (w *Workspaces) CheckDisk(ctx context.Context, slug string) error {
	s, err := w.Get(ctx, slug)
	if err != nil || s.Limits.Disk == Unlimited {
		return err
	}
	now := w.opt.Clock()
	u := w.disks.get(s, now)
	if u == nil {
		u, err = w.usage(ctx, slug, &tree.Options{Unlock: true, MaxBytes: int64(s.Limits.Disk)})
		if err != nil {
			return err
		}
		w.disks.put(s.ID, u, now)
	}
	total := u.Total()
	advice := fmt.Sprintf("find large files with holdfast workspace du %s and remove some, or raise limits.disk", slug)
	switch {
	case u.OverLimit():
		return &Error{
			Op: "check disk", Slug: slug, Err: ErrQuota, Advice: advice,
			Detail: fmt.Sprintf("at least %d files use %s of %s", total.Files, formatBytes(total.Bytes), u.Limit),
		}
	case total.Unreadable > 0:
		return &Error{
			Op: "check disk", Slug: slug, Err: ErrQuota, Advice: "restore their permissions (chmod -R u+rwx), or remove them",
			Detail: fmt.Sprintf("%d folders are unreadable, so their size is unknown", total.Unreadable),
		}
	}
	return nil
}

// formatBytes formats a number of bytes for users: three digits at most.
func formatBytes(n int64) string {
	f, unit := float64(n), 0
	names := []string{" bytes", "k", "m", "g", "t", "p"}
	for f >= 1000 && unit < len(names)-1 {
		f, unit = f/1024, unit+1
	}
	return fmt.Sprintf("%.3g%s", f, names[unit])
}

// usageCache caches measurements by workspace id.
type usageCache struct {
	mu  sync.Mutex
	all map[string]measured
}

type measured struct {
	usage *Usage
	until time.Time
}

// get returns a cached measurement that is still valid for a workspace with its current settings.
func (d *usageCache) get(s *Settings, now time.Time) *Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m, ok := d.all[s.ID]; ok && now.Before(m.until) && m.usage.Limit == s.Limits.Disk {
		return m.usage
	}
	delete(d.all, s.ID)
	return nil
}

// put caches a measurement within the limit. A measurement over the limit is not cached, so that a
// user who frees space does not have to wait.
func (d *usageCache) put(id string, u *Usage, now time.Time) {
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
