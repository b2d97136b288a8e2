// Package freeport picks ports for the servers of tests that cannot be given a listener,
// nor say which port the kernel gave them.
//
//	10000 … ports for servers, one test each … 32768 … those that the kernel gives to clients …
//
//	cmd := exec.Command("server", "--port", strconv.Itoa(freeport.Pick(t)))
//
// A port that the kernel picks for a listener is no good once it is closed: the next client
// of any other test may get it. Whoever can listens on port 0 and keeps the listener, or
// takes a unix socket; a test of what happens where nobody listens takes port 1.
//
// The package is for tests only.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
)

const first, usual = 10_000, 32_768

// Pick returns a TCP port of 127.0.0.1 on which nobody listens, which the kernel gives to no
// client, and which no other test of this machine picks before this one ends.
func Pick(t testing.TB) int {
	t.Helper()
	end := clients()
	var lc net.ListenConfig
	for range 10_000 {
		port := first + rand.IntN(end-first)
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		mine, err := lc.ListenPacket(t.Context(), "udp", addr) // tells other tests that the port of TCP is taken
		if err != nil {
			continue
		}
		l, err := lc.Listen(t.Context(), "tcp", addr)
		if err != nil {
			_ = mine.Close()
			continue
		}
		_ = l.Close()
		t.Cleanup(func() { _ = mine.Close() })
		return port
	}
	t.Fatal("no free port")
	return 0
}

// clients is the first port that the kernel gives to clients.
func clients() int {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil { // other systems begin higher
		return usual
	}
	var low int
	if _, err := fmt.Sscan(string(b), &low); err != nil || low < first+1000 { // hardly any are left below
		return usual
	}
	return low
}
