//go:build !linux

package workspace

import (
	"errors"
	"net"
	"os"
)

type listener = net.Listener

// listenIn returns an error on this system, because the engine runs in a virtual machine and
// sockets of the host cannot be used in containers.
func listenIn(*os.Root, string) (listener, error) {
	return nil, &Error{Op: "listen", Err: errors.ErrUnsupported, Detail: "the engine runs in a virtual machine, which cannot reach the proxy", Advice: `set "network": {"mode": "none"}`}
}
