//go:build linux

package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// Some commands cannot be judged by their text. These tests run them: the files that they would harm are
// outside of the writable trees and stay unchanged. Without the sandbox the same command harms them.

// isolateVar names the folder of one run, for the program that opens the sandbox.
const isolateVar = "HOLDFAST_TEST_ISOLATE"

// isolated describes one run.
type isolated struct {
	Plain    bool // without a sandbox
	Settings json.RawMessage
	Command  string // its folder is Dir
	Base     string
	Dir      string
}

// kernelCases are cases of file tools that the kernel can prevent as well, as commands.
var kernelCases = map[string]struct{ command, output string }{
	"sandbox_file_tools-027": {
		`ln -s <outside> d && echo x >d/x`,
		`{"settings": {"allowedWritePaths": ["<root>/"]}, "input": {"tool": "Write", "file": "<root>/d/f", "race": "replace <root>/d by symlink to <outside> after the check"}, "expect": {"file_created_outside": false}}`,
	},
	"sandbox_file_tools-028": {
		`ln -s <outside>/secret.txt leak.txt; grep -R HIDDEN . && : >pwned`,
		`{"settings": {"allowedReadPaths": ["<root>/"], "fs": {"<root>/leak.txt": "-> <outside>/secret.txt"}}, "input": {"tool": "Grep", "path": "<root>", "pattern": "SECRET", "output_mode": "content"}, "expect": {"contains_secret": false}}`,
	},
	"sandbox_file_tools-029": {
		`grep -r SECRET secret && : >pwned`,
		`{"settings": {"allowedReadPaths": ["<root>/"], "deniedPaths": ["<root>/secret/"]}, "input": {"tool": "Grep", "path": "<root>", "pattern": "PRIVATE KEY", "output_mode": "content"}, "expect": {"contains_secret": false}}`,
	},
	"sandbox_file_tools-030": {
		`find . | grep secret/key && : >pwned`,
		`{"settings": {"allowedReadPaths": ["<root>/"], "deniedPaths": ["<root>/secret/"]}, "input": {"tool": "Glob", "path": "<root>", "pattern": "**/*"}, "expect": {"lists_secret": false}}`,
	},
	"sandbox_file_tools-034": {
		`ln <outside>/secret.txt hard && cat hard && : >pwned`,
		`{"settings": {"allowedReadPaths": ["<root>/"], "deniedPaths": ["<outside>"]}, "input": {"tool": "Read", "file": "<root>/hard", "fs": "hard link to <outside>/secret"}, "expect": {"note": "cannot be seen by path; block link creation or use OS-level isolation"}}`,
	},
}

func TestIsolate(t *testing.T) {
	run := func(command, dir string) func(*testing.T, corpus.Case) {
		return func(t *testing.T, c corpus.Case) { isolateCase(t, c, command, dir) }
	}
	handled := map[string]func(*testing.T, corpus.Case){}
	var cases []corpus.Case
	for _, c := range corpus.Area(t, "open-agent-sdk.json", "sandbox_bypass", "sandbox_file_tools") {
		var in struct{ Command string }
		if known, ok := kernelCases[c.ID]; ok {
			handled[c.ID] = corpus.Test(known.output, run(known.command, "ws"))
		} else if string(c.Expect()) == `"isolate"` {
			c.Decode(t, c.Input(), &in)
			handled[c.ID] = run(in.Command, "outside")
		} else {
			continue
		}
		cases = append(cases, c)
	}
	if len(cases) < 24 {
		t.Errorf("%d cases", len(cases))
	}
	corpus.Claim(t, cases, handled, nil)
}

// isolateCase runs a case's command with and without the sandbox, and a second time from a writable folder in
// which the victim is named by its full path.
func isolateCase(t *testing.T, c corpus.Case, command, dir string) {
	uids := []int{os.Getuid()}
	if uids[0] == 0 {
		uids = append(uids, 12345)
	}
	for _, uid := range uids {
		runs := []struct{ command, dir string }{{command, dir}}
		if before, ok := strings.CutSuffix(command, " x"); ok && !strings.HasPrefix(command, "git ") {
			runs = append(runs, struct{ command, dir string }{before + " <outside>/x", "ws"})
		}
		for _, r := range runs {
			if uid != 0 && strings.HasPrefix(r.command, "ln /bin/") {
				t.Logf("uid %d has no control for %q: the kernel links no programs of others (fs.protected_hardlinks)", uid, r.command)
			} else if harm := isolate(t, c, uid, r.command, r.dir, true); harm == "" {
				t.Errorf("uid %d: without a sandbox %q does no harm, so it shows nothing", uid, r.command)
			}
			if harm := isolate(t, c, uid, r.command, r.dir, false); harm != "" {
				t.Errorf("uid %d: under %s %q does harm: %s", uid, c.Settings(), r.command, harm)
			}
		}
	}
}

// isolate runs a command once, and returns what harm was done.
func isolate(t *testing.T, c corpus.Case, uid int, command, dir string, plain bool) string {
	t.Helper()
	base := newRunFolders(t, uid, command)
	expand := strings.NewReplacer("<outside>", base+"/outside", "<root>", base+"/ws")
	o := isolated{Plain: plain, Command: expand.Replace(command), Base: base, Dir: filepath.Join(base, dir)}
	if plain {
		o.Command = strings.ReplaceAll(o.Command, "/tmp/", base+"/tmp/") // which appears as /tmp in the sandbox
	} else {
		var fields map[string]json.RawMessage
		c.Decode(t, json.RawMessage(expand.Replace(string(c.Settings()))), &fields)
		delete(fields, "fs")
		var err error
		if o.Settings, err = json.Marshal(fields); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(base+"/program", "-test.run=^TestIsolateChild$", "-test.v")
	child.Dir = base
	child.Env = []string{isolateVar + "=" + string(b), "HOME=" + base + "/home", "PATH=" + os.Getenv("PATH"), "CI=" + os.Getenv("CI")}
	child.SysProcAttr = &syscall.SysProcAttr{}
	if uid != os.Getuid() {
		child.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	out, err := child.CombinedOutput()
	switch {
	case err != nil:
		t.Fatalf("%v: %s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		testneed.Need(t, "the kernel sandbox is not there: %s", out)
	case !strings.Contains(string(out), "the command ended"):
		t.Fatalf("the command did not run: %s", out)
	}
	if harm := harmIn(t, base); harm != "" {
		return harm + "\n" + string(out)
	}
	return ""
}

// TestIsolateChild is the program that opens the sandbox, or runs without one.
func TestIsolateChild(t *testing.T) {
	text := os.Getenv(isolateVar)
	if text == "" {
		t.Skip("TestIsolate starts this")
	}
	var o isolated
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + o.Base + "/bin:/usr/local/bin:/usr/bin:/bin", "HOME=" + o.Base + "/home", "GIT_ALLOW_PROTOCOL=ext",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@x",
	}
	if o.Plain {
		c := exec.Command("/bin/bash", "-c", o.Command)
		c.Dir, c.Env = o.Dir, env
		out, err := c.CombinedOutput()
		t.Logf("the command ended: %v: %s", err, out)
		return
	}
	s := &sandbox.Settings{}
	if err := s.Decode(o.Settings); err != nil {
		t.Fatal(err)
	}
	k, err := sandbox.NewChecker(s, &sandbox.Options{Home: o.Base + "/home", Dir: o.Base})
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.Open([]*sandbox.Checker{k}, &sandbox.OpenOptions{
		Folders: []string{o.Base + "/ws"}, Home: o.Base + "/home", Temp: o.Base + "/tmp",
	})
	if errors.Is(err, kernel.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	c := box.Command(context.Background(), "/bin/bash", "-c", o.Command)
	c.Dir, c.Env = o.Dir, env
	out, err := c.CombinedOutput()
	if _, ended := errors.AsType[*sandbox.ExitError](err); err != nil && !ended {
		t.Fatalf("the command did not start: %v", err)
	}
	t.Logf("the command ended: %v: %s", err, out)
}

// harmScript is what a script of the cases does, in many ways: outside stands for the folder.
const harmScript = "#!/bin/sh\nrm -rf OUTSIDE/x; unlink OUTSIDE/x; perl -e 'unlink \"OUTSIDE/x\"'; : >OUTSIDE/pwned; : >pwned\n"

// newRunFolders creates the folders of a run, writable and not, and programs that are not installed everywhere.
func newRunFolders(t *testing.T, uid int, command string) string {
	t.Helper()
	under, ok := testneed.OutsideTmp()
	if !ok {
		t.Skip("no folder of this user outside of /tmp: set HOME to one")
	}
	base, err := os.MkdirTemp(under, "holdfast-isolate-")
	if err != nil {
		testneed.Need(t, "no place outside of /tmp: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	out := base + "/outside"
	script := strings.ReplaceAll(harmScript, "OUTSIDE", out)
	files := map[string]string{
		"program": string(self), "home/x": "", "ws/secret/key.pem": "SECRET PRIVATE KEY\n", "outside/secret.txt": "HIDDEN\n",
		"tmp/x.sh": script, "tmp/h/pre-commit": script, "outside/x.sh": script, "outside/setup": script, "outside/evil.deb": script,
		"outside/evil/setup.sh": script, "outside/Makefile": ".PHONY: evil\nevil:\n\tsh ./x.sh\n",
		// Stand-ins for programs that do the same harm under these names.
		"bin/python": "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n", "bin/pip": "#!/bin/sh\nexec /bin/sh \"$2/setup.sh\"\n",
		"bin/dpkg": "#!/bin/sh\nexec /bin/sh \"./$2\"\n",
	}
	for _, name := range []string{"deno", "emacs", "julia"} {
		if _, err := exec.LookPath(name); err != nil {
			files["bin/"+name] = script
		}
	}
	if strings.Contains(command, "ext::sh") {
		files["bin/sh"] = "#!/bin/bash\n" + strings.SplitN(script, "\n", 2)[1]
	}
	if strings.Contains(command, "rmtree") {
		files["outside/x/y"] = "here\n"
	} else {
		files["outside/x"] = "here\n"
	}
	for name, text := range files {
		name = filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if strings.HasPrefix(command, "git ") {
		for _, args := range [][]string{{"init", "-q", out}, {"-C", out, "add", "x"}} {
			if b, err := exec.Command("git", args...).CombinedOutput(); err != nil {
				testneed.Need(t, "no git: %v: %s", err, b)
			}
		}
	}
	err = filepath.WalkDir(base, func(name string, _ fs.DirEntry, err error) error {
		if err == nil && os.Getuid() == 0 {
			err = os.Lchown(name, uid, uid)
		}
		return err
	})
	if err := errors.Join(err, os.Chmod(base, 0o755)); err != nil {
		t.Fatal(err)
	}
	return base
}

// harmIn returns what has changed.
func harmIn(t *testing.T, base string) string {
	t.Helper()
	for _, name := range []string{"outside/x", "outside/x/y"} {
		b, err := os.ReadFile(filepath.Join(base, name))
		if err == nil && string(b) != "here\n" {
			return name + " was changed"
		}
	}
	if _, err := os.Stat(base + "/outside/x"); err != nil {
		return "outside/x is gone"
	}
	names, err := os.ReadDir(base + "/outside")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(names, func(e os.DirEntry) bool { return e.Name() == "pwned" || e.Name() == "z" })
	if i >= 0 {
		return "outside/" + names[i].Name() + " was made"
	}
	if _, err := os.Stat(base + "/ws/pwned"); err == nil {
		return "a secret was read"
	}
	return ""
}
