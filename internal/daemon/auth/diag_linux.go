package auth

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// These are the sizes and offsets of sock_diag(7) messages: a request for one TCP socket, and the
// answer.
const (
	diagByFamily  = 20 // SOCK_DIAG_BY_FAMILY
	diagRequest   = 8 + diagID
	diagID        = 48 // two ports, two addresses of 16 bytes, interface, cookie of 8
	diagInode     = 4 + diagID + 16
	headerLength  = unix.SizeofNlMsghdr
	anyState      = ^uint32(0)
	unknownCookie = ^uint64(0) // INET_DIAG_NOCOOKIE
)

var errNoDiag = errors.New("the kernel cannot look up single sockets")

// askInode asks the kernel for the inode of the socket with these two ends. It returns "" if there
// is no such socket, or no process has it open.
func askInode(local, remote netip.AddrPort) (string, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return "", err
	}
	if err := unix.Sendto(fd, diagMessage(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return "", err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return "", err
	}
	return readDiag(answer[:n])
}

func diagMessage(local, remote netip.AddrPort) []byte {
	b := make([]byte, 0, headerLength+diagRequest)
	order := binary.NativeEndian
	b = order.AppendUint32(b, headerLength+diagRequest)
	b = order.AppendUint16(b, diagByFamily)
	b = order.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence and port
	src, dst := local.Addr().Unmap().WithZone(""), remote.Addr().Unmap().WithZone("")
	family := byte(unix.AF_INET)
	if !src.Is4() || !dst.Is4() {
		family = unix.AF_INET6
	}
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)
	b = order.AppendUint32(b, anyState)
	b = binary.BigEndian.AppendUint16(b, local.Port())
	b = binary.BigEndian.AppendUint16(b, remote.Port())
	for _, a := range []netip.Addr{src, dst} {
		var words [16]byte
		copy(words[:], a.AsSlice())
		b = append(b, words[:]...)
	}
	b = order.AppendUint32(b, 0)
	return order.AppendUint64(b, unknownCookie)
}

// readDiag parses the answer: the socket, or an error; ENOENT means that there is none.
func readDiag(b []byte) (string, error) {
	order := binary.NativeEndian
	if len(b) < headerLength+4 {
		return "", errNoDiag
	}
	kind, body := order.Uint16(b[4:]), b[headerLength:]
	switch {
	case kind == unix.NLMSG_ERROR && unix.Errno(-int32(order.Uint32(body))) == unix.ENOENT: //nolint:gosec // a negative number from the kernel
		return "", nil
	case kind != diagByFamily || len(body) < diagInode+4:
		return "", errNoDiag
	}
	inode := order.Uint32(body[diagInode:])
	if inode == 0 {
		return "", nil
	}
	return strconv.FormatUint(uint64(inode), 10), nil
}
