package worktree_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// repoEnv is a session in a repository with one commit.
type repoEnv struct {
	t       testing.TB
	repo    string
	folders *workdir.Folders
	w       *worktree.Worktree
	tools   map[string]tool.Tool
	moves   []string
	removed []string
}

func newRepoEnv(t testing.TB, o *worktree.Options) *repoEnv {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		testneed.Need(t, "git is not installed: apt-get install git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &repoEnv{t: t, repo: dir, tools: map[string]tool.Tool{}}
	h.git("init", "--quiet", "--initial-branch=main")
	h.write("a.txt", "one")
	// A hook of the repository that no tool may run.
	h.write(".git/hooks/post-checkout", "#!/bin/sh\necho ran > "+dir+"/hook-ran\n")
	if err := os.Chmod(filepath.Join(dir, ".git/hooks/post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.git("add", "a.txt")
	h.git("commit", "--quiet", "-m", "first")
	if h.folders, err = workdir.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.folders.Close() })
	if o == nil {
		o = &worktree.Options{}
	}
	o.Moved = func(_ context.Context, from, to string) { h.moves = append(h.moves, from+" > "+to) }
	o.Removed = func(_ context.Context, path string) { h.removed = append(h.removed, path) }
	if h.w, err = worktree.New(h.folders, o); err != nil {
		t.Fatal(err)
	}
	for _, tl := range h.w.Tools() {
		h.tools[tl.Spec().Name] = tl
	}
	return h
}

func (h *repoEnv) git(args ...string) string {
	h.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = h.repo
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (h *repoEnv) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.repo, name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// call calls a tool, and expects an answer with these words.
func (h *repoEnv) call(name, input string, fails bool, words string) {
	h.t.Helper()
	r, err := h.tools[name].Run(h.t.Context(), &tool.Call{Tool: name, Input: json.RawMessage(input)})
	if err != nil {
		h.t.Fatal(err)
	}
	if text := (transcript.ToolResult{Content: r.Content}).Text(); r.IsError != fails || !strings.Contains(text, words) {
		h.t.Errorf("%s %s: error %v, %q; want %v, %q", name, input, r.IsError, text, fails, words)
	}
}

func TestWorktree(t *testing.T) {
	h := newRepoEnv(t, nil)
	place := filepath.Join(h.repo, worktree.Dir, "fix-it")
	h.call("ExitWorktree", `{"action":"keep"}`, true, "the current directory is not in a worktree")
	h.call("EnterWorktree", `{"name":"fix-it"}`, false, "on the branch worktree-fix-it")
	if h.folders.Cwd() != place {
		t.Fatalf("the current directory is %s", h.folders.Cwd())
	}
	if b, err := os.ReadFile(filepath.Join(place, "a.txt")); err != nil || string(b) != "one" {
		t.Errorf("%s %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(h.repo, "hook-ran")); err == nil {
		t.Error("a hook of the repository has run")
	}
	if s := h.git("status", "--porcelain"); s != "" {
		t.Errorf("the repository's status shows %q", s)
	}
	h.call("EnterWorktree", `{"name":"another"}`, true, "leave it with ExitWorktree first")
	if err := os.WriteFile(filepath.Join(place, "b.txt"), []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.call("ExitWorktree", `{"action":"remove"}`, true, "b.txt")
	h.call("ExitWorktree", `{"action":"keep"}`, false, "was kept")
	h.call("EnterWorktree", `{"name":"fix-it"}`, false, place)
	h.git("-C", place, "add", "b.txt")
	h.git("-C", place, "commit", "--quiet", "-m", "second")
	h.call("ExitWorktree", `{"action":"remove"}`, true, "second")
	h.git("merge", "--quiet", "worktree-fix-it")
	h.call("ExitWorktree", `{"action":"remove"}`, false, "were removed")
	if _, err := os.Stat(place); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the worktree is still there: %v", err)
	}
	if b := h.git("branch", "--list", "worktree-fix-it"); b != "" {
		t.Errorf("its branch is still there: %s", b)
	}
	if !slices.Equal(h.removed, []string{place}) || len(h.moves) != 4 {
		t.Errorf("told of %v and %v", h.removed, h.moves)
	}
}

// What the configuration of a repository has git run is not run: it came with the folder,
// and git is not in the sandbox here.
func TestRepositoryProgramsNotRun(t *testing.T) {
	h := newRepoEnv(t, nil)
	ran := filepath.Join(h.repo, "ran")
	run := "touch " + ran + "; cat"
	h.write(".gitattributes", "*.txt filter=a=b\n*.md filter=lines\n*.x filter=asks\n")
	h.write("c.md", "three")
	h.write("d.x", "four")
	h.git("add", ".")
	h.git("commit", "--quiet", "-m", "attributes")
	for key, value := range map[string]string{
		"filter.a=b.smudge": run, "filter.a=b.clean": run, "filter.a=b.required": "true", "filter.lines.process": run, "filter.asks.SMUDGE": run,
		"log.showSignature": "true", "gpg.program": run, "core.fsmonitor": run, "hook.x.command": run, "hook.x.event": "post-checkout",
	} {
		h.git("config", key, value)
	}
	h.call("EnterWorktree", `{"name":"x"}`, false, "")
	if b, err := os.ReadFile(filepath.Join(h.folders.Cwd(), "a.txt")); err != nil || string(b) != "one" {
		t.Errorf("%s %v", b, err)
	}
	later := time.Now().Add(time.Hour) // git looks into it again
	if err := os.Chtimes(filepath.Join(h.folders.Cwd(), "a.txt"), later, later); err != nil {
		t.Fatal(err)
	}
	h.call("ExitWorktree", `{"action":"remove"}`, false, "were removed")
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository's configuration has run")
	}
}

// Nor is what a repository names that lies in the worktree: its submodule, as far as git
// knows.
func TestProgramsOfASubmodule(t *testing.T) {
	for name, leave := range map[string]func(h *repoEnv, at worktree.Checkout){
		"the tool": func(h *repoEnv, _ worktree.Checkout) {
			h.call("ExitWorktree", `{"action":"remove"}`, true, "submodules")
		},
		"the host": func(h *repoEnv, at worktree.Checkout) {
			if _, why, err := h.w.Leave(t.Context(), at, true); why != "" || err == nil || !strings.Contains(err.Error(), "submodules") {
				t.Errorf("%q %v", why, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newRepoEnv(t, nil)
			at, err := h.w.Enter(t.Context(), "x", "")
			if err != nil {
				t.Fatal(err)
			}
			sub, ran := filepath.Join(at.Path, "sub"), filepath.Join(h.repo, "ran")
			h.git("init", "--quiet", sub)
			h.write(worktree.Dir+"/x/sub/a.txt", "one")
			for _, dir := range []string{sub, at.Path} {
				h.git("-C", dir, "add", ".")
				h.git("-C", dir, "commit", "--quiet", "-m", "sub")
			}
			h.git("merge", "--quiet", at.Branch)
			h.write(worktree.Dir+"/x/sub/.git/info/attributes", "* filter=f\n")
			h.git("-C", sub, "config", "filter.f.clean", "touch "+ran+"; cat")
			later := time.Now().Add(time.Hour) // git looks into it again
			if err := os.Chtimes(sub+"/a.txt", later, later); err != nil {
				t.Fatal(err)
			}
			leave(h, at)
			if _, err := os.Stat(ran); err == nil {
				t.Error("a program of the submodule's configuration has run")
			}
			if _, err := os.Stat(sub + "/a.txt"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A commit that is on no branch at all would be lost, too.
func TestCommitsBesideTheBranch(t *testing.T) {
	h := newRepoEnv(t, nil)
	at, err := h.w.Enter(t.Context(), "x", "")
	if err != nil {
		t.Fatal(err)
	}
	h.git("-C", at.Path, "checkout", "--quiet", "--detach")
	h.git("-C", at.Path, "commit", "--quiet", "--allow-empty", "-m", "beside")
	h.call("ExitWorktree", `{"action":"remove"}`, true, "beside")
	if gone, why, err := h.w.Leave(t.Context(), at, true); gone || err != nil || !strings.Contains(why, "commits that no other branch contains") {
		t.Errorf("%v %q %v", gone, why, err)
	}
	h.git("-C", at.Path, "checkout", "--quiet", "-B", "mine")
	h.call("ExitWorktree", `{"action":"remove"}`, false, "were removed")
}

// A worktree that lies in another, as that of a sub-agent does, is nowhere else either; and
// when it is gone nothing of it keeps the other.
func TestWorktreeInAWorktree(t *testing.T) {
	h := newRepoEnv(t, nil)
	at, err := h.w.Enter(t.Context(), "x", "")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := workdir.Open(h.repo)
	if err != nil {
		t.Fatal(err)
	}
	defer folders.Close()
	if err := folders.SetCwd(at.Path); err != nil {
		t.Fatal(err)
	}
	other, err := worktree.New(folders, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := other.Enter(t.Context(), "y", "")
	if err != nil || filepath.Dir(in.Path) != filepath.Join(at.Path, worktree.Dir) {
		t.Fatalf("%+v %v", in, err)
	}
	h.write(worktree.Dir+"/x/"+worktree.Dir+"/y/mine.txt", "mine")
	h.call("ExitWorktree", `{"action":"remove"}`, true, worktree.Dir+"/y")
	if gone, why, err := h.w.Leave(t.Context(), at, true); gone || err != nil || !strings.Contains(why, worktree.Dir+"/y") {
		t.Errorf("%v %q %v", gone, why, err)
	}
	if err := os.Remove(filepath.Join(in.Path, "mine.txt")); err != nil {
		t.Error(err)
	}
	if gone, why, err := other.Leave(t.Context(), in, true); !gone || err != nil {
		t.Errorf("the inner one: %q %v", why, err)
	}
	if gone, why, err := h.w.Leave(t.Context(), at, true); !gone || err != nil {
		t.Errorf("the outer one: %q %v", why, err)
	}
}

// What git itself says is wrong is not taken for a commit that would be lost.
func TestLeaveSaysWhatIsWrong(t *testing.T) {
	h := newRepoEnv(t, nil)
	at, err := h.w.Enter(t.Context(), "x", "")
	if err != nil {
		t.Fatal(err)
	}
	h.git("-C", at.Path, "checkout", "--quiet", "--detach")
	h.git("branch", "-D", at.Branch)
	if gone, why, err := h.w.Leave(t.Context(), at, true); gone || why != "" || err == nil || !strings.Contains(err.Error(), at.Branch) {
		t.Errorf("%v %q %v", gone, why, err)
	}
}

// A repository that lacks an object does not have it fetched: whoever wrote the
// configuration says by which program.
func TestNothingIsFetched(t *testing.T) {
	h := newRepoEnv(t, nil)
	ran := filepath.Join(h.repo, "ran")
	id := strings.TrimSpace(h.git("rev-parse", "HEAD:a.txt"))
	for key, value := range map[string]string{
		"remote.o.url": h.repo + "/.git", "remote.o.promisor": "true", "remote.o.uploadpack": "touch " + ran + ";", "extensions.partialClone": "o",
	} {
		h.git("config", key, value)
	}
	if err := os.Remove(filepath.Join(h.repo, ".git/objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	h.call("EnterWorktree", `{"name":"x"}`, true, "git worktree add")
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository's configuration has run")
	}
}

func TestWorktreeThatIsDiscarded(t *testing.T) {
	h := newRepoEnv(t, nil)
	h.call("EnterWorktree", `{"name":"x"}`, false, "")
	if err := os.WriteFile(filepath.Join(h.folders.Cwd(), "b.txt"), []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.call("ExitWorktree", `{"action":"remove","discard_changes":true}`, false, "were removed")
	h.call("EnterWorktree", `{"name":"x"}`, false, "")
	if _, err := os.Stat(filepath.Join(h.folders.Cwd(), "b.txt")); err == nil {
		t.Error("what was discarded is back")
	}
}

func TestWorktreeRequests(t *testing.T) {
	h := newRepoEnv(t, nil)
	reqs, err := h.tools["EnterWorktree"].Requests(&tool.Call{Input: json.RawMessage(`{"name":"x"}`)})
	if err != nil || len(reqs) != 1 || reqs[0].Resource != "git worktree add -b worktree-x .holdfast/worktrees/x" || reqs[0].ReadOnly {
		t.Errorf("%+v %v", reqs, err)
	}
	for _, bad := range []string{"", "-x", "x-", "../x", "a/b", "A", "x y", "x\n", strings.Repeat("x", 65), "x.lock"} {
		in, _ := json.Marshal(map[string]string{"name": bad})
		if _, err := h.tools["EnterWorktree"].Requests(&tool.Call{Input: in}); err == nil {
			t.Errorf("the name %q was taken", bad)
		}
	}
	for in, want := range map[string]string{
		`{"action":"burn"}`: "want keep or remove", `{"action":"keep","discard_changes":true}`: "only valid with remove",
	} {
		if _, err := h.tools["ExitWorktree"].Requests(&tool.Call{Input: json.RawMessage(in)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestWorktreeInTheWay(t *testing.T) {
	h := newRepoEnv(t, nil)
	if err := os.MkdirAll(filepath.Join(h.repo, worktree.Dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.write(worktree.Dir+"/taken/mine.txt", "mine")
	h.call("EnterWorktree", `{"name":"taken"}`, true, "is not a worktree of this repository")
	if err := os.RemoveAll(filepath.Join(h.repo, ".holdfast")); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := os.Symlink(out, filepath.Join(h.repo, ".holdfast")); err != nil {
		t.Fatal(err)
	}
	h.call("EnterWorktree", `{"name":"x"}`, true, "outside")
	if list, err := os.ReadDir(out); err != nil || len(list) > 0 {
		t.Errorf("behind the link: %v %v", list, err)
	}
}

// A git that was killed leaves one of these behind.
func TestWorktreeThatIsHalfMade(t *testing.T) {
	for name, spoil := range map[string]func(h *repoEnv, place, admin string){
		"nothing but its folder": func(h *repoEnv, place, _ string) {
			h.git("worktree", "remove", place)
			if err := os.Mkdir(place, 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"no branch yet": func(h *repoEnv, _, admin string) {
			h.write(admin+"/HEAD", "0000000000000000000000000000000000000000\n")
			h.write(admin+"/locked", "initializing")
		},
		"no files yet": func(h *repoEnv, place, admin string) {
			h.write(admin+"/locked", "initializing")
			h.write(admin+"/index.lock", "")
			for _, name := range []string{".git", "a.txt"} {
				if err := os.Remove(filepath.Join(place, name)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"nothing of where its repository is": func(h *repoEnv, _, admin string) {
			h.write(admin+"/locked", "initializing")
			h.write(admin+"/commondir", "")
		},
		"another, with nothing of where its repository is": func(h *repoEnv, place, _ string) {
			h.git("worktree", "add", "-b", "worktree-y", filepath.Join(filepath.Dir(place), "y"))
			h.write(".git/worktrees/y/locked", "initializing")
			h.write(".git/worktrees/y/commondir", "")
		},
		"the lock of its branch": func(h *repoEnv, place, _ string) {
			h.git("worktree", "remove", place)
			h.git("branch", "-D", "worktree-x")
			h.write(".git/refs/heads/worktree-x.lock", "")
		},
		"no folder": func(h *repoEnv, place, admin string) {
			h.write(admin+"/locked", "initializing")
			if err := os.RemoveAll(place); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newRepoEnv(t, nil)
			place := filepath.Join(h.repo, worktree.Dir, "x")
			h.git("worktree", "add", "-b", "worktree-x", place)
			spoil(h, place, ".git/worktrees/x")
			h.call("EnterWorktree", `{"name":"x"}`, false, "on the branch worktree-x")
			if got := h.git("-C", place, "status", "--porcelain", "--branch"); got != "## worktree-x\n" {
				t.Errorf("its status is %q", got)
			}
			if got := h.git("-C", place, "log", "--format=%s"); got != "first\n" {
				t.Errorf("its commits are %q", got)
			}
		})
	}
}

// A whole one is never taken away, also when git cannot read it any more.
func TestWorktreeThatGitCannotRead(t *testing.T) {
	h := newRepoEnv(t, nil)
	place := filepath.Join(h.repo, worktree.Dir, "x")
	h.git("worktree", "add", "-b", "worktree-x", place)
	h.write(worktree.Dir+"/x/mine.txt", "mine")
	h.write(".git/worktrees/x/commondir", "")
	for _, name := range []string{"x", "y"} {
		h.call("EnterWorktree", `{"name":"`+name+`"}`, true, "commondir")
	}
	if got, err := os.ReadFile(filepath.Join(place, "mine.txt")); err != nil || string(got) != "mine" {
		t.Errorf("%q %v", got, err)
	}
}

// What a person has locked is whole.
func TestWorktreeThatIsLocked(t *testing.T) {
	h := newRepoEnv(t, nil)
	place := filepath.Join(h.repo, worktree.Dir, "x")
	h.git("worktree", "add", "-b", "worktree-x", place)
	h.git("worktree", "lock", "--reason", "on a stick", place)
	h.write(worktree.Dir+"/x/mine.txt", "mine")
	h.call("EnterWorktree", `{"name":"x"}`, false, "on the branch worktree-x")
	if _, err := os.Stat(filepath.Join(place, "mine.txt")); err != nil {
		t.Error(err)
	}
}

func TestWorktreeOfAHook(t *testing.T) {
	h := newRepoEnv(t, &worktree.Options{Create: func(_ context.Context, name string) (string, error) {
		if name == "no" {
			return "", errors.New("not today")
		}
		return name, nil
	}})
	h.call("EnterWorktree", `{"name":"no"}`, true, "not today")
	if err := os.Mkdir(filepath.Join(h.repo, "made"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.call("EnterWorktree", `{"name":"made"}`, false, "of its creator")
	if h.folders.Cwd() != filepath.Join(h.repo, "made") {
		t.Errorf("the current directory is %s", h.folders.Cwd())
	}
	h.call("ExitWorktree", `{"action":"remove"}`, false, "was kept")
}

func TestNoRepository(t *testing.T) {
	h := newRepoEnv(t, nil)
	if err := os.RemoveAll(filepath.Join(h.repo, ".git")); err != nil {
		t.Fatal(err)
	}
	h.call("EnterWorktree", `{"name":"x"}`, true, "not a git repository")
}
