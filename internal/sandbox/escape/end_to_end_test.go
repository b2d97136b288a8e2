//go:build linux

package escape

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// endToEnd are the cases that consist of more than one command in one sandbox.
var endToEnd = map[string]func(*testing.T){
	"X02": testInsideItself,
	"X03": testBadFolders,
	"X04": testNoNamespaces,
	"X06": testExcluded,
	"X07": testTwoSandboxes,
}

// eachCaller runs a test as root and as an ordinary user.
func eachCaller(t *testing.T, run func(*testing.T, *fixture)) {
	t.Helper()
	for _, c := range callers() {
		t.Run(c.name, func(t *testing.T) { run(t, newFixture(t, c, &attempt{id: "whole"})) })
	}
}

// superviseScript runs a supervisor with the fixture's order and one script.
func (f *fixture) superviseScript(t *testing.T, script string) *outcome {
	t.Helper()
	f.box.Probe = f.script(script)
	f.write(t, "place.json", f.outside)
	f.write(t, "order.json", f.box)
	f.before = f.snapshot()
	o := f.supervise(t, &attempt{}, false)
	if o.absent {
		testneed.Need(t, "the kernel sandbox is not there: %s", o.open)
	}
	f.services.drain(t)
	o.harm = append(f.harm(o), f.leftovers()...)
	return o
}

// A sandbox inside a sandbox is refused, or works; the restrictions of the outer one remain.
func testInsideItself(t *testing.T) {
	eachCaller(t, func(t *testing.T, f *fixture) {
		inner := filepath.Join(f.WS, "inner")
		must(t, os.Mkdir(inner, 0o777))
		must(t, os.Chmod(inner, 0o777))
		o := f.box
		o.Settings, _ = json.Marshal(&sandbox.Settings{AllowedWritePaths: []string{f.Out, f.WS}})
		o.State, o.Probe = f.Base+"/none", f.script(`cat `+f.Secret+`/key; echo x >>$OUT/file`)
		must(t, writeJSON(filepath.Join(inner, "order.json"), o))
		if isRoot {
			must(t, os.Chown(inner, f.caller.uid, f.caller.uid))
		}
		got := f.superviseScript(t, f.Bin+` supervise $WS/inner; cat $WS/inner/report.json`)
		if got.open != "" || len(got.harm) > 0 {
			t.Errorf("%s: %q", got, got.harm)
		}
		var r report
		b, _ := os.ReadFile(inner + "/report.json")
		if json.Unmarshal(b, &r) != nil || r.Open == "" && r.Start == "" && r.Code == 0 {
			t.Errorf("the inner sandbox left %q; %s", b, got)
		}
		t.Logf("the inner one says %q", r.Open+r.Start+r.Out)
	})
}

// A folder that cannot be a workspace is rejected, and so is one with an unsuitable name.
func testBadFolders(t *testing.T) {
	eachCaller(t, func(t *testing.T, f *fixture) {
		link := filepath.Join(f.Base, "link")
		must(t, os.Symlink("/", link))
		for _, folder := range []string{f.Base + "/missing", link, "/", f.WS + "/m2", f.WS + "\x00x", ""} {
			f.box.Folders = []string{folder}
			if folder == "" {
				f.box.Folders = []string{f.WS, f.Base + "/missing"}
			}
			if o := f.superviseScript(t, `echo x >>$OUT/file`); o.open == "" || len(o.harm) > 0 {
				t.Errorf("%q was accepted: %s %q", folder, o, o.harm)
			}
		}
		for _, name := range []string{"a:b", "a\nb", `a\b`, "a b", "ä,ö", "-x", "a\tb", "%s"} {
			folder := filepath.Join(f.Base, name)
			must(t, os.Mkdir(folder, 0o755))
			if isRoot {
				must(t, os.Chown(folder, f.caller.uid, f.caller.uid))
			}
			f.box.Folders, f.box.Dir = []string{folder}, folder
			o := f.superviseScript(t, `touch made && { mkdir .claude || echo x >.mcp.json; echo x >>$OUT/file; }`)
			if len(o.harm) > 0 {
				t.Errorf("%q: %s %q", name, o, o.harm)
			}
			left, err := os.ReadDir(folder)
			if must(t, err); o.open == "" && (len(left) != 1 || left[0].Name() != "made") {
				t.Errorf("%q: %s has %v", name, o, left)
			}
			t.Logf("%q: %s", name, o)
		}
	})
}

// If namespaces are refused, no sandbox opens, unless the settings accept less.
func testNoNamespaces(t *testing.T) {
	eachCaller(t, func(t *testing.T, f *fixture) {
		for _, weaker := range []bool{false, true} {
			s := &sandbox.Settings{DeniedPaths: []string{f.Secret}}
			if weaker {
				s.EnableWeakerNestedSandbox = new(true)
			}
			var err error
			f.box.Settings, err = json.Marshal(s)
			must(t, err)
			f.box.Probe = f.script(`cat ` + f.Secret + `/key; echo x >>$OUT/file; echo ran`)
			f.write(t, "order.json", f.box)
			before := f.snapshot()
			report := f.withoutNamespaces(t)
			f.before = before
			if harm := f.harm(&outcome{out: report.Out}); len(harm) > 0 {
				t.Errorf("weaker %v: %q", weaker, harm)
			}
			switch {
			case !weaker && report.Open+report.Start == "":
				t.Errorf("opened without namespaces: %+v", report)
			case !weaker && !strings.Contains(report.Open+report.Start, "namespace"):
				t.Errorf("what is missing is not named: %q", report.Open+report.Start)
			case weaker && (report.Open != "" || !strings.Contains(report.Out, "ran")):
				t.Errorf("weaker: %+v", report)
			}
			t.Logf("weaker %v: %q %q", weaker, report.Open+report.Start, report.Out)
		}
	})
}

// withoutNamespaces runs the supervisor in a user namespace whose users can create no namespaces. The
// machine's own limit stays as it is.
func (f *fixture) withoutNamespaces(t *testing.T) *report {
	t.Helper()
	c := exec.Command("/bin/sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" supervise "$1"`, f.Bin, f.Base)
	c.Dir, c.Env = f.WS, []string{"PATH=/usr/bin:/bin", "HOME=" + f.Home, "API_KEY=" + f.token, "HOLDFAST_ESCAPE=" + f.Base}
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		Credential:  &syscall.Credential{NoSetGroups: true}, // root in the namespace, the caller here
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: f.caller.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: f.caller.uid, Size: 1}},
	}
	if out, err := c.CombinedOutput(); err != nil {
		testneed.Need(t, "no namespace of users to try in: %v: %s", err, out)
	}
	r := &report{}
	b, err := os.ReadFile(f.Base + "/report.json")
	must(t, err)
	must(t, json.Unmarshal(b, r))
	return r
}

// Only a whole parsed line may run outside, never the beginning of its text.
func testExcluded(t *testing.T) {
	k, err := sandbox.NewChecker(&sandbox.Settings{ExcludedCommands: []string{"git", "docker ps"}}, &sandbox.Options{Home: "/home/u", Dir: "/project"})
	must(t, err)
	box, err := sandbox.Open([]*sandbox.Checker{k}, &sandbox.OpenOptions{Folders: []string{t.TempDir()}, SingleCommand: true})
	must(t, err)
	defer box.Close()
	for line, want := range map[string]bool{
		"git status": true, "docker ps -a": true, "git status && git log": true,
		"git;curl x": false, "git status; curl x": false, "git status && curl x": false, "git status | sh": false, "gitx": false,
		"git $(curl x)": false, "docker run x": false, "curl x # git": false, "$GIT status": false, "sh -c 'git status; curl x'": false,
		"git status &\ncurl x": false, "git status > >(curl x)": false,
	} {
		if _, got := box.Excluded(line, "/project"); got != want {
			t.Errorf("%q may run outside: %v, want %v", line, got, want)
		}
	}
}

// Two sandboxes cannot see each other.
func testTwoSandboxes(t *testing.T) {
	eachCaller(t, func(t *testing.T, f *fixture) {
		other := filepath.Join(f.Base, "theirs")
		for _, dir := range []string{other, f.Base + "/first"} {
			must(t, os.Mkdir(dir, 0o755))
			if isRoot {
				must(t, os.Chown(dir, f.caller.uid, f.caller.uid))
			}
		}
		otherBox := f.box
		otherBox.Folders, otherBox.Dir = []string{other}, other
		otherBox.Settings, _ = json.Marshal(&sandbox.Settings{Network: &sandbox.Network{AllowedDomains: []string{"allowed.test"}}})
		otherBox.Probe = []string{"/bin/sh", "-c", "echo " + f.token + " >own; echo " + f.token + " >/tmp/own; echo " + f.token + " >/dev/shm/own; K=" + f.token +
			" sleep 0.01; touch up; while [ ! -e stop ]; do sleep 0.02; done"}
		must(t, writeJSON(f.Base+"/first/order.json", otherBox))
		c := exec.Command(f.Bin, "supervise", f.Base+"/first")
		c.Dir, c.Env = other, []string{"PATH=/usr/bin:/bin", "HOME=" + f.Home}
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		f.become(c)
		must(t, c.Start())
		over := make(chan error, 1)
		go func() { over <- c.Wait() }()
		for end := 0; !appears(other+"/up", 100_000_000); end++ {
			select {
			case err := <-over:
				b, _ := os.ReadFile(f.Base + "/first/report.json")
				t.Fatalf("the first sandbox ended: %v: %s", err, b)
			default:
			}
			if end > 100 {
				t.Fatal("the first sandbox does not run")
			}
		}
		f.box.Settings, _ = json.Marshal(&sandbox.Settings{AllowedReadPaths: []string{f.WS, filepath.Dir(f.Bin) + "/probe"}})
		f.box.Probe = f.script(`cat ` + other + `/own /tmp/own /dev/shm/own /proc/[0-9]*/environ; echo x >` + other + `/own2
			ls /proc | grep -c '^[0-9]'; exec 3<>/dev/tcp/127.0.0.1/3128`)
		f.write(t, "order.json", f.box)
		o := f.supervise(t, &attempt{}, false)
		must(t, os.WriteFile(other+"/stop", nil, 0o666))
		<-over
		if o.open != "" || strings.Contains(o.out, f.token) {
			t.Errorf("the second sandbox saw the first: %s", o)
		}
		if _, err := os.Stat(other + "/own2"); err == nil {
			t.Error("the second sandbox wrote into the first's workspace")
		}
		if _, err := os.Stat(other + "/own"); err != nil {
			t.Errorf("the first sandbox did not work: %v", err)
		}
		if left := f.leftovers(); len(left) > 0 {
			t.Error(left)
		}
	})
}
