package tree

import "golang.org/x/sys/unix"

func mknod(path string, dev uint64) error {
	return unix.Mknod(path, unix.S_IFCHR|0o666, int(dev))
}
