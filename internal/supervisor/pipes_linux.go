package supervisor

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// streamEnds are the supervisor's ends of a process's streams.
type streamEnds struct {
	stdin, stdout, stderr *os.File // with a terminal, stderr is nil and the other two are the same file
	channel               *os.File
	terminal              bool
}

// open creates the streams. It returns the process's ends: those of the three standard streams, and
// that of the channel.
func (e *streamEnds) open(o *order) (processEnds []*os.File, err error) {
	if o.Terminal != nil {
		slave, err := e.openTerminal(*o.Terminal)
		if err != nil {
			return nil, err
		}
		processEnds = append(processEnds, slave, slave, slave)
	} else {
		for _, p := range []struct {
			local **os.File
			reads bool // the supervisor reads from it
		}{{&e.stdin, false}, {&e.stdout, true}, {&e.stderr, true}} {
			var fds [2]int
			if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
				return processEnds, err
			}
			local, processEnd := fds[1], fds[0]
			if p.reads {
				local, processEnd = processEnd, local
			}
			processEnds = append(processEnds, os.NewFile(uintptr(processEnd), "stream"))
			*p.local = nonblocking(local)
		}
	}
	if o.Channel {
		local, processEnd, err := socketPair()
		if err != nil {
			return processEnds, err
		}
		e.channel, processEnds = local, append(processEnds, processEnd)
	}
	return processEnds, nil
}

func (e *streamEnds) openTerminal(s Size) (*os.File, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	e.stdin, e.terminal = nonblocking(fd), true
	e.stdout = e.stdin
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	e.resize(s)
	// It is not opened by its name, because the name may not exist in the container.
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return nil, errno
	}
	return os.NewFile(slave, "terminal"), nil
}

func (e *streamEnds) resize(s Size) {
	if !e.terminal {
		return
	}
	_ = control(e.stdin, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Cols})
	})
}

func (e *streamEnds) close() { closeAll([]*os.File{e.stdin, e.stdout, e.stderr, e.channel}) }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // harmless for nil and for closed files
	}
}

// nonblocking returns a file whose reads and writes end when it is closed.
func nonblocking(fd int) *os.File {
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "stream")
}

// socketPair creates a two-way stream: the supervisor's end and the process's.
func socketPair() (local, processEnds *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return nonblocking(fds[0]), os.NewFile(uintptr(fds[1]), "stream"), nil
}

// control calls do with a file's descriptor.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if e := raw.Control(func(fd uintptr) { err = do(int(fd)) }); e != nil {
		return e
	}
	return err
}

func shutWrite(f *os.File) error {
	return control(f, func(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) })
}

// feed passes the host's data to the process. If the process stops reading, the host is notified.
func (t *task) feed() {
	_, err := io.Copy(t.stdin, t.in)
	switch {
	case err != nil:
		t.in.drop()
	case t.terminal:
		const end = 4 // the byte of the end-of-file key
		_, _ = t.stdin.Write([]byte{end})
		return
	}
	if !t.terminal {
		_ = t.stdin.Close()
	}
}

// drain sends all data of a stream. When the host no longer takes the data, drain continues to read
// and discards it.
func drain(to *outbox, from io.Reader) {
	buf := make([]byte, maxData)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			_, _ = to.Write(buf[:n])
		}
		if err != nil { // a terminal ends with EIO
			_ = to.Close()
			return
		}
	}
}
