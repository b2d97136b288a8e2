package egress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// RefusedHeader is in the answer to each HTTP request that was refused. Its value
// is the host and the port.
const RefusedHeader = "X-Holdfast-Refused"

// serveHTTP answers requests until one ends the connection. inside is the target
// of the tunnel that they are in, or nil.
func (c *client) serveHTTP(inside *target) {
	for {
		c.within(c.p.o.Limits.IdleTime)
		if _, err := c.r.Peek(1); err != nil {
			return
		}
		c.within(c.p.o.Limits.HeaderTime)
		req, err := readRequest(c.r)
		if err != nil {
			c.badRequest(err)
			return
		}
		c.noDeadline()
		if req.Method == http.MethodConnect {
			c.serveConnect(req, inside)
			return
		}
		if !c.serveRequest(req, inside) {
			return
		}
	}
}

// badRequest answers what cannot be read, and says nothing to a client that is gone.
func (c *client) badRequest(err error) {
	var gone *net.OpError
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &gone) {
		return
	}
	c.cannotRead("a request", err)
}

// cannotRead answers a request that is for something unreadable.
func (c *client) cannotRead(what string, err error) {
	c.refuse(*unreadable(what, err))
	code := http.StatusBadRequest
	if errors.Is(err, errTooLarge) {
		code = http.StatusRequestHeaderFieldsTooLarge
	}
	c.answer(code, "", "the sandbox's proxy cannot read this request: "+err.Error()+"\n")
}

// answer ends the connection with a text.
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

// printable keeps only what a header may hold.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

func (c *client) answerDial(t target, e *dialError) {
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
		c.cannotRead(req.RequestURI, errors.New("a CONNECT here cannot be"))
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
	up, wrong := c.dial(t, false)
	if wrong != nil {
		c.answerDial(t, wrong)
		return
	}
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		up.Close()
		return
	}
	c.tunnel(t, up)
}

// serveRequest judges one request and passes it on. It says whether another one
// can follow.
func (c *client) serveRequest(req *http.Request, inside *target) bool {
	t, err := requestTarget(req, inside)
	if err != nil {
		c.cannotRead(req.RequestURI, err)
		return false
	}
	if inside != nil && t != *inside {
		c.answerRefused(c.refuse(Refusal{
			Host: t.host.String(), Port: t.port, Layer: -1,
			Reason: "it was asked for in a tunnel to " + inside.String(),
		}))
		return false
	}
	if f := c.admit(t); f != nil {
		c.answerRefused(f)
		return false
	}
	return c.forward(req, t)
}

// requestTarget is what a request is for: its URL on its own, its Host header in
// a tunnel, where both must agree.
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
