// Package freeport picks ports for test servers that cannot use a given listener or report which port the
// kernel assigned.
//
//	10000 … ports for servers, one test each … 32768 … ports that the kernel assigns to clients …
//
//	cmd := exec.Command("server", "--port", strconv.Itoa(freeport.Pick(t)))
//
// A port that the kernel assigned to a listener is unsafe after the listener is closed: a client of another
// test may get it. If possible, a test should listen on port 0 and keep the listener, or use a unix socket.
// To test a port without a listener, use port 1.
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

const minPort, defaultClientPort = 10_000, 32_768

// Pick returns a TCP port of 127.0.0.1 that is free, that the kernel assigns to no client, and that no other
// test on this machine picks before this one ends.
func Pick(t testing.TB) int {
	t.Helper()
	end := firstClientPort()
	var lc net.ListenConfig
	for range 10_000 {
		port := minPort + rand.IntN(end-minPort)
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		guard, err := lc.ListenPacket(t.Context(), "udp", addr) // signals to other tests that the TCP port is taken
		if err != nil {
			continue
		}
		l, err := lc.Listen(t.Context(), "tcp", addr)
		if err != nil {
			_ = guard.Close()
			continue
		}
		_ = l.Close()
		t.Cleanup(func() { _ = guard.Close() })
		return port
	}
	t.Fatal("no free port")
	return 0
}

// firstClientPort is the first port that the kernel assigns to clients.
func firstClientPort() int {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil { // other systems start at a higher port
		return defaultClientPort
	}
	var low int
	if _, err := fmt.Sscan(string(b), &low); err != nil || low < minPort+1000 { // almost no ports are left below
		return defaultClientPort
	}
	return low
}
