package workspace

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownerOf is the user whose folder it is, where users have numbers.
func ownerOf(dir *os.Root) (uid int, ok bool) {
	info, err := dir.Stat(".")
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// mayWrite reports whether a user of no further groups may make files in a folder. The
// folders above it do not matter: in a container they are not there.
func mayWrite(folder string, uid, gid int) (ok bool, err error) {
	fd, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if os.Geteuid() != 0 {
		return allowed(fd)
	}
	// What a thread is to the file system it is by itself. This one ends with its
	// goroutine, as nobody unlocks it.
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
			err = e
			return
		}
		if _, err = unix.SetfsgidRetGid(gid); err != nil {
			return
		}
		if _, err = unix.SetfsuidRetUid(uid); err != nil {
			return
		}
		ok, err = allowed(fd)
	}()
	<-done
	return ok, err
}

// allowed asks the kernel, with the rights that the thread has.
func allowed(fd int) (bool, error) {
	err := unix.Faccessat2(fd, "", unix.W_OK|unix.X_OK, unix.AT_EMPTY_PATH|unix.AT_EACCESS)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) {
		return false, nil
	}
	if errors.Is(err, unix.ENOSYS) {
		return true, nil // before Linux 5.8: the agent will say so itself
	}
	return err == nil, err
}
