//go:build unix

package hook

import "syscall"

func mkfifo(name string) error { return syscall.Mkfifo(name, 0o600) }
