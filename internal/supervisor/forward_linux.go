package supervisor

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// forwarder connects programs with the host's proxy. The container has no network, so that proxy is
// a socket in a folder, but programs need a proxy with a network address.
type forwarder struct {
	from string // "-": disabled
	to   string

	mu    sync.Mutex
	l     net.Listener
	conns map[net.Conn]bool
	free  chan struct{}
	gone  sync.WaitGroup
}

// ensureListening starts to listen if it does not yet. It must run before any process is started, because a
// process could otherwise listen on the address first. It reports whether the host's proxy exists
// too.
func (f *forwarder) ensureListening() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.from == "-" {
		return false
	}
	if f.l == nil {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", f.from)
		if err != nil {
			return false
		}
		f.l, f.conns, f.free = l, map[net.Conn]bool{}, make(chan struct{}, maxRelays)
		f.gone.Go(func() { f.accept(l) })
	}
	info, err := os.Lstat(f.to)
	return err == nil && info.Mode().Type() == os.ModeSocket
}

func (f *forwarder) accept(l net.Listener) {
	for {
		from, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		select {
		case f.free <- struct{}{}:
			f.gone.Go(func() { f.relay(from); <-f.free })
		default:
			_ = from.Close()
		}
	}
}

// maxRelays limits concurrent connections to the proxy, so that they cannot use up the file descriptors that the
// host's connections need. The host's proxy serves fewer.
const maxRelays = 512

func (f *forwarder) relay(from net.Conn) {
	defer from.Close()
	to, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(context.Background(), "unix", f.to)
	if err != nil {
		return
	}
	defer to.Close()
	if !f.note(from, to) {
		return
	}
	defer f.forget(from, to)
	var back sync.WaitGroup
	back.Go(func() { pass(from, to) })
	pass(to, from)
	back.Wait()
}

// pass copies one direction. When this direction ends, pass notifies the receiving side.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
	_ = from.Close()
}

func (f *forwarder) note(conns ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		if f.conns == nil {
			return false // closed meanwhile
		}
		f.conns[c] = true
	}
	return true
}

func (f *forwarder) forget(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		delete(f.conns, c)
	}
}

func (f *forwarder) close() {
	f.mu.Lock()
	f.from = "-"
	if f.l != nil {
		_ = f.l.Close()
	}
	for c := range f.conns {
		_ = c.Close()
	}
	f.conns = nil
	f.mu.Unlock()
	f.gone.Wait()
}
