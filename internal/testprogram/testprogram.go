// Package testprogram provides the holdfast program of this source tree to tests that run it as a process. It
// is built once and shared by the tests of all packages.
//
//	go build ./cmd/holdfast ──► ~/.cache/holdfast-test/program/TREE/holdfast-DIGEST ──► Path
//
//	cmd := exec.Command(testprogram.Path(t), "version")
//
// The go command caches the result of such a test until a file of a package of the program changes, although
// it tracks only the imports of the test: the package reads the folders of the program for that purpose.
//
// The package is for tests only.
package testprogram

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// Variable names a program that was built before, to use instead of building one.
const Variable = "HOLDFAST_TEST_BINARY"

// The initial values of the process: a test may change its folder and its home folder.
var (
	startDir, startErr = os.Getwd()
	cacheDir, cacheErr = os.UserCacheDir()
	startEnv           = os.Environ()
)

var (
	native = sync.OnceValues(func() (string, error) { return build(runtime.GOOS) })
	linux  = sync.OnceValues(func() (string, error) { return build("linux") })
)

// Path returns the path of holdfast. The file does not change during the test. Tests may link and copy it,
// but must not change it.
func Path(t testing.TB) string {
	t.Helper()
	return path(t, native)
}

// Linux is [Path] for containers: on other systems it returns the program for Linux.
func Linux(t testing.TB) string {
	t.Helper()
	if runtime.GOOS == "linux" {
		return path(t, native)
	}
	return path(t, linux)
}

func path(t testing.TB, built func() (string, error)) string {
	t.Helper()
	if given := os.Getenv(Variable); given != "" {
		return given
	}
	if _, err := exec.LookPath("go"); err != nil {
		testneed.Need(t, "no go on the PATH: the program cannot be built")
	}
	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Copy copies the program to a file that other users may run.
func Copy(t testing.TB, file string) {
	t.Helper()
	b, err := os.ReadFile(Path(t))
	if err == nil {
		err = os.WriteFile(file, b, 0o755) //nolint:gosec // a program
	}
	if err != nil {
		t.Fatal(err)
	}
}

func build(system string) (string, error) {
	root, err := tree()
	if err := errors.Join(err, cacheErr); err != nil {
		return "", err
	}
	if err := trackFolders(root, system); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root + "\n" + system))
	dir := filepath.Join(cacheDir, "holdfast-test", "program", hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	for {
		if got, err := diskfile.TryLock(lock); err != nil {
			return "", err
		} else if got {
			break
		}
		time.Sleep(20 * time.Millisecond) // until the other process has built it
	}
	out := filepath.Join(dir, "holdfast") // go does not rewrite it if nothing has changed
	if _, err := run(root, system, "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", out, "./cmd/holdfast"); err != nil {
		return "", err
	}
	sha, err := digest(out)
	if err != nil {
		return "", err
	}
	program := out + "-" + sha
	if err := os.Link(out, program); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	removeOld(out+"-*", program)
	return program, nil
}

// trackFolders reads the folders of the program's packages, so that the go command notices changes of them.
func trackFolders(root, system string) error {
	dirs, err := run(root, system, "list", "-deps", "-f", "{{.Dir}}", "./cmd/holdfast")
	if err != nil {
		return err
	}
	for dir := range strings.Lines(dirs) {
		dir = strings.TrimSpace(dir)
		if !strings.HasPrefix(dir, root+string(filepath.Separator)) {
			continue
		}
		if _, err := os.ReadDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func run(root, system string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = root, append(startEnv[:len(startEnv):len(startEnv)], "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+runtime.GOARCH)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return string(out), nil
}

// removeOld removes programs that no test uses any more: each build creates a new file.
func removeOld(pattern, program string) {
	old, _ := filepath.Glob(pattern) // the pattern is valid
	for _, f := range old {
		if st, err := os.Stat(f); err == nil && f != program && time.Since(st.ModTime()) > 2*time.Hour {
			_ = os.Remove(f) // the next build tries again
		}
	}
}

// tree returns the root folder of the program, above the test: a test may be in a nested module.
func tree() (string, error) {
	for dir, err := startDir, startErr; ; dir = filepath.Dir(dir) {
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(filepath.Join(dir, "cmd", "holdfast", "main.go")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no cmd/holdfast above the test")
		}
	}
}

// digest returns the start of a file's SHA-256.
func digest(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}
