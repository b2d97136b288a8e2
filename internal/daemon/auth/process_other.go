//go:build !linux

package auth

import (
	"net/netip"
)

// hasSocket is not supported here.
func (processTree) hasSocket(_, _ netip.AddrPort) bool { return false }
