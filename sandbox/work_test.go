//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

// workEnv is a user at work: a new home folder and workspace, and the program. It is outside of /tmp, which
// is private to commands.
type workEnv struct {
	t       *testing.T
	who     caller
	base    string
	dir     string // the workspace
	program string
	env     []string
}

// work runs a test in a new workEnv, for root and for an ordinary user.
func work(t *testing.T, test func(d *workEnv)) {
	t.Helper()
	testneed.Root(t, "to work as root and as another user")
	base, err := os.MkdirTemp("/srv", "holdfast-work-")
	if err != nil {
		testneed.Need(t, "no folder outside of /tmp (%v): mkdir -p /srv", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	program := filepath.Join(base, "holdfast")
	testprogram.Copy(t, program)
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	each(t, both, func(t *testing.T, who caller) { test(newWorkEnv(t, who, program)) })
}

func newWorkEnv(t *testing.T, who caller, program string) *workEnv {
	t.Helper()
	base := filepath.Join(filepath.Dir(program), filepath.Base(t.Name()))
	d := &workEnv{t: t, who: who, base: base, dir: filepath.Join(base, "work"), program: program}
	home := filepath.Join(base, "home")
	for _, dir := range []string{base, d.dir, home} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chown(dir, int(who.uid), int(who.uid))); err != nil {
			t.Fatal(err)
		}
	}
	d.env = []string{"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "LANG=C.UTF-8"}
	d.write("../home/.gitconfig", "[user]\n\tname = A\n\temail = a@example.test\n[init]\n\tdefaultBranch = main\n")
	return d
}

// write writes a file of the workspace.
func (d *workEnv) write(name, text string) {
	d.t.Helper()
	full := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	for ; len(full) > len(d.base); full = filepath.Dir(full) {
		if err := os.Lchown(full, int(d.who.uid), int(d.who.uid)); err != nil {
			d.t.Fatal(err)
		}
	}
}

// ending is the result of a call of the program.
type ending struct {
	out, errs string
	code      int
}

// exec runs `holdfast sandbox exec` with these arguments.
func (d *workEnv) exec(args ...string) ending {
	d.t.Helper()
	var out, errs bytes.Buffer
	c := exec.CommandContext(d.t.Context(), d.program, append([]string{"sandbox", "exec"}, args...)...)
	c.Dir, c.Env, c.Stdout, c.Stderr = d.dir, append(d.env, "PWD="+d.dir), &out, &errs
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: d.who.uid, Gid: d.who.uid}}
	c.WaitDelay = 10 * time.Second
	if err := c.Run(); err != nil && c.ProcessState == nil {
		d.t.Fatal(err)
	}
	e := ending{out.String(), errs.String(), c.ProcessState.ExitCode()}
	if e.code == 125 && strings.Contains(e.errs, "namespaces") {
		testneed.Need(d.t, "%s: run this outside of a container", strings.TrimSpace(e.errs))
	}
	return e
}

// good checks that a command line succeeds without refusals, and returns its output.
func (d *workEnv) good(line string, flags ...string) string {
	d.t.Helper()
	e := d.exec(append(flags, "--", "/bin/sh", "-c", line)...)
	if e.code != 0 || strings.Contains(e.errs, "sandbox:") {
		d.t.Errorf("%s: exit status %d: %s%s", line, e.code, e.out, e.errs)
	}
	return e.out
}

// refused checks that a command line fails, and that the report contains these words.
func (d *workEnv) refused(line string, words []string, flags ...string) {
	d.t.Helper()
	e := d.exec(append(flags, "--", "/bin/sh", "-c", line)...)
	var report string
	for row := range strings.Lines(e.errs) {
		if strings.HasPrefix(row, "sandbox: ") {
			report += row
		}
	}
	for _, w := range words {
		if e.code == 0 || !strings.Contains(report, w) {
			d.t.Errorf("%s: exit status %d, %q is not reported:\n%s", line, e.code, w, e.errs)
		}
	}
}

// need skips the test if a program is not installed.
func (d *workEnv) need(program, packages string) {
	d.t.Helper()
	if !isInstalled(program) {
		testneed.Need(d.t, "no %s: apt-get install %s makes this run", program, packages)
	}
}

// isInstalled reports whether a program is installed.
func isInstalled(program string) bool {
	for _, dir := range []string{"/usr/local/go/bin", "/usr/local/bin", "/usr/bin", "/bin"} {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// TestWorkGit runs common git commands.
func TestWorkGit(t *testing.T) {
	work(t, func(d *workEnv) {
		d.need("git", "git")
		d.write("a", "1\n")
		for _, line := range []string{
			"git init -q",
			"git add -A && git commit -qm first && test -z \"$(git status --porcelain)\"",
			"git branch x && git checkout -q -b y && echo 2 >b && git add -A && git commit -qm second",
			"git checkout -q main && echo 3 >c && git add c && git commit -qm third && git merge -q -m merged y && test -f b",
			"git checkout -q x && echo 4 >d && git add d && git commit -qm fourth && git rebase -q main && test -f c",
			"echo 5 >>a && git stash -q && git stash pop -q && git diff --stat && git commit -qam fifth",
			"git tag v1 && git log --oneline | wc -l && git gc -q && git fsck",
			"git worktree add -q tree y && git -C tree status --porcelain && git worktree remove tree",
			"git clone -q . /tmp/copy && git -C /tmp/copy log -1",
			"git clone -q --bare . /tmp/mirror.git && git push -q /tmp/mirror.git HEAD:refs/heads/pushed",
			"mkdir new && cd new && git init -q && echo x >x && git add x && git commit -qm x",
			"git reset -q --hard && git clean -fdxq",
		} {
			d.good(line)
		}
	})
}

// TestWorkGitRefused checks that the report names the files that git must not change.
func TestWorkGitRefused(t *testing.T) {
	work(t, func(d *workEnv) {
		d.need("git", "git")
		d.good("git init -q && echo 1 >a && git add -A && git commit -qm first")
		d.refused("git config user.name B", []string{".git/config", "decides what other programs do"})
		d.refused("echo x >.git/hooks/pre-commit", []string{".git/hooks/pre-commit", "decides what other programs do"})
		d.refused("git worktree add ../tree", []string{d.base + "/tree", "outside allowedWritePaths", "additionalWritePaths"})
	})
}

// TestWorkTools runs compilers, archivers and scripting tools.
func TestWorkTools(t *testing.T) {
	work(t, func(d *workEnv) {
		d.write("hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n")
		d.write("Makefile", "hello: hello.c\n\tgcc -pipe -O1 -o $@ $<\n")
		d.write("test_it.py", "import tempfile, unittest\nclass T(unittest.TestCase):\n\tdef test_it(self):\n\t\ttempfile.TemporaryFile().write(b'x')\n")
		for _, tt := range []struct{ program, line, want string }{
			{"make", "make -j2 -s && ./hello", "hello\n"},
			{"tar", "tar czf x.tgz hello.c && mkdir -p out && tar xzf x.tgz -C out && ls out && rm -r x.tgz out", "hello.c\n"},
			{"find", "find . -name '*.c' -exec basename {} ';'", "hello.c\n"},
			{"rsync", "rsync -a --include='*.c' --exclude='*' ./ /tmp/copy/ && ls /tmp/copy", "hello.c\n"},
			{"script", "script -qec 'test -t 0 && test -t 1 && echo terminal' /dev/null | tr -d '\\r'", "terminal\n"},
			{"bash", "bash -c 'cat <(echo piped) && mkfifo f && (echo x >f & cat f) && rm f'", "piped\nx\n"},
			{"flock", "flock lock true && rm lock && mktemp -u >/dev/null && echo done", "done\n"},
			{"java", "java -version 2>&1 | grep -c version", "1\n"},
			{"cargo", "cargo --version | cut -d' ' -f1", "cargo\n"},
			{"node", `node -e 'const {Worker}=require("worker_threads");` +
				`new Worker("require(\"worker_threads\").parentPort.postMessage(7)",{eval:true}).on("message",console.log)'`, "7\n"},
			{"python3", "/usr/bin/python3 -m unittest -q test_it 2>&1 | grep -c OK", "1\n"},
			{"python3", `/usr/bin/python3 -c 'import multiprocessing as m; p=m.Pool(2); print(p.map(abs,[-1,2]))'`, "[1, 2]\n"},
		} {
			if !isInstalled(tt.program) {
				d.t.Logf("not tried, since it is not here: %s", tt.program)
				continue
			}
			if got := d.good(tt.line); got != tt.want {
				d.t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
			}
		}
	})
}

// TestWorkServer tests a server on a port of the private localhost, and the report if the settings allow
// none.
func TestWorkServer(t *testing.T) {
	const serve = `import http.server, threading, urllib.request as u
s = http.server.HTTPServer(("127.0.0.1", 8123), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(u.urlopen("http://localhost:8123/").status)
`
	work(t, func(d *workEnv) {
		d.write("serve.py", serve)
		for _, flags := range [][]string{nil, {"--allow-domain", "example.com"}, {"--settings", `{"network":{"allowLocalBinding":true}}`}} {
			if got := d.good("/usr/bin/python3 serve.py 2>/dev/null", flags...); got != "200\n" {
				t.Errorf("%v: %q", flags, got)
			}
		}
		no, why := []string{"--settings", `{"network":{"allowLocalBinding":false}}`}, []string{"network.allowLocalBinding"}
		d.refused("/usr/bin/python3 serve.py", why, no...)
		if _, err := os.Stat("/usr/bin/node"); err == nil {
			d.refused(`node -e 'require("http").createServer().listen(8123)'`, why, no...)
		}
	})
}

// TestWorkHostPorts checks that servers on this machine's localhost cannot be reached from inside, whether or
// not commands have a private localhost, even on the same port, and that servers inside cannot be reached
// from this machine.
func TestWorkHostPorts(t *testing.T) {
	const reach = `import socket, sys
port, port6, dgram = map(int, sys.argv[1:4])
for family, address in (socket.AF_INET, ("127.0.0.1", port)), (socket.AF_INET, ("0.0.0.0", port)), (socket.AF_INET6, ("::1", port6)):
    try:
        socket.socket(family).connect(address)
        print("connected to", address)
    except OSError:
        pass
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hi", ("127.0.0.1", dgram))
except OSError:
    pass
try:
    own = socket.create_server(("127.0.0.1", port))
    socket.create_connection(("127.0.0.1", port)).sendall(b"hi")
    print(own.accept()[0].recv(2))
except PermissionError:
    print("closed")
`
	listen := func(address string) (net.Listener, *atomic.Int32) {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		var n atomic.Int32
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				n.Add(1)
				c.Close()
			}
		}()
		return l, &n
	}
	four, reached := listen("127.0.0.1:0")
	six, reached6 := listen("[::1]:0")
	dgram, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer dgram.Close()
	port := func(a net.Addr) string { _, p, _ := net.SplitHostPort(a.String()); return p }
	work(t, func(d *workEnv) {
		d.write("reach.py", reach)
		line := strings.Join([]string{"/usr/bin/python3 reach.py", port(four.Addr()), port(six.Addr()), port(dgram.LocalAddr())}, " ")
		for _, settings := range []string{`{}`, `{"network":{}}`, `{"network":{"allowedDomains":["example.com"]}}`, `{"network":{"allowLocalBinding":true}}`, `{"network":{"allowLocalBinding":false}}`} {
			want := "b'hi'\n"
			if strings.Contains(settings, "false") {
				want = "closed\n"
			}
			if got := d.exec("--settings", settings, "--", "/bin/sh", "-c", line); got.out != want {
				t.Errorf("%s: %q, %s", settings, got.out, got.errs)
			}
		}
	})
	_ = dgram.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, _, err := dgram.ReadFrom(make([]byte, 8)); err == nil || reached.Load()+reached6.Load() > 0 {
		t.Errorf("this machine's localhost was reached: %d and %d connections, a datagram of %d bytes", reached.Load(), reached6.Load(), n)
	}
}

// TestWorkCaches checks that a file that a command plants in its caches is there for the next command of the
// project, and not for other projects or the user.
func TestWorkCaches(t *testing.T) {
	const plant = `for dir in "$GOCACHE" "$GOMODCACHE" "$npm_config_cache" "$PIP_CACHE_DIR" "$UV_CACHE_DIR" "$CARGO_HOME" "$CCACHE_DIR" "$XDG_CACHE_HOME"; do
	mkdir -p "$dir" && echo x >"$dir/planted" || exit
done
for dir in ~ ~/.cache ~/go ~/.npm ~/.holdfast/caches /dev/shm/caches/..; do mkdir -p "$dir" 2>/dev/null; echo x 2>/dev/null >"$dir/planted"; done
true`
	work(t, func(d *workEnv) {
		d.write("other/file", "")
		d.exec("--", "/bin/sh", "-c", plant)
		if got := d.good("find /dev/shm/caches -name planted | wc -l"); got != "8\n" {
			t.Errorf("the next command of the project sees %s", got)
		}
		if got := d.good("find /dev/shm ~ -name planted 2>/dev/null; ls ~/.holdfast/caches 2>/dev/null; true", "--cwd", filepath.Join(d.dir, "other")); got != "" {
			t.Errorf("another project sees %s", got)
		}
		var found int
		err := filepath.WalkDir(d.base, func(p string, e os.DirEntry, err error) error {
			if err == nil && e.Name() == "planted" {
				found++
				if !strings.HasPrefix(p, filepath.Join(d.base, "home", ".holdfast", "caches", "work-")) {
					t.Errorf("the user has %s", p)
				}
			}
			return err
		})
		if err != nil || found != 8 {
			t.Errorf("%d files are found: %v", found, err)
		}
	})
}

// TestWorkStores checks that commands see their own pnpm store in the place of the user's, even after they
// replaced it by a link.
func TestWorkStores(t *testing.T) {
	work(t, func(d *workEnv) {
		store := d.base + "/home/.local/share/pnpm/store"
		d.write("../home/.local/share/pnpm/store/mine", "mine")
		d.write("other/file", "")
		d.good(`test "$pnpm_config_store_dir" = ` + store + ` && test ! -e ~/.local/share/pnpm/store/mine && mkdir ~/.local/share/pnpm/store/v10`)
		d.good(`cd ~/.local/share/pnpm/store && test -d v10 && echo x >planted && test planted -ef /dev/shm/caches/pnpm-store/planted && ! touch ../x 2>/dev/null`)
		if got := d.good("ls ~/.local/share/pnpm/store", "--cwd", d.dir+"/other"); got != "" {
			t.Errorf("another project sees %s", got)
		}
		d.good("rm -r /dev/shm/caches/pnpm-store && ln -s " + d.base + "/home /dev/shm/caches/pnpm-store")
		d.good("touch ~/.local/share/pnpm/store/planted")
		for _, name := range []string{store + "/planted", store + "/v10", d.base + "/home/planted"} {
			if _, err := os.Lstat(name); err == nil {
				t.Errorf("the person has %s", name)
			}
		}
	})
}

// TestWorkGo builds this project with a read-only module cache and a given build cache, and a small module
// with its own cache.
func TestWorkGo(t *testing.T) {
	work(t, func(d *workEnv) {
		if d.who.uid == 0 && testing.Short() {
			d.t.Skip("compiles the runtime once more: make test-all")
		}
		d.need("go", "golang")
		d.write("go.mod", "module example.test/m\n\ngo 1.26\n")
		d.write("main.go", "package main\n\nfunc main() { println(\"built\") }\n")
		d.good("GOCACHE=$PWD/cache go build -o m . && ./m 2>&1")
		if d.who.uid != 0 {
			return // another user cannot read root's cache
		}
		root, err := filepath.Abs("..")
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(root, "/tmp/") { // which is private to commands
			if err := os.CopyFS(d.dir+"/project", os.DirFS(root)); err != nil {
				t.Fatal(err)
			}
			root = d.dir + "/project"
		}
		cache, modules := goEnv(t, "GOCACHE"), goEnv(t, "GOMODCACHE")
		if testneed.UnderTmp(cache) || testneed.UnderTmp(modules) {
			t.Logf("not built with the caches %s and %s: commands have a /tmp of their own", cache, modules)
			return
		}
		account, err := osuser.Current()
		if err != nil {
			t.Fatal(err)
		}
		d.env = append(d.env, "HOME="+account.HomeDir) // the folder of the caches; other homes are hidden
		d.good(fmt.Sprintf("! touch %[1]s/x 2>/dev/null && export GOPROXY=off CGO_ENABLED=0 GOFLAGS='-buildvcs=false -trimpath' GOCACHE=%[2]s GOMODCACHE=%[1]s && "+
			"go build -C %[3]s -o $PWD/built ./cmd/holdfast && ./built version", modules, cache, root),
			"--settings", fmt.Sprintf(`{"additionalWritePaths":[%q]}`, cache))
	})
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
