//go:build unix

package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Measure measures what is below name, one component, in an open folder. It opens only folders.
// Changes during the measurement may or may not be counted. It returns the context's error, or an
// error if name itself is not a folder that can be read. It accepts a mount point as name.
func Measure(ctx context.Context, parent *os.File, name string, o *Options) (Size, error) {
	m := &meter{seen: map[inode]bool{}}
	if o != nil {
		m.unlock, m.maxBytes = o.Unlock, o.MaxBytes
	}
	enough, stop := context.WithCancel(ctx)
	defer stop()
	m.stop = stop
	dir := int(parent.Fd())
	top, err := openFolder(dir, name)
	if errors.Is(err, fs.ErrPermission) && m.locked(dir, name) {
		top, err = openFolder(dir, name)
	}
	if err != nil {
		return Size{}, &fs.PathError{Op: "measure", Path: quote(name), Err: err}
	}
	if err = walk(enough, top, m); enough.Err() != nil && ctx.Err() == nil {
		err = nil
	}
	return m.size, errors.Join(err, top.Close())
}

// meter adds up what a walk visits.
type meter struct {
	size     Size
	seen     map[inode]bool // files with several names
	unlock   bool
	maxBytes int64
	stop     func() // ends the walk
}

type inode struct{ dev, ino uint64 }

func (m *meter) entry(dir int, name string) (folder bool, err error) {
	st, err := lstat(dir, name)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	folder = st.Mode&unix.S_IFMT == unix.S_IFDIR
	if folder {
		m.size.Folders++
	} else {
		if st.Nlink > 1 {
			id := inode{uint64(st.Dev), st.Ino} //nolint:unconvert // other systems have another type
			if m.seen[id] {
				return false, nil
			}
			m.seen[id] = true
		}
		m.size.Files++
	}
	if m.size.Bytes += max(512*st.Blocks, MinBytes); m.maxBytes > 0 && m.size.Bytes > m.maxBytes {
		m.stop()
	}
	return folder, nil
}

func (m *meter) locked(dir int, name string) bool {
	if !m.unlock {
		return false
	}
	st, err := lstat(dir, name)
	return err == nil && unlock(dir, name, uint32(st.Mode)&0o777|0o500) == nil //nolint:unconvert // other systems have another type
}

func (m *meter) entered(dir int) {
	var st unix.Stat_t
	if m.unlock && unix.Fstat(dir, &st) == nil && st.Mode&0o500 != 0o500 {
		_ = unix.Fchmod(dir, uint32(st.Mode)&0o777|0o500) //nolint:unconvert // other systems have another type
	}
}

func (m *meter) exitDir(int, string) error { return nil }

func (m *meter) failed(_ string, err error) {
	if errors.Is(err, ErrMounted) {
		m.size.Mounted++
	} else {
		m.size.Unreadable++
	}
}
