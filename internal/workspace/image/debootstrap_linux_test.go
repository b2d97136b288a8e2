package image

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
	"golang.org/x/sys/unix"
)

// debootstrap stands in for the program: it creates a small system with files that an image must not contain,
// fails as debootstrap does, or mounts something, leaves a process running and never ends.
const debootstrap = `#!/bin/sh
root=$5
[ "$1 $2 $4" = "--variant=minbase --force-check-gpg bookworm" ] || { echo "E: called as $*"; exit 2; }
mkdir -p "$root/etc" "$root/usr/bin" "$root/dev" "$root/var/log" "$root/tmp"
chmod 1777 "$root/tmp"
case $6 in
*/fails) echo "W: a warning"; echo "I: nothing"; echo "E: Failed getting release file" >&2; exit 1 ;;
*/hangs)
  mount -t tmpfs tmpfs "$root/dev"
  (trap '' TERM HUP; sleep 600 & echo $! >"$root/pid"; wait) &
  sleep 600 ;;
esac
echo "I: Retrieving $3"
echo one >"$root/usr/bin/one"; chmod 4755 "$root/usr/bin/one"
ln "$root/usr/bin/one" "$root/usr/bin/same"
ln -s one "$root/usr/bin/link"
chown 5:6 "$root/usr/bin/link" -h
mknod "$root/dev/null" c 1 3
mkfifo "$root/etc/fifo"
echo "nameserver of this machine" >"$root/etc/resolv.conf"
echo "1" >"$root/etc/machine-id"
echo "what" >"$root/var/log/dpkg.log"
`

// bootstrap is a build that creates its base from a mirror.
func bootstrap(t *testing.T, mirror string) *build {
	t.Helper()
	testneed.Root(t, "debootstrap")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "debootstrap"), []byte(debootstrap), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return &build{
		arch: runtime.GOARCH, spec: Spec{Variant: Debian, Tag: "a:1", Suite: "bookworm", Mirror: mirror},
		lock: &buildLock{dir: t.TempDir()}, progress: func(Progress) {},
	}
}

func TestDebootstrap(t *testing.T) {
	b := bootstrap(t, "http://mirror.test/good")
	var h progressLog
	b.progress = h.report
	files, err := b.debootstrap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	go func() { _ = in.CloseWithError(files.write(in, true)) }()
	want := `5 755 0:0 dev/
5 755 0:0 etc/
5 1777 0:0 tmp/
5 755 0:0 usr/
5 755 0:0 usr/bin/
2 777 5:6 usr/bin/link -> one
0 755 0:0 usr/bin/one "one\n"
1 755 0:0 usr/bin/same -> usr/bin/one
5 755 0:0 var/
5 755 0:0 var/log/
`
	if got := lines(t, out); got != want {
		t.Errorf("%s", got)
	}
	if p := h.last(); p.Stage != Base || p.Text != "I: Retrieving --include="+strings.Join(packages, ",") {
		t.Errorf("%+v", h.all)
	}
}

func TestDebootstrapFails(t *testing.T) {
	b := bootstrap(t, "http://mirror.test/fails")
	_, err := b.debootstrap(t.Context())
	if f, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNoBase) || !strings.Contains(err.Error(), "W: a warning; E: Failed getting release file") || !strings.Contains(f.Hint(), "--base debian:bookworm-slim") {
		t.Errorf("%v", err)
	}
	b.arch = "other"
	if _, err := b.debootstrap(t.Context()); !errors.Is(err, ErrNoBase) {
		t.Errorf("%v", err)
	}
}

// Canceling a build ends everything that debootstrap has started and mounted, so that its folder can be
// removed.
func TestDebootstrapCanceled(t *testing.T) {
	b := bootstrap(t, "http://mirror.test/hangs")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pid := filepath.Join(b.lock.dir, "root", "pid")
	go func() {
		for ctx.Err() == nil {
			if text, err := os.ReadFile(pid); err == nil && len(text) > 0 {
				cancel()
			}
			runtime.Gosched()
		}
	}()
	if _, err := b.debootstrap(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), b.lock.dir) {
		t.Errorf("%v: something is mounted below %s", err, b.lock.dir)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), b.lock.dir) { // some end meanwhile
			t.Errorf("%s runs: %q", name, text)
		}
	}
	if err := unix.Rmdir(filepath.Join(b.lock.dir, "root", "dev")); err != nil {
		t.Errorf("the folder that was mounted over: %v", err)
	}
}

// TestDebootstrapReal runs the real program, which takes minutes and uses a mirror of Debian.
func TestDebootstrapReal(t *testing.T) {
	if os.Getenv("HOLDFAST_TEST_DEBOOTSTRAP") == "" {
		t.Skip("it takes minutes and a mirror of Debian: HOLDFAST_TEST_DEBOOTSTRAP=1 makes this run")
	}
	e := testEngine(t)
	s := specOf(t, e, Debian)
	removeAtEnd(t, e, Bases+":bookworm")
	id, err := Build(t.Context(), e, s, func(p Progress) { t.Log(p) })
	if err != nil {
		t.Fatal(err)
	}
	checkLeftovers(t, s.Folder)
	first := layers(t, id)
	out := start(t, e, engine.Spec{Image: id, Command: []string{"/bin/bash", "-c", "id -u; git --version; rg --version | head -n 1; ls -A /etc/resolv.conf; find / -xdev -perm /6000"}, User: "4711:4711", Dir: Work})
	t.Log(out, first)
	if !strings.HasPrefix(out, "4711\ngit version") || !strings.Contains(out, "ripgrep") {
		t.Errorf("%s", out)
	}
	img, err := Find(t.Context(), e, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(img.Size)
	var h progressLog
	s.Binary = modifiedCopy(t, s.Binary)
	if _, err := Build(t.Context(), e, s, h.report); err != nil || h.has(Base) {
		t.Errorf("the base is made again: %v", err)
	}
}
