//go:build unix && !linux

package tree

import "golang.org/x/sys/unix"

func mknod(string, uint64) error { return unix.ENOTSUP }
