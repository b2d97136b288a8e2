package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// upstreamKind is the protocol of the user's own proxy.
type upstreamKind int

const (
	upstreamNone upstreamKind = iota
	upstreamHTTP
	upstreamSOCKS
)

// upstream returns the proxy for the client's connections.
func (c *client) upstream() (upstreamKind, int) {
	h, s := c.p.o.HTTPUpstream, c.p.o.SOCKSUpstream
	switch {
	case h != 0 && (!c.socks || s == 0):
		return upstreamHTTP, h
	case s != 0:
		return upstreamSOCKS, s
	}
	return upstreamNone, 0
}

// dialUpstream connects to a target through an upstream, which receives its name.
func (p *Proxy) dialUpstream(ctx context.Context, kind upstreamKind, port int, t target, forward bool) (*bufferedConn, error) {
	conn, err := p.o.Dial(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	e := newBufferedConn(conn)
	if e.absolute = kind == upstreamHTTP && forward; e.absolute {
		return e, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if kind == upstreamHTTP {
		err = connectHTTP(e, t)
	} else {
		err = connectSOCKS(e, t)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return e, nil
}

func connectHTTP(e *bufferedConn, t target) error {
	if _, err := fmt.Fprintf(e, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", t, t); err != nil {
		return err
	}
	if _, err := peekHead(e.r); err != nil {
		return err
	}
	resp, err := http.ReadResponse(e.r, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // the body is the tunnel
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %s", resp.Status)
	}
	return nil
}

func connectSOCKS(e *bufferedConn, t target) error {
	request := []byte{5, 1, 0, 5, 1, 0}
	switch {
	case !t.host.IsAddr():
		request = append(request, atypName, byte(len(t.host.Name)))
		request = append(request, t.host.Name...)
	case t.host.Addr.Is4():
		request = append(append(request, atypIPv4), t.host.Addr.AsSlice()...)
	default:
		request = append(append(request, atypIPv6), t.host.Addr.AsSlice()...)
	}
	request = append(request, byte(t.port>>8), byte(t.port))
	if _, err := e.Write(request[:3]); err != nil {
		return err
	}
	var answer [4]byte
	if _, err := io.ReadFull(e.r, answer[:2]); err != nil {
		return err
	}
	if answer[0] != 5 || answer[1] != 0 {
		return errors.New("it requires a password")
	}
	if _, err := e.Write(request[3:]); err != nil {
		return err
	}
	if _, err := io.ReadFull(e.r, answer[:]); err != nil {
		return err
	}
	if answer[0] != 5 || answer[1] != 0 {
		return fmt.Errorf("it answered %d", answer[1])
	}
	return skipAddress(e.r, answer[3])
}

// skipAddress skips the address at the end of a SOCKS5 response.
func skipAddress(r io.Reader, atyp byte) error {
	n := int64(2)
	switch atyp {
	case atypIPv4:
		n += 4
	case atypIPv6:
		n += 16
	case atypName:
		var length [1]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return err
		}
		n += int64(length[0])
	default:
		return fmt.Errorf("its answer has an unknown address type %d", atyp)
	}
	_, err := io.CopyN(io.Discard, r, n)
	return err
}
