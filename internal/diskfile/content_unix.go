//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package diskfile

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// HasContent reports whether a file is exactly in the state in which [WriteUnsynced] would leave
// it: with this content, this mode and only this name. If another user can change the folder, that
// user can still not make the function block or read a different file.
func HasContent(path string, text []byte) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode != unix.S_IFREG|0o600 || st.Nlink != 1 || st.Size != int64(len(text)) {
		return false
	}
	b := make([]byte, len(text)+1)
	n, err := io.ReadFull(f, b)
	return n == len(text) && err != nil && string(b[:n]) == string(text)
}
