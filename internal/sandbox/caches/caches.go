// Package caches manages the caches of compilers and package managers that run inside the sandbox.
//
//	HOLDFAST_HOME/caches/app-1f0c…/   one folder for each project
//	  go-build, go-mod, npm, pip, …   one for each tool, named by the tool's own variable
//	  xdg/                            XDG_CACHE_HOME: links to the user's cache, and new files
//	  .linkedFile                         the user's folders that the links show
//
// A command can write only the folder of its own project, and never the user's caches. So other projects, and
// programs outside the sandbox, never see files that a command plants there.
package caches

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Limits for the stored caches.
const (
	maxAge        = 30 * 24 * time.Hour // maximum time since the last use of a project's caches
	maxSize       = 20 << 30            // maximum size of all projects' caches together, in bytes; the least recently used caches are removed first
	checkInterval = 24 * time.Hour      // how often the limits are checked; caches that were used within this time may be in use
)

// Dir returns the folder that contains all caches.
func Dir(home string) string { return filepath.Join(home, "caches") }

// DirFor creates and returns the folder of the caches for commands that work in dir. Its name
// depends only on the path of dir. It does not depend on anything that a command can write, such as
// a project's id, so no command can reach another project's caches. Worktrees of agents use the
// caches of their project. Commands can read the user's caches.
func DirFor(home string, user *User, dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if i := strings.Index(dir, "/.holdfast/worktrees/"); i > 0 {
		dir = dir[:i]
	}
	all := Dir(home)
	folder := filepath.Join(all, name(dir))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(folder) // the folder may contain links that a command created
	if err != nil {
		return "", err
	}
	defer root.Close()
	now := time.Now()
	if err := root.Chtimes(".", now, now); err != nil {
		return "", err
	}
	if user != nil {
		err = makeStores(root, user.Home)
	}
	return folder, errors.Join(err, show(root, user.views()))
}

// name returns a readable name of a folder and a digest of its path.
func name(dir string) string {
	plain := strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r)) {
			return r
		}
		return '_'
	}, filepath.Base(dir))
	sum := sha256.Sum256([]byte(dir))
	return strings.TrimLeft(plain[:min(len(plain), 40)], ".-") + "-" + hex.EncodeToString(sum[:8])
}

// Usage describes the caches of one project.
type Usage struct {
	Name     string    `json:"name"` // of its folder
	Size     int64     `json:"bytes"`
	LastUsed time.Time `json:"used"` // last use
}

// List returns the caches of all projects, the most recently used first.
func List(ctx context.Context, home string) ([]Usage, error) {
	entries, err := os.ReadDir(Dir(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	list := []Usage{}
	for _, e := range entries {
		info, ierr := e.Info()
		if ierr != nil || !info.IsDir() {
			continue
		}
		list = append(list, Usage{Name: e.Name(), Size: size(ctx, filepath.Join(Dir(home), e.Name())), LastUsed: info.ModTime()})
	}
	slices.SortFunc(list, func(a, b Usage) int { return b.LastUsed.Compare(a.LastUsed) })
	return list, errors.Join(err, ctx.Err())
}

func size(ctx context.Context, dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return ctx.Err() // unreadable files are not counted
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return ctx.Err()
	})
	return n
}

// Remove removes the caches of one project, by the name that [List] returns.
func Remove(ctx context.Context, home, name string) (Usage, error) {
	list, err := List(ctx, home)
	if err != nil {
		return Usage{}, err
	}
	i := slices.IndexFunc(list, func(u Usage) bool { return u.Name == name })
	if i < 0 {
		return Usage{}, fmt.Errorf("no caches %q: %w", name, fs.ErrNotExist)
	}
	root, err := os.OpenRoot(Dir(home))
	if err != nil {
		return Usage{}, err
	}
	defer root.Close()
	return list[i], remove(root, name)
}

// remove removes a tree, including read-only folders such as those of Go modules.
func remove(root *os.Root, name string) error {
	if err := root.RemoveAll(name); err == nil {
		return nil
	}
	_ = fs.WalkDir(root.FS(), name, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(p, 0o700)
		}
		return nil //nolint:nilerr // RemoveAll reports what stays
	})
	return root.RemoveAll(name)
}

// StartPruning starts Prune in the background. The function stop ends it; the next run then removes the
// rest.
func StartPruning(home string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = Prune(ctx, home, false)
	}()
	return func() {
		cancel()
		<-done
	}
}

// Prune removes caches that were not used for 30 days, and the least recently used ones if all
// together exceed the limit. It does so at most once a day, or at once if now is true. It returns
// the removed caches.
func Prune(ctx context.Context, home string, now bool) (removed []Usage, err error) {
	mark := filepath.Join(Dir(home), ".pruned")
	if info, err := os.Stat(mark); !now && err == nil && time.Since(info.ModTime()) < checkInterval {
		return nil, nil
	}
	list, err := List(ctx, home)
	if err != nil || list == nil {
		return nil, err
	}
	root, err := os.OpenRoot(Dir(home))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var sum int64
	for i, u := range list {
		sum += u.Size
		unused := time.Since(u.LastUsed)
		if unused > maxAge || sum > maxSize && i > 0 && (now || unused > checkInterval) {
			if rerr := remove(root, u.Name); rerr != nil {
				err = errors.Join(err, rerr)
				continue
			}
			sum -= u.Size
			removed = append(removed, u)
		}
	}
	return removed, errors.Join(err, os.WriteFile(mark, nil, 0o600))
}
