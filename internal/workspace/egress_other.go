//go:build !linux

package workspace

import (
	"errors"
	"net"
	"os"
)

type listener = net.Listener

// listenIn is not possible on this system: the engine runs in a virtual machine, and host sockets do not reach
// into it.
func listenIn(*os.Root, string) (listener, error) {
	return nil, &Error{Op: "listen", Err: errors.ErrUnsupported, Detail: "the engine runs in a virtual machine, which cannot reach the proxy", Advice: `set "network": {"mode": "none"}`}
}
