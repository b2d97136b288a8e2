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
	err  error // why it could not be identified
	// agent reports whether the daemon started it. For a unix socket this is known from the start.
	// For TCP it is looked up when it is first used.
	agent func() bool
}

type peerKey struct{}

// ConnContext is an [http.Server.ConnContext] that identifies the peer of a unix socket.
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

// isLocalAddr reports whether an address belongs to this machine.
func isLocalAddr(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.IsLoopback() {
		return true
	}
	list, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(list, func(ifaceAddr net.Addr) bool {
		p, err := netip.ParsePrefix(ifaceAddr.String())
		return err == nil && p.Addr().WithZone("") == a
	})
}

// identify asks the operating system which process is at the other end of a unix socket.
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
	below := a.process.includes(id)
	p.agent = func() bool { return below }
}

// rawConn returns the socket below a connection and its wrappers.
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

// peerFrom returns the peer of a request. Without [Auth.ConnContext], a TCP client can still
// authenticate with a token, but the client of a unix socket is unknown.
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

// addressOf returns the address of a TCP client. For a unix socket it returns the zero address.
func addressOf(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.IPv6Unspecified()
	}
	return ap.Addr()
}

// account returns the account name of a uid.
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
