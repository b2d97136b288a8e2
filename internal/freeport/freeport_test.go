package freeport

import (
	"net"
	"strconv"
	"testing"
)

// Ports of tests that run at once differ, lie below those of clients, and can be listened on.
func TestPick(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		port := Pick(t)
		if seen[port] || port < minPort || port >= firstClientPort() {
			t.Errorf("port %d, clients begin at %d, again: %v", port, firstClientPort(), seen[port])
		}
		seen[port] = true
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}

// Whoever picks next looks at the same port of UDP.
func TestPickHolds(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:"+strconv.Itoa(Pick(t)))
	if err == nil {
		c.Close()
		t.Error("another test can pick the port")
	}
}
