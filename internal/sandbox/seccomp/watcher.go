//go:build linux && (amd64 || arm64)

package seccomp

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	maxNames         = 64            // maximum number of different refusals; all others are counted as one
	otherCalls       = "other calls" // the name under which they are counted
	maxPromptReplies = 10_000        // the number of refused calls that are answered without delay
	delay            = time.Millisecond

	notifySetFlags = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS
)

// Watcher refuses and records the calls that a filter reports. Reported writes are allowed to continue.
type Watcher struct {
	file  *os.File
	err   error // why it cannot listen
	done  chan struct{}
	wrote func(path string)

	request, response []uint64 // buffers of the sizes that the kernel requires
	name              []byte   // buffer for a path

	mu    sync.Mutex
	total int
	count map[string]int
}

// Watch handles the calls reported by a filter with Options.Notify; fd is the descriptor that the
// installation of the filter returned, and belongs to the watcher afterwards.
//
// With Options.Writes, wrote is called with the absolute path of each file that is about to be opened for
// writing, and of each folder that is about to be created. It runs on the watcher's goroutine while the
// caller of the system call waits. It may be nil.
//
// The watcher ends when the last process with the filter has been waited for, or when Close is
// called. If it cannot listen, it ends immediately, and Close returns the error.
func Watch(fd *os.File, wrote func(path string)) *Watcher {
	w := &Watcher{done: make(chan struct{}), count: map[string]int{}, wrote: wrote, name: make([]byte, unix.PathMax)}
	err := w.wrapFD(fd)
	if err == nil {
		err = w.allocate()
	}
	if err != nil {
		_ = w.file.Close() // once the descriptor is closed, calls fail and do not wait for an answer
		w.err = fmt.Errorf("listen for refused calls: %w", err)
		close(w.done)
		return w
	}
	go w.run()
	return w
}

// Done waits until the watcher has ended, and returns the refused calls, the most frequent first. Call it
// after all processes were waited for, or after Close.
func (w *Watcher) Done() []Refusal {
	<-w.done
	return w.Refused()
}

// Refused returns the calls refused so far.
func (w *Watcher) Refused() []Refusal {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]Refusal, 0, len(w.count))
	for name, n := range w.count {
		all = append(all, Refusal{Call: name, Count: n})
	}
	slices.SortFunc(all, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Call, b.Call))
	})
	return all
}

// Close ends the watcher. Remaining processes keep their filter: their refused calls then fail with ENOSYS
// and are not reported.
func (w *Watcher) Close() error {
	if w.err != nil {
		return w.err
	}
	err := w.file.Close()
	<-w.done
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// allocate allocates the buffers for the kernel's requests and the answers.
func (w *Watcher) allocate() error {
	var sizes struct{ request, response, data uint16 }
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&sizes)))
	if errno != 0 {
		return errno
	}
	buffer := func(kernel uint16, size uintptr) []uint64 { return make([]uint64, (max(uintptr(kernel), size)+7)/8) }
	w.request = buffer(sizes.request, unsafe.Sizeof(call{}))
	w.response = buffer(sizes.response, unsafe.Sizeof(reply{}))
	return nil
}

// wrapFD duplicates the descriptor as one that Go's poller can wait for.
func (w *Watcher) wrapFD(fd *os.File) error {
	defer fd.Close()
	raw, err := fd.SyscallConn()
	if err != nil {
		return err
	}
	dup := -1
	ctl := raw.Control(func(fd uintptr) { dup, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(ctl, err); err != nil {
		return err
	}
	// If the kernel supports it (6.6), the process and the watcher take turns on one processor, because each
	// waits for the other.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(dup), notifySetFlags, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	if err := unix.SetNonblock(dup, true); err != nil {
		return errors.Join(err, unix.Close(dup))
	}
	w.file = os.NewFile(uintptr(dup), "refused calls")
	return nil
}

// run answers calls until no process is left. It closes the descriptor at its end, so that no process waits
// forever for an answer.
func (w *Watcher) run() {
	defer close(w.done)
	defer w.file.Close()
	raw, err := w.file.SyscallConn()
	if err != nil {
		return // the watcher was closed
	}
	_ = raw.Read(func(fd uintptr) bool { return w.drain(int(fd)) })
}

// drain answers all waiting calls, and reports whether there will be no more.
func (w *Watcher) drain(fd int) bool {
	for {
		events, err := poll(fd)
		switch {
		case err != nil:
			return true
		case events&unix.POLLIN != 0:
			if !w.answer(fd) {
				return true
			}
		default:
			return events&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
		}
	}
}

// poll returns the events for which a descriptor is ready, without waiting.
func poll(fd int) (int16, error) {
	for {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(p, 0); !errors.Is(err, unix.EINTR) {
			return p[0].Revents, err
		}
	}
}

// answer receives one call, records it and refuses it. A call that was reported because it writes
// is allowed to continue. The filter, the watcher and the kernel read the same registers, which no
// process can change during the call. The memory to which they point can change, but no decision
// depends on it. answer reports whether the descriptor is still valid.
func (w *Watcher) answer(fd int) bool {
	clear(w.request)
	switch errno := control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&w.request[0])); errno {
	case 0:
	case unix.EINTR, unix.ENOENT: // its process was killed
		return true
	default:
		return false
	}
	c := (*call)(unsafe.Pointer(&w.request[0]))
	r := reply{id: c.id}
	if c.writes() {
		r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		if name := c.file(w.name); name != "" && w.wrote != nil {
			w.wrote(name)
		}
	} else {
		w.note(c)
		r.errno = c.errno()
	}
	*(*reply)(unsafe.Pointer(&w.response[0])) = r
	errno := control(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&w.response[0]))
	return errno == 0 || errno == unix.ENOENT
}

// note counts a call. A command that makes many refused calls is slowed down, because the command's limits do
// not cover the watcher's work.
func (w *Watcher) note(c *call) {
	w.mu.Lock()
	w.total++
	slow := w.total > maxPromptReplies
	w.mu.Unlock()
	if slow {
		time.Sleep(delay)
	}
	if c.looksUpNames() {
		return
	}
	name := c.name()
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, counted := w.count[name]; !counted && len(w.count) >= maxNames-1 {
		name = otherCalls
	}
	w.count[name]++
}

func control(fd int, request uint, arg unsafe.Pointer) unix.Errno {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg))
		if errno != unix.EINTR || request == unix.SECCOMP_IOCTL_NOTIF_RECV {
			return errno
		}
	}
}
