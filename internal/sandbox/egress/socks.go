package egress

import (
	"io"
	"net/netip"
	"slices"
)

// Numbers of RFC 1928.
const (
	atypIPv4 = 1
	atypName = 3
	atypIPv6 = 4

	socksOK          = 0
	socksFailed      = 1
	socksRefused     = 2 // not allowed by ruleset
	socksUnreachable = 4
	socksNoListener  = 5
	socksTimeout     = 6
	socksNoCommand   = 7
	socksNoAddress   = 8
)

// serveSOCKS answers one SOCKS5 client: CONNECT only, without a password.
func (c *client) serveSOCKS() {
	c.socks = true
	if !c.greet() {
		return
	}
	t, code, err := readSOCKS(c.r)
	if err != nil {
		if code == socksRefused {
			c.refuse(*invalidRefusal(t.host.Name, err))
		}
		_ = c.replySOCKS(code)
		return
	}
	c.clearReadDeadline()
	if c.admit(t) != nil {
		_ = c.replySOCKS(socksRefused)
		return
	}
	up, dialErr := c.dial(t, false)
	if dialErr != nil {
		_ = c.replySOCKS(dialErr.socksCode())
		return
	}
	if c.replySOCKS(socksOK) != nil {
		up.Close()
		return
	}
	c.tunnel(t, up)
}

// greet negotiates no authentication.
func (c *client) greet() bool {
	var head [2]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return false
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(c.r, methods); err != nil {
		return false
	}
	if slices.Contains(methods, 0) {
		_, err := c.Write([]byte{5, 0})
		return err == nil
	}
	_, _ = c.Write([]byte{5, 0xff})
	return false
}

// requestError is a SOCKS request that cannot be answered.
type requestError string

func (e requestError) Error() string { return string(e) }

// readSOCKS reads a request. If it fails, it returns the code of the answer and, for socksRefused,
// also the host as given.
func readSOCKS(r io.Reader) (target, byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return target{}, socksFailed, err
	}
	if head[0] != 5 || head[2] != 0 {
		return target{}, socksFailed, requestError("it is not SOCKS5")
	}
	host, raw, code, err := readAddress(r, head[3])
	if err != nil && code != socksRefused {
		return target{}, code, err
	}
	var port [2]byte
	if _, err := io.ReadFull(r, port[:]); err != nil {
		return target{}, socksFailed, err
	}
	t := target{host, int(port[0])<<8 | int(port[1])}
	switch {
	case head[1] != 1:
		return target{}, socksNoCommand, requestError("only CONNECT is supported")
	case err != nil:
		return target{host: Host{Name: raw}}, code, err
	case t.port == 0:
		return target{host: Host{Name: host.String()}}, socksRefused, requestError("0 is not a port")
	}
	return t, socksOK, nil
}

func readAddress(r io.Reader, atyp byte) (h Host, raw string, code byte, err error) {
	size := map[byte]int{atypIPv4: 4, atypIPv6: 16}[atyp]
	if atyp == atypName {
		var length [1]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return h, "", socksFailed, err
		}
		size = int(length[0])
	} else if size == 0 {
		return h, "", socksNoAddress, requestError("unknown address type")
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return h, "", socksFailed, err
	}
	if atyp != atypName {
		a, _ := netip.AddrFromSlice(b)
		return Host{Addr: a.Unmap()}, "", socksOK, nil
	}
	if h, err = ParseHost(string(b)); err != nil {
		return h, string(b), socksRefused, err
	}
	return h, "", socksOK, nil
}

func (c *client) replySOCKS(code byte) error {
	_, err := c.Write([]byte{5, code, 0, atypIPv4, 0, 0, 0, 0, 0, 0})
	if err == nil && code != socksOK {
		c.drainAfterError()
	}
	return err
}

func (e *dialError) socksCode() byte {
	switch {
	case e.refusal != nil:
		return socksRefused
	case e.timeout():
		return socksTimeout
	case isRefused(e.err):
		return socksNoListener
	}
	return socksUnreachable
}
