// Package worktree provides the tools EnterWorktree and ExitWorktree. With them, an agent works in
// a separate git worktree.
//
//	EnterWorktree name ─► git worktree add .holdfast/worktrees/name ─► becomes the current directory
//	ExitWorktree keep | remove ─► back; uncommitted work is only discarded on request
//
//	w, err := worktree.New(folders, nil)
//	registry, err := tool.NewRegistry(w.Tools()...)
//
// A worktree is inside the session's folder, so that guards and the sandbox apply as in that
// folder. The package runs git without the hooks of the repository. The guard checks each run in
// the same way as a command line.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// Dir is the folder that contains the worktrees, below the repository's folder.
const Dir = ".holdfast/worktrees"

// Options configure [New].
type Options struct {
	// Create is called before a worktree is created. It may create another folder and return it, so
	// that the session enters that folder, or it may return an error. If it is nil or returns "",
	// git creates the worktree.
	Create func(ctx context.Context, name string) (path string, err error)
	// Removed is called after a worktree was removed.
	Removed func(ctx context.Context, path string)
	// Moved is called after the current directory has changed.
	Moved func(ctx context.Context, from, to string)
	// Git is the program; default "git", looked up in PATH.
	Git string
	// Timeout is the time limit for one run of git; default 2 minutes.
	Timeout time.Duration
}

// Worktree has the two tools of one session. It is safe for concurrent use.
type Worktree struct {
	folders *workdir.Folders
	o       Options
	tools   []tool.Tool

	mu       sync.Mutex
	current  *checkout // or nil
	lockFile *os.File  // the locked file, while git creates a worktree; otherwise nil
}

// checkout is the session's current worktree.
type checkout struct {
	path, branch string
	repo, back   string // the repository's folder, and the previous directory
	created      bool   // created by git here
	made         bool   // created by this call
}

type enterInput struct {
	Name string `json:"name" jsonschema:"The name of the worktree: lower-case letters, digits and hyphens. An existing worktree of this name is used again"`
}

type exitInput struct {
	Action  string `json:"action" jsonschema:"keep: leave the worktree as it is. remove: delete its folder and branch"`
	Discard bool   `json:"discard_changes,omitempty" jsonschema:"With remove: delete the worktree even if it has changes or commits that exist nowhere else"`
}

// New returns the tools for a session's folders. The caller closes the folders.
func New(folders *workdir.Folders, o *Options) (*Worktree, error) {
	w := &Worktree{folders: folders}
	if o != nil {
		w.o = *o
	}
	if w.o.Git == "" {
		w.o.Git = "git"
	}
	if w.o.Timeout <= 0 {
		w.o.Timeout = 2 * time.Minute
	}
	enter, err := tool.New(
		tool.Spec{Name: EnterTool, Description: "Creates a git worktree on a new branch and switches to it. Use it when the user wants the work isolated."},
		func(ctx context.Context, _ *tool.Call, in enterInput) (tool.Result, error) {
			return w.result(w.enter(ctx, in.Name))
		},
		w.enterRequests)
	if err != nil {
		return nil, err
	}
	exit, err := tool.New(
		tool.Spec{Name: ExitTool, Description: "Leaves the worktree and returns to the previous directory. Nothing is discarded unless discard_changes is set."},
		func(ctx context.Context, _ *tool.Call, in exitInput) (tool.Result, error) {
			return w.result(w.exit(ctx, in))
		},
		w.exitRequests)
	w.tools = []tool.Tool{enter, exit}
	return w, err
}

// Tools returns EnterWorktree and ExitWorktree.
func (w *Worktree) Tools() []tool.Tool { return slices.Clone(w.tools) }

// toolError is an error that the model can fix.
type toolError struct{ text string }

func (r toolError) Error() string { return r.text }

func toolErrorf(format string, args ...any) error { return toolError{fmt.Sprintf(format, args...)} }

// result returns the result of a call, which contains the session's current directory.
func (w *Worktree) result(text string, err error) (tool.Result, error) {
	res := tool.Text(text)
	if r, ok := errors.AsType[toolError](err); ok {
		res, err = tool.Failure(r.text), nil
	}
	res.Cwd = w.folders.Cwd()
	return res, err
}

// Restore restores the current directory of a resumed session. If the directory is in a worktree
// that git created, ExitWorktree leaves that worktree in the same way as before. It returns an
// error if the directory no longer exists or is outside the session's folders.
func (w *Worktree) Restore(dir string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.folders.SetCwd(dir); err != nil {
		return err
	}
	w.current = worktreeOf(w.folders.Cwd())
	return nil
}

// worktreeOf returns the worktree created by git that contains a folder, or nil.
func worktreeOf(dir string) *checkout {
	repo, rest, ok := strings.Cut(dir, "/"+Dir+"/")
	name, _, _ := strings.Cut(rest, "/")
	if !ok || checkName(name) != nil {
		return nil
	}
	at := &checkout{path: filepath.Join(repo, Dir, name), branch: branchOf(name), repo: repo, back: repo, created: true}
	if _, err := os.Lstat(filepath.Join(at.path, ".git")); err != nil {
		return nil
	}
	return at
}

// checkName rejects names that could have a special meaning for git or in a path.
func checkName(name string) error {
	ok := name != "" && len(name) <= 64 && name[0] != '-' && name[len(name)-1] != '-'
	for _, c := range []byte(name) {
		ok = ok && ('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-')
	}
	if !ok {
		return fmt.Errorf("invalid name %.70q: want 1 to 64 of a-z, 0-9 and hyphens, with no hyphen at the start or end", name)
	}
	return nil
}

func branchOf(name string) string { return "worktree-" + name }

// commandLine returns a git command as text, for the user and the guard.
func commandLine(args []string) string { return "git " + strings.Join(args, " ") }

// The tools.
const (
	EnterTool = "EnterWorktree"
	ExitTool  = "ExitWorktree"
)

// EnterRequest returns the request of EnterWorktree in a folder, without its tool.
func EnterRequest(cwd, name string) (policy.Request, error) {
	if err := checkName(name); err != nil {
		return policy.Request{}, err
	}
	return policy.Request{Operation: policy.OpCommand, Resource: commandLine(addArgs(filepath.Join(Dir, name), branchOf(name))), Cwd: cwd}, nil
}

// ExitRequest returns the request of ExitWorktree, without its tool, for a folder inside a worktree
// that was created here. In other folders, the tool removes nothing and needs no approval.
func ExitRequest(cwd, action string, discard bool) (policy.Request, error) {
	return exitRequest(worktreeOf(cwd), exitInput{action, discard})
}

func (w *Worktree) enterRequests(_ *tool.Call, in enterInput) ([]policy.Request, error) {
	r, err := EnterRequest(w.folders.Cwd(), in.Name)
	return []policy.Request{r}, err
}

func (w *Worktree) exitRequests(_ *tool.Call, in exitInput) ([]policy.Request, error) {
	w.mu.Lock()
	at := w.current
	w.mu.Unlock()
	r, err := exitRequest(at, in)
	return []policy.Request{r}, err
}

func exitRequest(at *checkout, in exitInput) (policy.Request, error) {
	switch {
	case in.Action != "keep" && in.Action != "remove":
		return policy.Request{}, fmt.Errorf("unknown action %.20q: want keep or remove", in.Action)
	case in.Discard && in.Action == "keep":
		return policy.Request{}, errors.New("discard_changes is only valid with remove")
	case at == nil || in.Action == "keep":
		return policy.Request{Resource: ExitTool, ReadOnly: true}, nil
	}
	return policy.Request{Operation: policy.OpCommand, Resource: commandLine(removeArgs(at.path, in.Discard)), Cwd: at.repo}, nil
}

func addArgs(path, branch string) []string { return []string{"worktree", "add", "-b", branch, path} }

func removeArgs(path string, discard bool) []string {
	if discard {
		return []string{"worktree", "remove", "--force", path}
	}
	return []string{"worktree", "remove", path}
}

// enter creates the worktree, or finds it, and enters it.
func (w *Worktree) enter(ctx context.Context, name string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, err := w.enterDir(ctx, name)
	if err != nil {
		return "", err
	}
	w.moved(ctx, at.back, w.folders.Cwd())
	return at.notice(), nil
}

func (c *checkout) notice() string {
	return fmt.Sprintf("The current directory is now %s, on the branch %s.", c.path, c.branch)
}

func (w *Worktree) enterDir(ctx context.Context, name string) (*checkout, error) {
	if err := checkName(name); err != nil {
		return nil, toolErrorf("%v", err)
	}
	if w.current != nil {
		return nil, toolErrorf("the current directory is in the worktree %s; leave it with ExitWorktree first", w.current.path)
	}
	at, err := w.makeCheckout(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := w.folders.SetCwd(at.path); err != nil {
		return nil, toolErrorf("%v", err)
	}
	w.current = at
	return at, nil
}

// exit returns to the previous directory. It removes the worktree if that is requested and nothing
// would be lost.
func (w *Worktree) exit(ctx context.Context, in exitInput) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.current
	if at == nil {
		return "", toolErrorf("the current directory is not in a worktree")
	}
	if in.Action == "remove" && at.created && !in.Discard {
		if err := w.checkClean(ctx, at); err != nil {
			return "", err
		}
	}
	from := w.folders.Cwd()
	if err := w.folders.SetCwd(at.back); err != nil {
		return "", toolErrorf("%v", err)
	}
	w.current = nil
	w.moved(ctx, from, w.folders.Cwd())
	if in.Action == "keep" || !at.created {
		return fmt.Sprintf("The current directory is now %s. The worktree %s was kept.", w.folders.Cwd(), at.path), nil
	}
	if err := w.remove(ctx, at, in.Discard); err != nil {
		return "", err
	}
	return fmt.Sprintf("The current directory is now %s. The worktree %s and its branch were removed.", w.folders.Cwd(), at.path), nil
}

// checkClean returns an error if the worktree contains something that exists nowhere else.
func (w *Worktree) checkClean(ctx context.Context, at *checkout) error {
	changes, err := w.changes(ctx, at)
	if err != nil {
		return err
	}
	if changes != "" {
		return toolErrorf("the worktree has uncommitted changes:\n%s\nCommit them, keep the worktree, or set discard_changes.", truncate.String(changes, maxShown))
	}
	in, err := innerWorktree(at)
	if err != nil {
		return err
	}
	if in != "" {
		return toolErrorf("the worktree contains another worktree: %s\nRemove that one first, keep this one, or set discard_changes.", in)
	}
	commits, err := w.commits(ctx, at)
	if err != nil {
		return err
	}
	if commits != "" {
		return toolErrorf("the worktree has commits that no other branch contains:\n%s\nMerge them, keep the worktree, or set discard_changes.", truncate.String(commits, maxShown))
	}
	return nil
}

// innerWorktree returns a worktree inside this one, such as the worktree of a sub-agent, or "". Git ignores
// its content here.
func innerWorktree(at *checkout) (string, error) {
	list, err := os.ReadDir(filepath.Join(at.path, Dir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // a placeholder that the sandbox creates may be a file
		return "", nil
	}
	for _, e := range list {
		if e.IsDir() {
			return filepath.Join(Dir, e.Name()), nil
		}
	}
	return "", err
}

// changes returns the uncommitted changes in the format of git. The flags in more are passed to git
// status. Submodules are not inspected, because git would use the programs in their configuration.
func (w *Worktree) changes(ctx context.Context, at *checkout, more ...string) (string, error) {
	return w.git(ctx, at.path, append([]string{"status", "--porcelain", "--untracked-files=all", "--ignore-submodules=dirty"}, more...)...)
}

// commits returns the last 20 commits of its branch and of its HEAD that are in no other branch.
func (w *Worktree) commits(ctx context.Context, at *checkout) (string, error) {
	return w.git(ctx, at.path, "log", "--oneline", "--max-count=20", "HEAD", at.branch, "--not", "--exclude="+at.branch, "--branches", "--remotes", "--tags")
}

func (w *Worktree) remove(ctx context.Context, at *checkout, discard bool) error {
	repo, err := w.openGitDir(ctx, at.repo)
	if err != nil {
		return err
	}
	if _, err := repo.git(ctx, removeArgs(at.path, discard)...); err != nil {
		return err
	}
	// Nothing is lost: checkClean has checked the worktree, or the user discards its changes.
	if _, err := repo.git(ctx, "branch", "-D", at.branch); err != nil {
		return err
	}
	if w.o.Removed != nil {
		w.o.Removed(ctx, at.path)
	}
	return nil
}

func (w *Worktree) moved(ctx context.Context, from, to string) {
	if w.o.Moved != nil && from != to {
		w.o.Moved(ctx, from, to)
	}
}
