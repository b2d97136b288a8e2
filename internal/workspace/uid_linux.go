package workspace

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownerOf returns the owner of a folder, on systems with user ids.
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

// mayWrite reports whether a user without supplementary groups may create files in a folder. It ignores the parent
// folders: they do not exist in a container.
func mayWrite(folder string, uid, gid int) (ok bool, err error) {
	fd, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if os.Geteuid() != 0 {
		return allowed(fd)
	}
	// File system credentials are per thread. This thread ends with its goroutine, because the goroutine does not
	// unlock it.
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

// allowed asks the kernel, with the credentials of the thread.
func allowed(fd int) (bool, error) {
	err := unix.Faccessat2(fd, "", unix.W_OK|unix.X_OK, unix.AT_EMPTY_PATH|unix.AT_EACCESS)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) {
		return false, nil
	}
	if errors.Is(err, unix.ENOSYS) {
		return true, nil // before Linux 5.8: the agent will report it
	}
	return err == nil, err
}
