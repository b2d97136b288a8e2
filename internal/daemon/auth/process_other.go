//go:build !linux

package auth

import (
	"net/netip"
)

// hasSocket is not known here.
func (tree) hasSocket(_, _ netip.AddrPort) bool { return false }
