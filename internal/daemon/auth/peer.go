package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os/user"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

// peer is the other end of a connection.
type peer struct {
	unix bool
	uid  int
	pid  int
	err  error // why nobody knows who it is
	// agent reports whether it runs below this daemon. Of a unix socket that is known
	// from the start; on TCP it is looked up when it first matters.
	agent func() bool
}

type peerKey struct{}

// ConnContext is [http.Server.ConnContext]: it notes the peer of a unix socket.
func (a *Auth) ConnContext(ctx context.Context, c net.Conn) context.Context {
	p := &peer{uid: -1, agent: func() bool { return false }}
	switch local := c.LocalAddr().(type) {
	case *net.UnixAddr:
		p.unix = true
		a.identify(p, c)
	case *net.TCPAddr:
		remote, ok := c.RemoteAddr().(*net.TCPAddr)
		if ok && isLocalAddr(remote.AddrPort().Addr()) {
			p.agent = sync.OnceValue(func() bool { return a.process.hasSocket(remote.AddrPort(), local.AddrPort()) })
		}
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// isLocalAddr reports whether an address is one of this machine's.
func isLocalAddr(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.IsLoopback() {
		return true
	}
	list, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(list, func(own net.Addr) bool {
		p, err := netip.ParsePrefix(own.String())
		return err == nil && p.Addr().WithZone("") == a
	})
}

// identify asks the system who is at the other end of a unix socket.
func (a *Auth) identify(p *peer, c net.Conn) {
	raw, err := rawConn(c)
	if err != nil {
		p.err = err
		return
	}
	id, err := peerOf(raw)
	if err != nil {
		p.err = err
		return
	}
	defer id.close()
	p.uid, p.pid = id.uid, id.pid
	below := a.process.below(id)
	p.agent = func() bool { return below }
}

// rawConn finds the socket below what wraps a connection.
func rawConn(c net.Conn) (syscall.RawConn, error) {
	for range 8 {
		switch v := c.(type) {
		case syscall.Conn:
			return v.SyscallConn()
		case interface{ NetConn() net.Conn }:
			c = v.NetConn()
		default:
			return nil, errors.New("cannot find the socket of the connection")
		}
	}
	return nil, errors.New("the connection has too many wrappers")
}

// peerFrom returns the peer of a request. Without [Auth.ConnContext] a TCP client is
// known by its token all the same, and one of a unix socket is nobody.
func peerFrom(r *http.Request) *peer {
	if p, ok := r.Context().Value(peerKey{}).(*peer); ok {
		return p
	}
	p := &peer{uid: -1, agent: func() bool { return false }}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local.Network() == "unix" {
		p.unix, p.err = true, errors.New("the server does not use auth's ConnContext")
	}
	return p
}

func isUnix(r *http.Request) bool { return peerFrom(r).unix }

// addressOf is where a TCP client is; the zero address on a unix socket.
func addressOf(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.IPv6Unspecified()
	}
	return ap.Addr()
}

// account is the name of a uid.
func (a *Auth) account(uid int) string {
	if name, ok := a.names.Load(uid); ok {
		return name.(string) //nolint:forcetypeassert // only strings are stored
	}
	name := "uid " + strconv.Itoa(uid)
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		name = u.Username
	}
	a.names.Store(uid, name)
	return name
}
