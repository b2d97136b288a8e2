//go:build linux

package escape

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/freeport"
)

// flush is sent to a server by the test itself, to know that the server has received everything before it.
const flush = "flush"

// services are the host's servers; none of them may receive anything.
type services struct {
	mu      sync.Mutex
	log     []string
	flushed map[string]chan struct{}
	socks   []socketAddress
}

type socketAddress struct{ network, address string }

// serve starts the servers, and creates shared memory and a queue that contain the secret.
func serve(t *testing.T, f *fixture) *services {
	t.Helper()
	s := &services{flushed: map[string]chan struct{}{}}
	f.Address = ownAddress()
	f.SockOut, f.SockWS = f.Out+"/sock", f.WS+"/sock"
	f.Abstract, f.AbstractDgram = f.Marker+"-s", f.Marker+"-d"
	f.Port = s.stream(t, "tcp", "127.0.0.1:0")
	f.Port6 = s.stream(t, "tcp", "[::1]:0")
	if f.Address != "" {
		f.PortAddress = s.stream(t, "tcp", f.Address+":0")
	}
	s.stream(t, "unix", f.SockOut)
	s.stream(t, "unix", f.SockWS)
	s.stream(t, "unix", "@"+f.Abstract)
	f.UDP = s.packets(t, "udp", "127.0.0.1:0")
	s.packets(t, "unixgram", "@"+f.AbstractDgram)
	s.packets(t, "unixgram", f.Out+"/dgram")
	f.Free = freeport.Pick(t)
	s.memory(t, f)
	s.queue(t, f)
	return s
}

// ownAddress returns an address of an interface of this machine, or "".
func ownAddress() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return ""
}

func (s *services) note(where, what string) {
	if what == flush {
		s.flushed[where] <- struct{}{}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%s heard %q", where, what))
}

// stream listens, and reads one connection after the other.
func (s *services) stream(t *testing.T, network, address string) int {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	where := network + " " + l.Addr().String()
	s.flushed[where] = make(chan struct{}, 1)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 64)
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			n, _ := c.Read(b)
			s.note(where, string(b[:n]))
			_, _ = c.Write([]byte("hello\n"))
			c.Close()
		}
	})
	t.Cleanup(func() { l.Close(); done.Wait() })
	s.socks = append(s.socks, socketAddress{network, l.Addr().String()})
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// packets receives datagrams.
func (s *services) packets(t *testing.T, network, address string) int {
	t.Helper()
	c, err := net.ListenPacket(network, address)
	if err != nil {
		t.Fatal(err)
	}
	where := network + " " + c.LocalAddr().String()
	s.flushed[where] = make(chan struct{}, 1)
	var done sync.WaitGroup
	done.Go(func() {
		b := make([]byte, 64)
		for {
			n, _, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			s.note(where, string(b[:n]))
		}
	})
	t.Cleanup(func() { c.Close(); done.Wait() })
	s.socks = append(s.socks, socketAddress{network, c.LocalAddr().String()})
	if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
		return a.Port
	}
	return 0
}

// drain waits until each server has received everything sent to it so far.
func (s *services) drain(t *testing.T) {
	t.Helper()
	for _, p := range s.socks {
		c, err := net.Dial(p.network, p.address)
		if err != nil {
			t.Errorf("%s %s does not answer any more: %v", p.network, p.address, err)
			continue
		}
		if _, err := c.Write([]byte(flush)); err != nil {
			t.Error(err)
		}
		select {
		case <-s.flushed[p.network+" "+p.address]:
		case <-time.After(5 * time.Second):
			t.Errorf("%s %s hears nothing", p.network, p.address)
		}
		c.Close()
	}
}

// heard returns what reached a server.
func (s *services) heard(*fixture) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

// memory creates a segment of System V shared memory that every user may attach.
func (s *services) memory(t *testing.T, f *fixture) {
	t.Helper()
	f.Shm = int(time.Now().UnixNano()&0x3fffffff) | 1
	id, err := unix.SysvShmGet(f.Shm, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666)
	if err != nil {
		t.Fatal(err)
	}
	b, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	copy(b, f.token)
	_ = unix.SysvShmDetach(b)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
}

// queue creates a POSIX queue that every user may read, with the secret in it.
func (s *services) queue(t *testing.T, f *fixture) {
	t.Helper()
	f.Queue = f.Marker
	name, _ := unix.BytePtrFromString(f.Queue)
	attr := [8]int64{0, 4, 64}
	old := unix.Umask(0)
	fd, _, e := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, 0o666,
		uintptr(unsafe.Pointer(&attr)), 0, 0)
	unix.Umask(old)
	if e != 0 {
		t.Fatalf("mq_open: %v", e)
	}
	text := []byte(f.token)
	_, _, e = unix.Syscall6(unix.SYS_MQ_TIMEDSEND, fd, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), 0, 0, 0)
	if e != 0 {
		t.Fatalf("mq_send: %v", e)
	}
	_ = unix.Close(int(fd))
	t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0) })
}
