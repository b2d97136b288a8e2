//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const supported = true

// openFlags keep an open from following a link, waiting for a pipe's other end or leaking the
// descriptor into a child process.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// fileStamp identifies a file and its state.
type fileStamp struct {
	Ino   uint64 `json:"ino"`
	Size  int64  `json:"size"`
	Mtime int64  `json:"mtime_ns"`
}

// statFile returns a file's stamp and its number of names (hard links).
func statFile(f *os.File) (fileStamp, uint64, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstat(int(f.Fd()), &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return stampOf(&st), uint64(st.Nlink), err
	}
}

// statAt returns the stamp of a file without opening it. It follows links, so use it only to
// compare.
func statAt(root *os.File, path string) (fileStamp, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(root.Fd()), path, &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return stampOf(&st), err
	}
}

func stampOf(st *unix.Stat_t) fileStamp {
	return fileStamp{Ino: uint64(st.Ino), Size: st.Size, Mtime: st.Mtim.Nano()}
}
