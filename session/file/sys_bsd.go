//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package file

import "os"

func fdatasync(f *os.File) error { return f.Sync() }
