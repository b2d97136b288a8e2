package shell

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// watcher waits for output and for the end of a process at once, in one thread:
// poll on the pipe and on the process's descriptor. That is what keeps a short
// command nearly as cheap as the bare process.
type watcher struct{ pidfd int }

func openPipe() (pipe, sink *os.File, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	return os.NewFile(uintptr(p[0]), "output"), os.NewFile(uintptr(p[1]), "output"), nil
}

func newWatcher(cmd *exec.Cmd) *watcher {
	w := &watcher{pidfd: -1}
	cmd.SysProcAttr.PidFD = &w.pidfd
	return w
}

// copy hands on the output until the shell itself is done, kills what it left
// behind, and says whether there was anything. It takes what the pipe holds by
// then, but does not wait for another process to close it.
func (w *watcher) copy(cmd *exec.Cmd, pipe *os.File, k *killer, take func([]byte)) bool {
	fd := int(pipe.Fd())
	buf := make([]byte, 32<<10)
	more := func() bool {
		n, err := unix.Read(fd, buf)
		if n > 0 {
			take(buf[:n])
		}
		return n > 0 || err == unix.EINTR
	}
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(w.pidfd), Events: unix.POLLIN}}
	open := true
	for w.pidfd >= 0 { // an old kernel has none: then only the pipe tells
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		} else if err != nil {
			break
		}
		if fds[1].Revents != 0 {
			break
		}
		if open = more(); !open {
			break
		}
	}
	for w.pidfd < 0 && more() {
	}
	_ = cmd.Wait() // the state says it all
	left := k.finish()
	if w.pidfd >= 0 {
		unix.Close(w.pidfd)
	}
	for limit := 1 << 20; open && limit > 0; limit -= len(buf) { // a writer that escaped is not waited for
		ready, err := unix.Poll(fds[:1], 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil || ready == 0 {
			break
		}
		open = more()
	}
	return left
}
