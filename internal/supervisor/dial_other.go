//go:build !linux

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// dial connects to a socket. It checks the path first, because this system has no handles for
// sockets.
func dial(ctx context.Context, path string) (*net.UnixConn, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s is not a socket", path)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil //nolint:forcetypeassert // of that network
}

func credentials(*net.UnixConn) (pid, uid int, err error) { return 0, 0, errors.ErrUnsupported }
