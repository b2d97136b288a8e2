package egress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// RefusedHeader is set in the response to each refused HTTP request. The header's value is the host
// and the port.
const RefusedHeader = "X-Holdfast-Refused"

// serveHTTP answers requests until one ends the connection. The parameter inside is the target of
// the tunnel that contains the requests, or nil.
func (c *client) serveHTTP(inside *target) {
	for {
		c.readWithin(c.p.o.Limits.IdleTime)
		if _, err := c.r.Peek(1); err != nil {
			return
		}
		c.readWithin(c.p.o.Limits.HeaderTime)
		req, err := readRequest(c.r)
		if err != nil {
			c.badRequest(err)
			return
		}
		c.clearReadDeadline()
		if req.Method == http.MethodConnect {
			c.serveConnect(req, inside)
			return
		}
		if !c.serveRequest(req, inside) {
			return
		}
	}
}

// badRequest answers an unparseable request, unless the client has disconnected.
func (c *client) badRequest(err error) {
	var netErr *net.OpError
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &netErr) {
		return
	}
	c.cannotRead("a request", err)
}

// cannotRead answers a request whose target cannot be parsed.
func (c *client) cannotRead(what string, err error) {
	c.refuse(*invalidRefusal(what, err))
	code := http.StatusBadRequest
	if errors.Is(err, errTooLarge) {
		code = http.StatusRequestHeaderFieldsTooLarge
	}
	c.answer(code, "", "the sandbox's proxy cannot parse this request: "+err.Error()+"\n")
}

// answer sends a text and ends the connection.
func (c *client) answer(code int, refused, text string) {
	header := ""
	if refused != "" {
		header = RefusedHeader + ": " + refused + "\r\n"
	}
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\n%sContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		code, http.StatusText(code), header, len(text), text)
	c.drainAfterError()
}

func (c *client) answerRefused(f *Refusal) {
	c.answer(http.StatusForbidden, printable(f.Target()), f.Text())
}

// printable keeps only the characters that a header may contain.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

func (c *client) answerDialError(t target, e *dialError) {
	if e.refusal != nil {
		c.answerRefused(e.refusal)
		return
	}
	code, what := http.StatusBadGateway, "cannot connect to "
	if e.lookup {
		what = "cannot find "
	}
	if e.timeout() {
		code = http.StatusGatewayTimeout
	}
	c.answer(code, "", fmt.Sprintf("the sandbox allows %s, but %s%s: %v\n", t, what, t, e))
}

// serveConnect opens a tunnel.
func (c *client) serveConnect(req *http.Request, inside *target) {
	if inside != nil || req.ContentLength != 0 {
		c.cannotRead(req.RequestURI, errors.New("CONNECT is not allowed here"))
		return
	}
	h, port, err := splitAuthority(req.RequestURI, 0)
	if err != nil {
		c.cannotRead(req.RequestURI, err)
		return
	}
	t := target{h, port}
	if f := c.admit(t); f != nil {
		c.answerRefused(f)
		return
	}
	up, dialErr := c.dial(t, false)
	if dialErr != nil {
		c.answerDialError(t, dialErr)
		return
	}
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		up.Close()
		return
	}
	c.tunnel(t, up)
}

// serveRequest checks one request and forwards it. It reports whether another request can follow.
func (c *client) serveRequest(req *http.Request, inside *target) bool {
	t, err := requestTarget(req, inside)
	if err != nil {
		c.cannotRead(req.RequestURI, err)
		return false
	}
	if inside != nil && t != *inside {
		c.answerRefused(c.refuse(Refusal{
			Host: t.host.String(), Port: t.port, Layer: -1,
			Reason: "it was requested in a tunnel to " + inside.String(),
		}))
		return false
	}
	if f := c.admit(t); f != nil {
		c.answerRefused(f)
		return false
	}
	return c.forward(req, t)
}

// requestTarget returns the target of a request: its URL outside a tunnel; inside a tunnel its Host
// header, which must agree with the tunnel.
func requestTarget(req *http.Request, inside *target) (target, error) {
	if inside == nil || !strings.HasPrefix(req.RequestURI, "/") && req.RequestURI != "*" {
		return absoluteTarget(req.RequestURI)
	}
	if req.Host == "" && req.ProtoMinor == 0 {
		return *inside, nil
	}
	h, port, err := splitAuthority(req.Host, inside.port)
	return target{h, port}, err
}
