//go:build unix

package hostpipe

import (
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// pair returns two ends of a socket, for a process and its host.
func pair(b *testing.B) (inside, host net.Conn) {
	b.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		b.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "end")
		if ends[i], err = net.FileConn(f); err != nil {
			b.Fatal(err)
		}
		_ = f.Close()
	}
	return ends[0], ends[1]
}

// BenchmarkAppend measures an append of one item over a socket, to a store in memory.
func BenchmarkAppend(b *testing.B) {
	sessions := session.New(memory.New(), nil)
	log, err := sessions.Create(b.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		b.Fatal(err)
	}
	inside, host := pair(b)
	s := newServer(host, sessions, ServeOptions{Session: "s", Lease: log.Lease()})
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(b.Context()) })
	c := Dial(inside, nil)
	l, err := session.New(c, nil).Open(b.Context(), "s", nil)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		if _, err := l.Append(b.Context(), item(fmt.Sprint(n), "hello")); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	for range 3 {
		read := 0
		for _, err := range c.Read(b.Context(), "s", session.Range{}) {
			if err != nil {
				b.Fatal(err)
			}
			read++
		}
		if read != n+1 {
			b.Fatalf("%d records of %d", read, n+1)
		}
	}
	_ = c.Close()
	served.Wait()
}
