//go:build linux

package escape

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// caller is the user who opens sandboxes.
type caller struct {
	name string
	uid  int
}

var (
	isRoot     = os.Getuid() == 0
	rootCaller = caller{"root", 0}
)

// callers are root and an ordinary user; only the latter if an ordinary user runs the tests.
func callers() []caller {
	if isRoot {
		return []caller{rootCaller, {"user", 12345}}
	}
	return []caller{{"user", os.Getuid()}}
}

// program copies this program to a path that is visible in sandboxes, which have a private /tmp.
var program = sync.OnceValues(func() (string, error) {
	under, ok := testneed.OutsideTmp()
	if !ok {
		return "", errors.New("no folder of this user outside of /tmp: set HOME to one")
	}
	dir, err := os.MkdirTemp(under, "holdfast-escape-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "probe")
	return name, os.WriteFile(name, b, 0o755)
})

func removeProgram() {
	if name, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(name))
	}
}

// fixture contains the targets of one run.
type fixture struct {
	outside

	caller   caller
	token    string // no output of the probe may contain it
	box      order
	services *services
	before   map[string]string
	victim   *exec.Cmd
	pty      *os.File
	seenHarm []string // harm that hooks of the attempt saw
	mu       sync.Mutex
}

func newFixture(t *testing.T, c caller, a *attempt) *fixture {
	t.Helper()
	if _, ok := testneed.OutsideTmp(); !ok {
		t.Skip("no folder of this user outside of /tmp for the probe: set HOME to one")
	}
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp(filepath.Dir(bin), strings.ToLower(a.id)+"-")
	if err != nil {
		t.Fatal(err)
	}
	var random [6]byte
	_, _ = rand.Read(random[:])
	f := &fixture{caller: c, token: "s3cret-" + hex.EncodeToString(random[:])}
	f.outside = outside{
		Base: base, WS: base + "/ws", Out: base + "/outside", Secret: base + "/secret", Home: base + "/home",
		State: base + "/state", Bin: bin, Marker: "holdfast-" + hex.EncodeToString(random[:]),
	}
	t.Cleanup(func() { f.remove(t) })
	f.fill(t)
	f.services = serve(t, f)
	f.startVictim(t)
	if isRoot {
		f.giveToCaller(t)
	}
	if a.arrange != nil {
		a.arrange(t, f)
	}
	settings := &sandbox.Settings{DeniedPaths: []string{f.Secret}}
	if a.settings != nil {
		settings = a.settings(f)
	}
	raw, err := json.Marshal(settings)
	must(t, err)
	f.box = order{
		Settings: raw, Folders: []string{f.WS}, Home: f.Home, State: f.State, Quarantine: f.Base + "/quarantine",
		Out: f.Out, Dir: f.WS, Ready: f.WS + "/ready", Go: f.WS + "/go", Terminal: a.terminal, Apart: a.apart,
	}
	if a.folders != nil {
		f.box.Folders = a.folders(f)
	}
	return f
}

// fill creates the files: a workspace with a repository and a nested one, and the files around it.
func (f *fixture) fill(t *testing.T) {
	t.Helper()
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	for name, text := range map[string]string{
		"ws/m2": "mine\n", "ws/main.go": "package main\n",
		"ws/.git/HEAD": "ref: refs/heads/main\n", "ws/.git/config": config, "ws/.git/hooks/sample": "",
		"ws/.git/objects/info/x": "", "ws/.git/refs/heads/x/": "",
		"ws/.git/modules/lib/config": config, "ws/.git/modules/lib/hooks/sample": "", "ws/.git/modules/lib/HEAD": "ref: refs/heads/main\n",
		"ws/sub/.git/HEAD": "ref: refs/heads/main\n", "ws/sub/.git/config": config, "ws/sub/.git/hooks/sample": "",
		"ws/sub/.git/objects/": "", "ws/sub/.git/refs/": "",
		"outside/file": "outside\n", "outside/victim": "here\n", "outside/dir/x": "x\n",
		"secret/key": "key " + f.token + "\n", "secret/linked": "linked " + f.token + "\n",
		"home/.bashrc": "# rc\n", "home/.profile": "# rc\n", "home/.zshrc": "# rc\n", "home/.ssh/id_ed25519": f.token + "\n",
		"state/sessions.db": "state\n", "state/audit/log": f.token + "\n",
	} {
		full := filepath.Join(f.Base, name)
		dir := filepath.Dir(full)
		if strings.HasSuffix(name, "/") {
			dir = full
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == full {
			continue
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.KeySize = int64(len("key " + f.token + "\n"))
	f.Net, _ = os.Readlink("/proc/self/ns/net")
}

// giveToCaller makes the caller the owner of everything, so that no ordinary permission stops it.
func (f *fixture) giveToCaller(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(f.Base, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, f.caller.uid, f.caller.uid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// startVictim starts a process of the caller that has a secret.
func (f *fixture) startVictim(t *testing.T) {
	t.Helper()
	f.victim = exec.Command("/bin/sleep", "300")
	f.victim.Env = []string{"VICTIM_KEY=" + f.token, "HOLDFAST_ESCAPE=" + f.Base}
	f.victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	f.become(f.victim)
	if err := f.victim.Start(); err != nil {
		t.Fatal(err)
	}
	f.Victim = f.victim.Process.Pid
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		// The process's name changes before its new memory is laid out; until then the address is 0.
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", f.Victim))
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.Victim))
		if fields := strings.Fields(string(stat)); strings.Contains(string(env), f.token) && len(fields) > 50 && fields[1] == "(sleep)" {
			if _, err := fmt.Sscan(fields[49], &f.VictimEnv); err != nil || f.VictimEnv == 0 {
				t.Fatalf("the address of the victim's environment is unknown: %q, %v", fields[49], err)
			}
			return
		}
	}
	t.Fatal("the victim did not start")
}

// become runs a command as the caller.
func (f *fixture) become(c *exec.Cmd) {
	if f.caller.uid != os.Getuid() {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(f.caller.uid), Gid: uint32(f.caller.uid)}
	}
}

// outcome is the result of a run.
type outcome struct {
	absent  bool
	open    string
	killed  bool // the supervisor's exit status
	code    int
	out     string
	total   int    // bytes of output
	tail    string // the end of the output
	notices string
	report  string   // by the sandbox, after the end
	harm    []string // what the host saw
}

func (o *outcome) String() string {
	out := o.out
	if len(out) > 600 {
		out = out[:300] + " … " + out[len(out)-300:]
	}
	return fmt.Sprintf("it ended with %d and said %q%s", o.code, out, o.open)
}

// run makes one attempt: it runs the supervisor and the probe, and checks what the host sees.
func (f *fixture) run(t *testing.T, a *attempt, plain bool) *outcome {
	t.Helper()
	f.box.Plain = plain
	f.box.Probe = []string{f.Bin, "probe", a.id, f.Base}
	if a.before != "" {
		f.box.Before = f.script(a.before)
	}
	if a.beside != "" {
		f.box.Beside = f.script(a.beside)
	}
	if a.stdin {
		f.box.Stdin = f.Out + "/file"
	}
	if a.stdout {
		f.box.Stdout = f.Out + "/file"
	}
	if a.lingers {
		f.box.Linger = f.WS + "/survivor"
	}
	if a.tty || a.terminal {
		f.openTerminal(t)
	}
	f.write(t, "place.json", f.outside)
	f.write(t, "order.json", f.box)
	f.before = f.snapshot()

	ended := make(chan struct{})
	var meanwhile sync.WaitGroup
	if a.during != nil {
		meanwhile.Go(func() { a.during(f, ended) })
	}
	o := f.supervise(t, a, plain)
	close(ended)
	meanwhile.Wait()
	if a.after != nil {
		a.after(t, f, o)
	}
	if plain {
		f.awaitHarm(a, o)
	} else {
		f.services.drain(t)
		o.harm = append(f.harm(o), f.leftovers()...)
	}
	return o
}

func (f *fixture) script(text string) []string {
	return []string{"/bin/sh", "-c", strings.NewReplacer("$WS", f.WS, "$OUT", f.Out, "$BASE", f.Base).Replace(text)}
}

func (f *fixture) write(t *testing.T, name string, v any) {
	t.Helper()
	must(t, writeJSON(filepath.Join(f.Base, name), v))
}

func writeJSON(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o644)
}

// supervise runs the supervisor as the caller.
func (f *fixture) supervise(t *testing.T, a *attempt, plain bool) *outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, f.Bin, "supervise", f.Base)
	c.Dir = f.WS
	c.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + f.Home, "API_KEY=" + f.token,
		"HOLDFAST_ESCAPE=" + f.Base, "GOTRACEBACK=none",
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out headAndTail
	out.max = 1 << 16
	c.Stdout, c.Stderr = &out, &out
	if a.tty || a.terminal {
		slave := f.slave(t)
		defer slave.Close()
		c.Stdin = slave
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	f.become(c)
	c.WaitDelay = 2 * time.Second
	err := c.Run()
	if ctx.Err() != nil {
		t.Fatalf("the supervisor did not end: %s", out.String())
	}
	var r report
	b, readErr := os.ReadFile(filepath.Join(f.Base, "report.json"))
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.Sys().(syscall.WaitStatus).Signaled() {
		return &outcome{killed: true, out: out.String()}
	}
	if readErr != nil || json.Unmarshal(b, &r) != nil {
		t.Fatalf("the supervisor left no report: %v: %s", err, out.String())
	}
	if r.Start != "" {
		t.Fatalf("the probe did not start: %s", r.Start)
	}
	if r.Lingers {
		f.addHarm("the command goes on after its end")
	}
	if r.Limits {
		f.addHarm("the supervisor's limits were changed")
	}
	return &outcome{absent: r.Absent, open: r.Open, code: r.Code, out: r.Out + out.String(), total: r.Total, tail: r.Tail, notices: r.Notices, report: r.Report}
}

// remove removes what the run left, and then the files.
func (f *fixture) remove(t *testing.T) {
	for _, p := range f.processes() {
		_ = syscall.Kill(p, syscall.SIGKILL)
	}
	if f.victim != nil && f.victim.Process != nil {
		_ = f.victim.Process.Kill()
		_ = f.victim.Wait()
	}
	if f.pty != nil {
		f.pty.Close()
	}
	for _, name := range f.markers() {
		_ = os.Remove(name)
	}
	for range 50 {
		if err := os.RemoveAll(f.Base); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond) // a killed process may hold a mount for a moment
	}
	t.Errorf("%s cannot be removed", f.Base)
}

// put creates one more file, before the run.
func (f *fixture) put(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o644))
	if isRoot {
		must(t, os.Chown(name, f.caller.uid, f.caller.uid))
		if dir := filepath.Dir(name); strings.HasPrefix(dir, f.Base) {
			must(t, os.Chown(dir, f.caller.uid, f.caller.uid))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// without returns why a machine without a file has no control.
func without(names ...string) func() string {
	return func() string {
		for _, name := range names {
			if _, err := os.Stat(name); err != nil {
				return "this machine has no " + name
			}
		}
		return ""
	}
}

// lacks returns why a control that needs a program cannot run.
func lacks(program string) func() string {
	return func() string {
		if _, err := exec.LookPath(program); err != nil {
			return "there is no " + program + " here"
		}
		return ""
	}
}

func denyKey(f *fixture) *sandbox.Settings {
	return &sandbox.Settings{DeniedPaths: []string{f.Secret, f.Out + "/key.pem"}}
}

func denyEnv(f *fixture) *sandbox.Settings {
	return &sandbox.Settings{DeniedPaths: []string{f.Secret, f.WS + "/.env", f.WS + "/conf/.env"}}
}
