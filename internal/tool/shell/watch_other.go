//go:build !linux

package shell

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

// watcher copies output while a second goroutine waits for the process.
type watcher struct{}

func openPipe() (pipe, sink *os.File, err error) { return os.Pipe() }

func newWatcher(*exec.Cmd) *watcher { return &watcher{} }

// copy copies the output until the shell itself has ended or its time limit is reached. It then
// kills the processes that the shell left behind, and reports whether there were any. It reads what
// the pipe contains at that time. It does not wait until another process closes the pipe.
func (*watcher) copy(cmd *exec.Cmd, pipe *os.File, k *killer, limit time.Duration, take func([]byte)) bool {
	timer := time.AfterFunc(limit, func() { k.stop(byTimeout) })
	defer timer.Stop()
	done := make(chan bool)
	go func() {
		_ = cmd.Wait() // the result is in the exit state
		left := k.finish()
		_ = pipe.SetReadDeadline(time.Unix(1, 0)) // wakes the reader
		done <- left
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := pipe.Read(buf)
		if n > 0 {
			take(buf[:n])
		}
		if err == nil {
			continue
		}
		left := <-done
		if errors.Is(err, os.ErrDeadlineExceeded) {
			rest(pipe, buf, take)
		}
		return left
	}
}

// rest reads the data that is already in the pipe.
func rest(pipe *os.File, buf []byte, take func([]byte)) {
	_ = pipe.SetReadDeadline(time.Time{})
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	limit := 1 << 20 // do not wait for a writer that escaped
	for n := 1; n > 0 && limit > 0; limit -= n {
		if err := raw.Read(func(fd uintptr) bool { n, _ = readNow(fd, buf); return true }); err != nil || n <= 0 {
			return
		}
		take(buf[:n])
	}
}
