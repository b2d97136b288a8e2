//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package redis

import "net"

// alive cannot be told here: a connection that is lost is found when it is used.
func alive(net.Conn) bool { return true }
