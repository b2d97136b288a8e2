package auth

import (
	"net"
	"net/netip"
	"testing"
)

// The kernel's answer for one socket equals the entry in its tables.
func TestAskInode(t *testing.T) {
	for _, network := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", network)
		if err != nil {
			t.Logf("no %s here: %v", network, err)
			continue
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		local, remote := endsOf(t, c)
		asked, err := askInode(local, remote)
		if err != nil {
			t.Skipf("the kernel cannot look up single sockets: %v; the tables are read then", err)
		}
		if read := readInode(local, remote); asked == "" || asked != read {
			t.Errorf("%s: %q, in the tables %q", network, asked, read)
		}
		if other, err := askInode(local, netip.AddrPortFrom(remote.Addr(), remote.Port()^1)); err != nil || other != "" {
			t.Errorf("without a socket: %q, %v", other, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if gone, err := askInode(local, remote); err != nil || gone != "" {
			t.Errorf("closed: %q, %v", gone, err)
		}
	}
}

func endsOf(t *testing.T, c net.Conn) (local, remote netip.AddrPort) {
	t.Helper()
	l, r := c.LocalAddr().(*net.TCPAddr), c.RemoteAddr().(*net.TCPAddr)
	return l.AddrPort(), r.AddrPort()
}

func TestReadDiagTruncated(t *testing.T) {
	for n := range headerLength + diagInode + 4 {
		if _, err := readDiag(make([]byte, n)); err == nil {
			t.Errorf("%d bytes were read", n)
		}
	}
}

func BenchmarkInode(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	local, remote := c.LocalAddr().(*net.TCPAddr).AddrPort(), c.RemoteAddr().(*net.TCPAddr).AddrPort()
	for _, way := range []struct {
		name string
		find func(local, remote netip.AddrPort) string
	}{{"asked", inodeOf}, {"read", readInode}} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				if way.find(local, remote) == "" {
					b.Fatal("not found")
				}
			}
		})
	}
}
