package worktree

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/procgroup"
	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// safeConfig disables the programs that git would otherwise run because of the repository's own
// configuration.
var safeConfig = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.pager=cat", "-c", "log.showSignature=false",
}

// gitDir is a folder in which git runs several times. The names in its configuration are read only
// once.
type gitDir struct {
	w   *Worktree
	dir string
	env []string // see noProgramsEnv
}

func (w *Worktree) openGitDir(ctx context.Context, dir string) (*gitDir, error) {
	list, err := w.run(ctx, dir, nil, "config", "--list", "--show-scope", "--name-only", "-z")
	if err != nil {
		return nil, err
	}
	return &gitDir{w, dir, noProgramsEnv(list)}, nil
}

// git runs git in the folder. It starts no programs of the repository and has no network. If this
// process is killed, git completes what it has started, and the next caller waits until git has
// done so.
func (s *gitDir) git(ctx context.Context, args ...string) (string, error) {
	return s.w.run(ctx, s.dir, s.env, args...)
}

// git does the same as [gitDir.git], for a single run.
func (w *Worktree) git(ctx context.Context, dir string, args ...string) (string, error) {
	s, err := w.openGitDir(ctx, dir)
	if err != nil {
		return "", err
	}
	return s.git(ctx, args...)
}

func (w *Worktree) run(ctx context.Context, dir string, more []string, args ...string) (string, error) {
	ctx, done := context.WithTimeout(ctx, w.o.Timeout)
	defer done()
	cmd := exec.CommandContext(ctx, w.o.Git, slices.Concat(safeConfig, args)...)
	cmd.Dir, cmd.SysProcAttr = dir, procgroup.NewGroup()
	cmd.Cancel = func() error { return procgroup.Signal(cmd.Process, syscall.SIGKILL) }
	if w.lockFile != nil && runtime.GOOS != "windows" {
		cmd.ExtraFiles = []*os.File{w.lockFile}
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }) // these variables would select another repository
	// The variables below keep git from running programs of a remote to fetch missing objects.
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	cmd.Env = append(env, more...)
	out, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(out)), nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", toolErrorf("%s: %s", commandLine(args), truncate.String(strings.TrimSpace(string(e.Stderr)), maxShown))
	}
	return "", toolErrorf("running git failed: %v", err)
}

// noProgramsEnv returns an environment in which git runs none of the filters and hooks from the
// repository's configuration. list contains the names of all settings with their origin. The user's
// own settings remain in effect.
func noProgramsEnv(list string) (env []string) {
	set := func(key, value string) {
		n := strconv.Itoa(len(env) / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+key, "GIT_CONFIG_VALUE_"+n+"="+value)
	}
	words := strings.Split(list, "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		section, rest, _ := strings.Cut(words[i+1], ".")
		end := strings.LastIndexByte(rest, '.')
		if end < 0 || words[i] != "local" && words[i] != "worktree" {
			continue
		}
		switch name := rest[:end]; {
		case section == "filter" && rest[end+1:] == "required":
			set(words[i+1], "false")
		case section == "filter":
			set(words[i+1], "")
		case section == "hook":
			set("hook."+name+".enabled", "false")
		}
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(env)/2))
}

// maxShown limits git's output in a message, in bytes.
const maxShown = 2000
