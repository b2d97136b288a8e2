package supervisor

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Attach connects a pair of streams with the supervisor in the same container. An engine's exec runs it if the
// host cannot reach the socket. It returns when either side has ended. The process must then exit: a goroutine
// that still reads from a stream cannot be interrupted.
func Attach(ctx context.Context, o AttachOptions) error {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	socket := o.Socket
	if socket == "" {
		socket = Socket
	}
	conn, err := dial(ctx, socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	out, in := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := io.Copy(conn, o.Stdin)
		_ = conn.CloseWrite()
		in <- err
	}()
	go func() {
		_, err := io.Copy(o.Stdout, conn)
		out <- err
	}()
	done := make(chan struct{})
	defer close(done)
	select {
	case err := <-out: // the supervisor ended it
		return err
	case err := <-in: // the host ended it
		return err
	case err := <-onHangup(conn, done):
		// The supervisor ended it, and its last output may still be in transit; or the engine is gone and does not
		// read it.
		select {
		case err = <-out:
		case <-time.After(2 * time.Second):
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// onHangup reports when the other side has closed a connection, whether or not it is being read.
func onHangup(conn *net.UnixConn, stop chan struct{}) <-chan error {
	result := make(chan error, 1)
	raw, err := conn.SyscallConn()
	if err != nil {
		result <- err
		return result
	}
	go func() {
		for up := true; up; {
			if err := raw.Control(func(fd uintptr) {
				list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
				n, err := unix.Poll(list, 1000)
				up = n == 0 || errors.Is(err, unix.EINTR)
			}); err != nil {
				up = false
			}
			select {
			case <-stop:
				return
			default:
			}
		}
		result <- nil
	}()
	return result
}
