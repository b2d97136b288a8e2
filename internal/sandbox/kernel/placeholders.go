//go:build linux && (amd64 || arm64)

package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// placeholderTTL is how long placeholders stay after the last command. To recreate them for each of
// many short commands would take longer than the commands.
const placeholderTTL = time.Second

// placeholders prevents the creation of names. While commands run, each name is occupied by a
// placeholder file, which a read-only mount covers. Sandboxes with the same folder share the
// placeholders, coordinated by a lock on the folder.
type placeholders struct {
	names []Name

	mu       sync.Mutex
	existing map[string]bool // the name existed before a command started, so it is not blocked
	users    int
	locks    map[string]*os.File // by folder
	timer    *time.Timer
}

// A placeholder is a socket that no program can open. Programs that read folders, including git, skip
// sockets, and a socket costs almost nothing to create and remove.
const placeholder = os.ModeSocket

// dotMode is the mode of a placeholder that contains ".".
const dotMode = 0o440

// IsPlaceholder reports whether a name is only a placeholder of a sandbox that runs or was killed,
// so that no program has created a file with that name.
func IsPlaceholder(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && IsPlaceholderFile(name, info)
}

// IsPlaceholderFile is [IsPlaceholder] for a caller that has the result of [os.Lstat] for the name.
func IsPlaceholderFile(name string, info os.FileInfo) bool {
	if info.Mode() == dotMode && info.Size() == 1 {
		b, err := os.ReadFile(name)
		return err == nil && string(b) == "."
	}
	return info.Mode() == placeholder
}

// isPlaceholderAt is IsPlaceholder for a name in an open folder.
func isPlaceholderAt(folder *os.File, base string) bool {
	return IsPlaceholder(procFD(folder) + "/" + base)
}

func procFD(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// sweep removes a placeholder that no sandbox uses any more, left by a sandbox that was killed or by an
// earlier version. It reports whether the name is free.
func (f *watchedFolder) sweep(base string) bool {
	if !isPlaceholderAt(f.folder, base) {
		return false
	}
	lock, err := os.Open(procFD(f.folder))
	if err != nil {
		return false
	}
	defer lock.Close()
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return true // another process holds the lock for a short time
	}
	return unix.Unlinkat(int(f.folder.Fd()), base, 0) == nil
}

// add ensures that each name exists or has a placeholder.
func (b *placeholders) add() error {
	if len(b.names) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.existing == nil {
		b.existing, b.locks = map[string]bool{}, map[string]*os.File{}
	}
	locked := ""
	for _, n := range b.names {
		dir := filepath.Dir(n.Path)
		var err error
		if dir != locked { // names in the same folder are next to each other
			err = b.lock(dir)
		}
		if err == nil {
			locked = dir
			b.existing[n.Path], err = claimName(n)
		}
		if err != nil {
			if b.users == 0 {
				b.sweep()
			}
			return &StartError{"block the creation of " + n.Path, err}
		}
	}
	b.users++
	return nil
}

// lock opens and locks the folder at a path.
func (b *placeholders) lock(dir string) error {
	if f := b.locks[dir]; f != nil {
		if diskfile.IsSameFile(f, dir) {
			return nil
		}
		f.Close()
		delete(b.locks, dir)
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil {
		f.Close()
		return err
	}
	b.locks[dir] = f
	return nil
}

// claimName creates a placeholder for a free name, and reports whether another program has created
// the name first.
func claimName(n Name) (external bool, err error) {
	if info, err := os.Lstat(n.Path); err == nil {
		if info.Mode()&os.ModeSymlink != 0 {
			return false, errors.New("it is now a symbolic link")
		}
		return !IsPlaceholderFile(n.Path, info), nil
	}
	if n.Dot {
		err = createDotPlaceholder(n.Path)
	} else {
		err = unix.Mknod(n.Path, unix.S_IFSOCK, 0)
	}
	if errors.Is(err, unix.EEXIST) { // another sandbox was faster
		return claimName(n)
	}
	if err != nil {
		return false, fmt.Errorf("create a placeholder: %w", err)
	}
	return false, nil
}

// createDotPlaceholder creates the file atomically: git fails if it finds the file empty.
func createDotPlaceholder(name string) error {
	f, err := os.OpenFile(filepath.Dir(name), os.O_WRONLY|unix.O_TMPFILE, dotMode)
	if err != nil {
		return createDotPlaceholderByRename(name)
	}
	_, err = f.WriteString(".")
	if err = errors.Join(err, f.Chmod(dotMode)); err == nil {
		err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	}
	return errors.Join(err, f.Close())
}

// createDotPlaceholderByRename is createDotPlaceholder for file systems without unnamed files (O_TMPFILE).
func createDotPlaceholderByRename(name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(".")
	if err = errors.Join(err, f.Chmod(dotMode), f.Close()); err == nil {
		err = os.Link(f.Name(), name)
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// done records that a command has ended. It returns the names that were created although they were
// blocked. This is possible if another program removes a placeholder.
func (b *placeholders) done() (appeared []string) {
	if len(b.names) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.names {
		if info, err := os.Lstat(n.Path); err == nil && !b.existing[n.Path] && !IsPlaceholderFile(n.Path, info) {
			appeared = append(appeared, n.Path)
		}
	}
	b.users--
	if b.users > 0 {
		return appeared
	}
	if b.timer == nil {
		b.timer = time.AfterFunc(placeholderTTL, b.idle)
	} else {
		b.timer.Reset(placeholderTTL)
	}
	return appeared
}

func (b *placeholders) idle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users == 0 {
		b.sweep()
	}
}

// remove removes the placeholders without waiting for placeholderTTL.
func (b *placeholders) remove() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Stop()
	}
	b.sweep()
}

// sweep removes the placeholders in folders that no other sandbox uses.
func (b *placeholders) sweep() {
	for _, n := range b.names {
		f := b.locks[filepath.Dir(n.Path)]
		if f == nil || unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			continue
		}
		if IsPlaceholder(n.Path) {
			_ = os.Remove(n.Path)
		}
	}
	for _, f := range b.locks {
		f.Close()
	}
	clear(b.locks)
}
