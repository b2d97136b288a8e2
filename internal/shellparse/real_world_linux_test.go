package shellparse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// world is a folder in which bash runs a line with the real programs. The program
// canary writes its name into a log when it runs. Lines name files only below the
// folder.
//
//	root ─┬─ w     the current folder of the line, with the files of [worldFiles]
//	      ├─ home  its home folder, empty
//	      ├─ bin   canary
//	      └─ log   what canary wrote
type world struct {
	bash, root, dir, home, log string
	made                       bool              // the folders hold what worldFiles says
	before                     map[string]string // path below root to what is there
	template                   string            // a copy of the folders as they are made
}

// worldFiles are the files of a world. A name that ends with "/" is a folder.
var worldFiles = map[string]string{
	"w/a":              "one\ntwo\nthree\n",
	"w/b":              "two\nfour\n",
	"w/sub/c":          "x y\n",
	"w/sub/deep/d":     "d\n",
	"w/empty/":         "",
	"w/old":            "old\n",
	"w/list":           "a\nb\n",
	"w/list0":          "a\x00b\x00",
	"w/p.patch":        "--- a\n+++ a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
	"w/data.json":      `{"a":[1,2]}` + "\n",
	"w/x.c":            "int main(void) { return 0; }\n",
	"w/canary.sh":      "canary from a script\n",
	"w/canary.sed":     "1e canary from sed\n",
	"w/canary.awk":     "BEGIN { system(\"canary from awk\") }\n",
	"w/canary.mk":      "all:\n\tcanary from make\n",
	"w/ed.txt":         "!canary from ed\nq\n",
	"w/canary.vim":     "silent !canary from vim\n",
	"home/":            "",
	"bin/canary":       "#!/bin/sh\necho \"$0 $*\" >>\"$CANARY_LOG\"\n",
	"w/repo/tracked":   "t\n",
	"w/args":           "canary from a file\n",
	"w/empty-dirs/1/2": "f\n",
	"log":              "",
}

func newWorld(t *testing.T) *world {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		testneed.Need(t, "no bash on the PATH: apt-get install bash makes this run")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &world{bash: bash, root: root, dir: root + "/w", home: root + "/home", log: root + "/log"}
}

// reset makes the files anew when a line changed something.
func (w *world) reset(t *testing.T) {
	t.Helper()
	if w.made {
		return
	}
	for _, d := range []string{"w", "home", "bin", "log"} {
		if err := os.RemoveAll(filepath.Join(w.root, d)); err != nil {
			t.Fatal(err)
		}
	}
	if w.template != "" {
		for _, d := range []string{"w", "home", "bin", "log"} {
			must(t, copyAll(filepath.Join(w.template, d), filepath.Join(w.root, d)))
		}
		w.made, w.before = true, w.look(t)
		return
	}
	for name, text := range worldFiles {
		p := filepath.Join(w.root, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(p, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o755))
	}
	w.prepare(t)
	w.template = t.TempDir()
	for _, d := range []string{"w", "home", "bin", "log"} {
		must(t, copyAll(filepath.Join(w.root, d), filepath.Join(w.template, d)))
	}
	w.made, w.before = true, w.look(t)
}

// copyAll copies a file or a folder of files, with their modes and times.
func copyAll(from, to string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(p, from)
		if d.IsDir() {
			return os.Mkdir(target, st.Mode())
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, b, st.Mode()); err != nil {
			return err
		}
		return os.Chtimes(target, st.ModTime(), st.ModTime())
	})
}

// prepare makes what programs need to have made by programs.
func (w *world) prepare(t *testing.T) {
	t.Helper()
	w.bashRun(t, `tar cf t.tar a b; gzip -k b; zip -q z.zip a; cd repo; git init -q; git add tracked; git commit -qm one; git branch other; cd ..; sqlite3 q.db 'create table t(x); insert into t values(1)'`)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// look returns what is below the root, without what git keeps for itself.
func (w *world) look(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(w.root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case p == w.root || p == w.log:
			return nil
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			st, err := d.Info()
			if err != nil {
				return err
			}
			out[p] = "folder " + st.Mode().String()
		case d.Type().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			out[p] = string(b)
			if st, err := d.Info(); err == nil {
				out[p] += fmt.Sprint(st.Mode(), st.ModTime().UnixNano())
			}
		default:
			out[p] = d.Type().String()
		}
		return nil
	}))
	return out
}

// bashRun runs a line; how it ends is nothing to the tests.
func (w *world) bashRun(t *testing.T, line string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.bash, "--norc", "--noprofile", "-c", line)
	cmd.Env = []string{
		"HOME=" + w.home, "PATH=" + w.root + "/bin:/usr/bin:/bin", "LC_ALL=C", "CANARY_LOG=" + w.log, "TMPDIR=/tmp", "GIT_CONFIG_NOSYSTEM=1", "TERM=dumb",
		"GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@example.com", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@example.com",
	}
	cmd.Dir = w.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	_ = cmd.Run()
}

// run runs the line and returns the paths that it changed and whether canary ran.
func (w *world) run(t *testing.T, line string) (changed []string, canary bool) {
	t.Helper()
	w.reset(t)
	w.bashRun(t, line)
	after := w.look(t)
	for p, was := range w.before {
		if is, ok := after[p]; !ok || is != was {
			changed = append(changed, p)
		}
	}
	for p := range after {
		if _, ok := w.before[p]; !ok {
			changed = append(changed, p)
		}
	}
	slices.Sort(changed)
	ran, err := os.ReadFile(w.log)
	must(t, err)
	canary = len(ran) > 0
	w.made = len(changed) == 0 && !strings.Contains(line, "git")
	if canary && w.made {
		must(t, os.Truncate(w.log, 0))
	}
	return changed, canary
}

func (w *world) read(line string) *Reading {
	return Parse(line, &Options{Dir: w.dir, Home: w.home})
}

// writesTo reports whether the reading says that the path may be changed: it is
// written, or is below or, when it is a new folder, above what is written.
func (w *world) writesTo(r *Reading, p string) bool {
	_, was := w.before[p]
	for _, c := range r.Commands {
		for _, q := range c.Paths {
			switch {
			case q.Access&Write == 0:
			case q.Path == "" || q.Pattern == "" && (q.Path == p || q.Tree && under(q.Path, p)):
				return true
			case !was && under(p, q.Path):
				return true
			case strings.Contains(q.Path, "XXX"): // mktemp puts letters there
				if ok, err := filepath.Match(strings.ReplaceAll(q.Path, "X", "?"), p); ok && err == nil {
					return true
				}
			case q.Pattern != "":
				if ok, err := filepath.Match(q.Pattern, p); ok && err == nil {
					return true
				}
			case !was && (c.Name == "gcc" || c.Name == "cc") && q.Path == filepath.Dir(p):
				return true // what a compiler makes where it runs has many names
			}
		}
	}
	return false
}

// missing names a program that the line needs, and this machine does not have.
func missing(line string) string {
	for _, c := range Parse(line, nil).Commands {
		if c.Name == "" || c.Name == "canary" || strings.Contains(c.Program, "/") || contains(shellBuiltins, c.Name) || c.Name[0] == '-' {
			continue
		}
		if _, err := exec.LookPath(c.Name); err != nil {
			return c.Name
		}
	}
	return ""
}

const shellBuiltins = `: . alias bg bind break builtin caller cd command compgen complete compopt continue coproc declare dirs disown echo enable eval exec exit export
	f false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source
	suspend test time times trap true type typeset ulimit umask unalias unset wait [ [[ git-x`
