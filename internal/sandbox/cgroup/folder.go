//go:build linux

package cgroup

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// folder is a group in one hierarchy. Its path includes the system's root.
type folder struct {
	*place
	sys  *system
	path string

	lock  *os.File // the open folder, which holds the lock
	procs *os.File // the folder's cgroup.procs, open for writing
}

// namePattern matches the names of this package's folders.
var namePattern = lazyregexp.Must(`^holdfast-[0-9]+-[0-9a-f]{12}$`)

func newName() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "holdfast-" + strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(b[:])
}

// errInUse means that the sweep of another process removed the folder before this process had
// locked it.
var errInUse = errors.New("the new control group was removed as unused")

// make creates a folder and locks it.
func (s *system) make(p *place) (*folder, error) {
	err := errInUse
	for range 10 {
		f := &folder{place: p, sys: s, path: s.root + path.Join(p.dir, newName())}
		if err := s.mkdir(f.path); err != nil {
			return nil, fmt.Errorf("create control group: %w", err)
		}
		if f.lock, err = lock(f.path); err == nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("create control group in %s: %w", p.dir, err)
}

// lock opens and locks a folder. It fails if another process holds the lock, or if the folder is gone.
func lock(dir string) (*os.File, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	opened, err := d.Stat()
	if err == nil {
		var named fs.FileInfo
		if named, err = os.Lstat(dir); err == nil && !os.SameFile(opened, named) {
			err = errInUse
		}
	}
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// sweep removes the groups in a place whose creators have ended, and kills the processes in them. A
// group that cannot be removed stays until the next sweep.
func (s *system) sweep(p *place) {
	entries, _ := os.ReadDir(s.root + p.dir)
	for _, e := range entries {
		if !e.IsDir() || !namePattern().MatchString(e.Name()) {
			continue
		}
		f := &folder{place: p, sys: s, path: s.root + path.Join(p.dir, e.Name())}
		l, err := lock(f.path)
		if err != nil {
			continue // the group is in use, or this process may not remove it
		}
		if f.kill(time.Now().Add(sweepTime)) == nil {
			_ = f.remove(time.Now().Add(sweepTime))
		}
		_ = l.Close()
	}
}

// These say how long to wait for the kernel to end processes and to release folders.
const (
	sweepTime = time.Second
	closeTime = 10 * time.Second
	tick      = time.Millisecond
)

func (f *folder) write(name, value string) error {
	return write(filepath.Join(f.path, name), value)
}

func write(file, value string) error {
	w, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = w.WriteString(value)
	return errors.Join(err, w.Close())
}

func (f *folder) has(name string) bool {
	_, err := os.Stat(filepath.Join(f.path, name))
	return err == nil
}

// number returns the number in a file: the whole content if key is "", else the number after key on
// its line. A missing file or line is 0.
func (f *folder) number(name, key string) int64 {
	b, err := os.ReadFile(filepath.Join(f.path, name))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		w := strings.Fields(line)
		if key != "" {
			if len(w) != 2 || w[0] != key {
				continue
			}
			w = w[1:]
		}
		if len(w) == 1 {
			n, _ := strconv.ParseInt(w[0], 10, 64)
			return n
		}
	}
	return 0
}

// folders returns the folder and those in it, the deepest first.
func (f *folder) folders() []string {
	var out []string
	_ = filepath.WalkDir(f.path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			out = append(out, p)
		}
		return nil
	})
	slices.Reverse(out)
	return out
}

// remove removes the folder and those in it. The kernel refuses this for a short time after the last process
// has ended.
func (f *folder) remove(deadline time.Time) error {
	for {
		var err error
		for _, dir := range f.folders() {
			if err = f.sys.rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				break
			}
			err = nil
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("remove control group %s: %w", f.path, err)
		}
		time.Sleep(tick) // the kernel does not notify when the last process has left
	}
}
