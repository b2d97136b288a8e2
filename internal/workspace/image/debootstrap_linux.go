package image

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// debootstrap builds a Debian system in the folder of the build, and returns the system's files.
func (b *build) debootstrap(ctx context.Context) (layer, error) {
	if os.Getuid() != 0 {
		return nil, b.noBase("debootstrap needs root")
	}
	if b.arch != runtime.GOARCH {
		return nil, b.noBase("debootstrap would make a Debian for " + runtime.GOARCH + ", the engine runs on " + b.arch)
	}
	path, err := lookSystem("debootstrap")
	if err != nil {
		return nil, b.noBase("debootstrap is missing (apt-get install debootstrap)")
	}
	root := filepath.Join(b.lock.dir, "root")
	mirror := b.spec.Mirror
	if mirror == "" {
		mirror = aptMirror(ctx, b.spec.Suite)
	}
	b.progress(Progress{Stage: Base, Text: "debootstrap builds Debian " + b.spec.Suite + " from " + mirror + " (takes some minutes)"})
	cmd := exec.CommandContext(ctx, path, "--variant=minbase", "--force-check-gpg", "--include="+strings.Join(packages, ","), b.spec.Suite, root, mirror)
	cmd.Dir = b.lock.dir
	cmd.Env = systemEnv()
	if why, err := b.watch(cmd); err != nil {
		if ctx.Err() != nil {
			return nil, &Error{Op: "build image", Name: b.spec.tags()[0], Err: ctx.Err()}
		}
		return nil, b.noBase(strings.TrimSpace("debootstrap: " + err.Error() + ": " + why))
	}
	return tree(root)
}

// watch runs a program in separate namespaces, so that its processes and mounts end with it or with
// this process. It reports the lines that the program prints, and returns the last warnings.
func (b *build) watch(cmd *exec.Cmd) (why string, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWPID, // when this program ends, all its processes end
		Unshareflags: syscall.CLONE_NEWNS,  // and the kernel removes their mounts
		Setpgid:      true,
		Pdeathsig:    syscall.SIGKILL,
	}
	runtime.LockOSThread() // the kernel sends the signal when this thread ends
	defer runtime.UnlockOSThread()
	out, in, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		return "", err
	}
	var last []string
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			b.progress(Progress{Stage: Base, Text: truncate.String(line, 500)})
			if strings.HasPrefix(line, "E: ") || strings.HasPrefix(line, "W: ") {
				last = append(last[max(0, len(last)-2):], line)
			}
		}
		if err != nil {
			break
		}
	}
	return strings.Join(last, "; "), cmd.Wait()
}

// lookSystem finds a program for administrators, whose folder is often missing in the PATH of
// users.
func lookSystem(name string) (string, error) {
	path, err := exec.LookPath(name)
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if err == nil {
			break
		}
		path, err = exec.LookPath(filepath.Join(dir, name))
	}
	return path, err
}

// systemEnv is the environment of debootstrap and apt. It contains nothing from the user's
// environment except the proxy.
func systemEnv() []string {
	env := []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=/root", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// aptMirror returns the mirror that apt uses for a suite of Debian, or Debian's main address.
func aptMirror(ctx context.Context, suite string) string {
	const debian = "http://deb.debian.org/debian"
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(RELEASE) $(COMPONENT) $(REPO_URI)", "Created-By: Packages")
	cmd.Env = systemEnv()
	out, err := cmd.Output()
	if err != nil {
		return debian
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 5 && f[0] == "Debian" && f[3] == "main" && (f[1] == suite || f[2] == suite) && mirrorPattern().MatchString(f[4]) {
			return strings.TrimSuffix(f[4], "/")
		}
	}
	return debian
}

// excludedFiles matches the files of a new Debian system that belong only to this machine or to one
// build: package lists, logs, the machine's identity, caches.
var excludedFiles = lazyregexp.Must(`^(dev|proc|sys|run|tmp|debootstrap)/.|^etc/(machine-id|hostname|resolv\.conf|(passwd|group|shadow|gshadow|subuid|subgid)-)\z|` +
	`^var/(lib/dbus/machine-id|cache/ldconfig/aux-cache|cache/apt/[^/]*\.bin|cache/debconf/.*-old|lib/dpkg/.*-old)\z|` +
	`^var/(lib/apt/lists|cache/apt/archives)/.|^var/log/.*\.log|\.pyc\z`)

// tree returns the files below a folder that no process writes any more. It drops set-user-id and set-group-id
// bits.
func tree(root string) (layer, error) {
	var out layer
	links := map[[2]uint64]string{} // by device and inode
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || excludedFiles().MatchString(name) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return errors.ErrUnsupported
		}
		f := file{name: name, mode: int64(st.Mode & 0o1777), uid: int(st.Uid), gid: int(st.Gid)}
		switch {
		case info.IsDir():
			f.typ = tar.TypeDir
		case info.Mode()&fs.ModeSymlink != 0:
			f.typ = tar.TypeSymlink
			f.link, err = os.Readlink(path)
		case info.Mode().IsRegular():
			f.typ, f.size = tar.TypeReg, info.Size()
			f.open = func() (io.ReadCloser, error) { return os.Open(path) }
			if first := links[[2]uint64{st.Dev, st.Ino}]; st.Nlink > 1 && first != "" {
				f.typ, f.link, f.size, f.open = tar.TypeLink, first, 0, nil
			}
			links[[2]uint64{st.Dev, st.Ino}] = name
		default:
			return nil // a device or a socket, which are not allowed in images
		}
		out = append(out, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the new Debian system: %w", err)
	}
	return out, nil
}
