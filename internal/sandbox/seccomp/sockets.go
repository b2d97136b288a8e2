//go:build linux && (amd64 || arm64)

package seccomp

import "golang.org/x/sys/unix"

// kindMask is the part of a socket's type that is not flags.
const kindMask = 0xf

// socketRules check the family, then the kind, then the protocol.
func socketRules(o *Options, set setter) {
	d := refuse
	d = equal(low(0), equal(low(2), allow, hideCall, unix.NETLINK_ROUTE), d, unix.AF_NETLINK)
	if o.Unix {
		d = equal(low(0), allow, d, unix.AF_UNIX)
	}
	if o.Inet {
		d = equal(low(0), inet(o.TCPOnly), d, unix.AF_INET, unix.AF_INET6)
	}
	set(d, unix.SYS_SOCKET)

	pair := allow
	if !o.Unix {
		// Each end of a datagram pair can send to any address and connect to another one.
		pair = kinds(allow, refuse, unix.SOCK_STREAM, unix.SOCK_SEQPACKET)
	}
	set(equal(low(0), pair, refuse, unix.AF_UNIX), unix.SYS_SOCKETPAIR)

	if o.Inet && o.TCPOnly {
		// Landlock checks connect, and does not see a connection that is created by sending.
		set(anyOf(low(3), unix.MSG_FASTOPEN, refuse, allow), unix.SYS_SENDTO, unix.SYS_SENDMMSG)
		set(anyOf(low(2), unix.MSG_FASTOPEN, refuse, allow), unix.SYS_SENDMSG)
	}
}

// inet decides about IPv4 and IPv6 sockets by a list of allowed kinds and protocols. All others are
// raw sockets or other transports, and future kernels will add more.
func inet(tcpOnly bool) *decision {
	if tcpOnly {
		// Go's net package tries MPTCP before each listener, and then falls back to TCP.
		stream := equal(low(2), allow, equal(low(2), hideCall, refuse, unix.IPPROTO_MPTCP), 0, unix.IPPROTO_TCP)
		return kinds(stream, refuse, unix.SOCK_STREAM)
	}
	stream := equal(low(2), allow, refuse, 0, unix.IPPROTO_TCP, unix.IPPROTO_MPTCP)
	datagram := equal(low(2), allow, refuse, 0, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6)
	return kinds(stream, kinds(datagram, refuse, unix.SOCK_DGRAM), unix.SOCK_STREAM)
}

// kinds tests whether a socket's type, without its flags, is in a list.
func kinds(then, otherwise *decision, values ...uint32) *decision {
	d := otherwise
	for _, v := range values {
		d = masked(low(1), kindMask, v, then, d)
	}
	return d
}
