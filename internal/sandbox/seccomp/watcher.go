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
	maxNames     = 64            // different refusals that are kept; the others are one
	others       = "other calls" // their name
	replyTimeout = 10_000        // refusals that are answered at once
	delay        = time.Millisecond

	notifySetFlags = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS
)

// Watcher hears which calls were refused under one filter, and refuses them. What writes it hears
// of and lets go on.
type Watcher struct {
	file  *os.File
	err   error // why it cannot listen
	done  chan struct{}
	wrote func(path string)

	request, response []uint64 // of the size that the kernel has for them
	name              []byte   // room for a path

	mu    sync.Mutex
	total int
	count map[string]int
}

// Watch listens on the descriptor that installing a filter with Options.Notify
// gave, and owns it from now on. With Options.Writes, wrote is called with the absolute path of
// each file that is about to be opened for writing and each folder that is about to be made,
// on the watcher's goroutine: meanwhile the caller waits. It may be nil. It ends when the last process of the filter has
// been waited for, or with Close. Where it cannot listen it has ended at once, and
// Close says why.
func Watch(fd *os.File, wrote func(path string)) *Watcher {
	w := &Watcher{done: make(chan struct{}), count: map[string]int{}, wrote: wrote, name: make([]byte, unix.PathMax)}
	err := w.wrapFD(fd)
	if err == nil {
		err = w.measure()
	}
	if err != nil {
		_ = w.file.Close() // nobody gets an answer from a descriptor that nobody reads
		w.err = fmt.Errorf("listen for refused calls: %w", err)
		close(w.done)
		return w
	}
	go w.run()
	return w
}

// Done waits until the watcher has ended and returns what was refused, the most
// frequent first. It is called after the processes were waited for, or after Close.
func (w *Watcher) Done() []Refusal {
	<-w.done
	return w.Refused()
}

// Refused returns what was refused so far.
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

// Close ends the watcher. Processes that are still there keep their filter: their
// refused calls then fail with ENOSYS and are told to nobody.
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

// measure makes room for what the kernel sends and takes.
func (w *Watcher) measure() error {
	var sizes struct{ request, response, data uint16 }
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&sizes)))
	if errno != 0 {
		return errno
	}
	room := func(kernel uint16, ours uintptr) []uint64 { return make([]uint64, (max(uintptr(kernel), ours)+7)/8) }
	w.request = room(sizes.request, unsafe.Sizeof(call{}))
	w.response = room(sizes.response, unsafe.Sizeof(reply{}))
	return nil
}

// wrapFD makes of a descriptor one that Go's poller waits for.
func (w *Watcher) wrapFD(fd *os.File) error {
	defer fd.Close()
	raw, err := fd.SyscallConn()
	if err != nil {
		return err
	}
	own := -1
	ctl := raw.Control(func(fd uintptr) { own, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(ctl, err); err != nil {
		return err
	}
	// Where the kernel can (6.6), who asks and who answers take turns on one processor: neither does anything without the other.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(own), notifySetFlags, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	if err := unix.SetNonblock(own, true); err != nil {
		return errors.Join(err, unix.Close(own))
	}
	w.file = os.NewFile(uintptr(own), "refused calls")
	return nil
}

// run answers until there is nobody left to answer. The descriptor is closed with
// it, so that no process waits for an answer for ever.
func (w *Watcher) run() {
	defer close(w.done)
	defer w.file.Close()
	raw, err := w.file.SyscallConn()
	if err != nil {
		return // it was closed
	}
	_ = raw.Read(func(fd uintptr) bool { return w.drain(int(fd)) })
}

// drain answers what waits, and says whether nothing will come any more.
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

// poll looks, without waiting, what a descriptor is ready for.
func poll(fd int) (int16, error) {
	for {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(p, 0); !errors.Is(err, unix.EINTR) {
			return p[0].Revents, err
		}
	}
}

// answer takes one call, notes it and refuses it. One that the filter tells of because it writes
// goes on: the filter, we and the kernel read the same registers, which nobody can change meanwhile. What
// they point to can be changed, and decides nothing. It says whether the descriptor is still good.
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

// note counts a call. A command that does nothing but be refused is slowed down:
// what it makes us work is not held by its limits.
func (w *Watcher) note(c *call) {
	w.mu.Lock()
	w.total++
	slow := w.total > replyTimeout
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
	if _, there := w.count[name]; !there && len(w.count) >= maxNames-1 {
		name = others
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
