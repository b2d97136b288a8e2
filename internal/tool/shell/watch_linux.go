package shell

import (
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// watcher waits for output and for the end of a process in one thread, by polling the pipe and the
// process's descriptor. For a short command, this is nearly as fast as starting the process alone.
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

// copy copies the output until the shell itself has ended or its time limit is reached. It then
// kills the processes that the shell left behind, and reports whether there were any. It reads what
// the pipe contains at that time. It does not wait until another process closes the pipe.
func (w *watcher) copy(cmd *exec.Cmd, pipe *os.File, k *killer, limit time.Duration, take func([]byte)) bool {
	r := &reader{fd: int(pipe.Fd()), buf: make([]byte, 32<<10), take: take}
	if w.pidfd < 0 { // with an old kernel, only the pipe is watched
		timer := time.AfterFunc(limit, func() { k.stop(byTimeout) })
		defer timer.Stop()
		for r.read() {
		}
	} else {
		w.wait(r, k, time.Now().Add(limit))
		defer unix.Close(w.pidfd)
	}
	_ = cmd.Wait() // the exit state has the result
	left := k.finish()
	r.rest()
	return left
}

// wait reads until the process has ended. It stops the process when its time limit is reached.
func (w *watcher) wait(r *reader, k *killer, deadline time.Time) {
	fds := []unix.PollFd{{Fd: int32(w.pidfd), Events: unix.POLLIN}, {Fd: int32(r.fd), Events: unix.POLLIN}}
	for {
		left := -1 // milliseconds; stopped is stopped
		if k.why.Load() == 0 {
			left = int(max(time.Until(deadline)+time.Millisecond-1, 0) / time.Millisecond)
		}
		n, err := unix.Poll(fds, left)
		switch {
		case err == unix.EINTR:
		case err != nil, fds[0].Revents != 0:
			return
		case n == 0:
			k.stop(byTimeout)
		case !r.read():
			fds = fds[:1] // no process has the pipe open for writing
		}
	}
}

// reader reads a pipe that is known to have data or to be closed.
type reader struct {
	fd   int
	buf  []byte
	take func([]byte)
	end  bool
}

func (r *reader) read() bool {
	n, err := unix.Read(r.fd, r.buf)
	if n > 0 {
		r.take(r.buf[:n])
	}
	r.end = n <= 0 && err != unix.EINTR
	return !r.end
}

// rest reads the data that is already in the pipe.
func (r *reader) rest() {
	fds := []unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN}}
	for limit := 1 << 20; !r.end && limit > 0; limit -= len(r.buf) { // do not wait for a writer that escaped
		n, err := unix.Poll(fds, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		r.read()
	}
}
