//go:build linux

package escape

import (
	"os"

	"golang.org/x/sys/unix"
)

// streams try to use a file that the caller passed as a standard stream for more than it was opened for. They
// receive a pipe, which they may change in any way.
var streams = []attempt{
	{id: "Q01", what: "change the mode of the file that is standard input", stdin: true, private: true, try: func(*outside) error { return unix.Fchmod(0, 0o777) }},
	{id: "Q02", what: "write to the file that is standard input, by /proc", stdin: true, private: true, try: func(*outside) error {
		return os.WriteFile("/proc/self/fd/0", []byte("x"), 0)
	}},
	{id: "Q03", what: "change the times of the file that is standard input", stdin: true, private: true, try: func(*outside) error {
		return unix.Futimes(0, []unix.Timeval{{Sec: 1}, {Sec: 1}})
	}},
	{id: "Q04", what: "set an attribute of the file that is standard input", stdin: true, try: func(*outside) error {
		return unix.Fsetxattr(0, "user.pwn", []byte("x"), 0)
	}},
	{id: "Q05", what: "set a flag of the file that is standard input (chattr)", stdin: true, try: func(*outside) error {
		return unix.IoctlSetPointerInt(0, unix.FS_IOC_SETFLAGS, 0x80|0x80000)
	}},
	{id: "Q06", what: "change the mode of standard input by its name in /proc", stdin: true, private: true, try: func(*outside) error {
		return unix.Chmod("/proc/self/fd/0", 0o777)
	}},
	{id: "Q07", what: "give the file that is standard input another name", stdin: true, try: func(p *outside) error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/0", unix.AT_FDCWD, p.WS+"/l", unix.AT_SYMLINK_FOLLOW)
	}},
	{id: "Q08", what: "empty the file that is standard input", stdin: true, try: func(*outside) error { return unix.Truncate("/proc/self/fd/0", 0) }},
	{id: "Q09", what: "change the mode of the file that is standard output", stdout: true, private: true, try: func(*outside) error { return unix.Fchmod(1, 0o777) }},
	{id: "Q10", what: "overwrite what the file that is standard output held before", stdout: true, try: func(*outside) error {
		if _, err := unix.FcntlInt(1, unix.F_SETFL, 0); err != nil { // without O_APPEND
			return err
		}
		if _, err := unix.Pwrite(1, []byte("x"), 0); err != nil {
			os.Exit(1) // a message about it would go to the file
		}
		return nil
	}},
}
