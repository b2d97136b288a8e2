//go:build unix

package containeragent

import (
	"io"
	"net"
	"os"
	"syscall"
)

// hostStream returns the connection to the host. Child processes do not inherit it.
func hostStream() (io.ReadWriteCloser, error) {
	syscall.CloseOnExec(hostFD)
	f, err := openStream(hostFD)
	if err != nil {
		return nil, err
	}
	c, err := net.FileConn(f)
	if err == nil {
		return c, f.Close()
	}
	if err := syscall.SetNonblock(hostFD, true); err != nil { // so that Close ends a blocked Read
		return nil, err
	}
	return os.NewFile(hostFD, "host"), nil
}
