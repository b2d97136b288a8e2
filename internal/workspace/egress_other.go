//go:build !linux

package workspace

import (
	"errors"
	"net"
	"os"
)

type listener = net.Listener

// listenIn is not possible here: the engine is in a machine of its own, and sockets do
// not reach into it.
func listenIn(*os.Root, string) (listener, error) {
	return nil, &Error{Op: "listen", Err: errors.ErrUnsupported, Detail: "the engine is in a machine of its own, where the proxy is not reached", Advice: `set "network": {"mode": "none"}`}
}
