package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// makeCheckout creates the worktree, or finds an existing one.
func (w *Worktree) makeCheckout(ctx context.Context, name string) (*checkout, error) {
	back := w.folders.Cwd()
	if w.o.Create != nil {
		path, err := w.o.Create(ctx, name)
		if err != nil {
			return nil, toolErrorf("%v", err)
		}
		if path != "" {
			return &checkout{path: path, branch: "of its creator", repo: back, back: back}, nil
		}
	}
	repo, err := w.git(ctx, back, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	if _, err := w.folders.Locate(repo); err != nil {
		return nil, toolErrorf("the repository's folder is not a folder of the session: %v", err)
	}
	at := &checkout{path: filepath.Join(repo, Dir, name), branch: branchOf(name), repo: repo, back: back, created: true}
	if err := w.excludeFromStatus(repo); err != nil {
		return nil, err
	}
	if err := w.lock(ctx, repo); err != nil {
		return nil, err
	}
	defer w.unlock()
	return at, w.add(ctx, at)
}

// add creates the worktree with git, unless git already has it.
func (w *Worktree) add(ctx context.Context, at *checkout) error {
	repo, err := w.openGitDir(ctx, at.repo)
	if err != nil {
		return err
	}
	common, err := repo.git(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return err
	}
	if err := w.repair(at, common); err != nil {
		return err
	}
	switch known, whole, err := repo.state(ctx, at); {
	case err != nil || whole:
		return err
	case known:
		if err := repo.removePartial(ctx, at); err != nil {
			return err
		}
	}
	if err := w.checkEmpty(at.path); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(common, "refs", "heads", at.branch+".lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	args := addArgs(at.path, at.branch)
	if _, err := repo.git(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+at.branch); err == nil {
		args = []string{"worktree", "add", at.path, at.branch} // its branch still exists
	}
	_, err = repo.git(ctx, args...)
	at.made = err == nil
	return err
}

// repair removes a worktree whose creation was interrupted: its .git file is empty, which makes git
// worktree list fail. A complete worktree whose .git file lost its content is kept with everything
// in it.
func (w *Worktree) repair(at *checkout, common string) error {
	dir := filepath.Join(common, "worktrees")
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range list {
		one := filepath.Join(dir, e.Name())
		info, no := os.Lstat(filepath.Join(one, "commondir"))
		if !e.IsDir() || no != nil || info.Size() > 0 {
			continue
		}
		of, no := os.ReadFile(filepath.Join(one, "gitdir"))
		path := filepath.Dir(strings.TrimSpace(string(of)))
		locked, _ := os.ReadFile(filepath.Join(one, "locked")) // empty if there is no such file, which is the case in a complete worktree
		if no != nil || strings.TrimSpace(string(locked)) != "initializing" || filepath.Dir(path) != filepath.Join(at.repo, Dir) {
			continue // git reports the error
		}
		p, no := w.folders.Locate(path)
		if no != nil {
			return toolErrorf("%v", no)
		}
		err = errors.Join(err, p.Root.RemoveAll(p.Rel), os.RemoveAll(one))
	}
	return err
}

// state reports whether git has the worktree, and whether it is complete. Git keeps an incomplete
// worktree locked.
func (s *gitDir) state(ctx context.Context, at *checkout) (known, whole bool, err error) {
	list, err := s.git(ctx, "worktree", "list", "--porcelain")
	for one := range strings.SplitSeq(list, "\n\n") {
		if lines := strings.Split(one, "\n"); slices.Contains(lines, "worktree "+at.path) {
			return true, !slices.Contains(lines, "locked initializing"), err
		}
	}
	return false, false, err
}

// removePartial removes a worktree that was created only in part, and was therefore never used.
func (s *gitDir) removePartial(ctx context.Context, at *checkout) error {
	p, err := s.w.folders.Locate(at.path)
	if err != nil {
		return toolErrorf("%v", err)
	}
	if err := p.Root.RemoveAll(p.Rel); err != nil {
		return err
	}
	_, err = s.git(ctx, "worktree", "remove", "--force", "--force", at.path)
	return err
}

// checkEmpty returns an error if a folder is not empty.
func (w *Worktree) checkEmpty(path string) error {
	p, err := w.folders.Locate(path)
	if err != nil {
		return toolErrorf("%v", err)
	}
	info, err := p.Root.Lstat(p.Rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() && p.Root.Remove(p.Rel) == nil { // git was killed before it wrote anything
		return nil
	}
	return toolErrorf("%s exists and is not a worktree of this repository; choose another name", path)
}

// lock waits until no other process creates a worktree in the repository. After that, no process is
// still working on a worktree that is created only in part.
func (w *Worktree) lock(ctx context.Context, repo string) error {
	p, err := w.folders.Locate(filepath.Join(repo, Dir, ".lock"))
	if err != nil {
		return toolErrorf("%v", err)
	}
	f, err := p.Root.OpenFile(p.Rel, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, w.o.Timeout)
	defer stop()
	for {
		got, err := diskfile.TryLock(f)
		if got || errors.Is(err, errors.ErrUnsupported) {
			w.lockFile = f
			return nil
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(toolErrorf("another worktree is being created in this repository; try again"), f.Close())
		}
	}
}

func (w *Worktree) unlock() {
	_ = w.lockFile.Close()
	w.lockFile = nil
}

// excludeFromStatus hides the worktrees from the status of the repository.
func (w *Worktree) excludeFromStatus(repo string) error {
	p, err := w.folders.Locate(filepath.Join(repo, Dir))
	if err != nil {
		return toolErrorf("%v", err)
	}
	return w.folders.MarkOwn(p.Abs, func() error {
		if err := p.Root.MkdirAll(p.Rel, 0o755); err != nil {
			return err
		}
		name := filepath.Join(p.Rel, ".gitignore")
		if _, err := p.Root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return p.Root.WriteFile(name, []byte("*\n"), 0o644)
	})
}
