package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

// tunnel connects the client with a target after checking the first bytes. It closes both connections.
func (c *client) tunnel(t target, up *bufferedConn) {
	defer up.Close()
	if !c.clientSpeaksFirst(up) {
		c.join(up)
		return
	}
	c.readWithin(c.p.o.Limits.HeaderTime)
	first, err := c.r.Peek(1)
	if err != nil {
		if errors.Is(err, io.EOF) {
			c.clearReadDeadline()
			c.join(up)
		}
		return
	}
	if isTLS(first[0]) {
		c.tunnelTLS(t, up)
		return
	}
	what, err := sniff(c.r)
	if err != nil {
		return
	}
	c.clearReadDeadline()
	switch what {
	case sniffHTTP:
		c.up, c.upstreamTarget = up, t
		c.serveHTTP(&t)
	case sniffSSL2:
		c.refuse(Refusal{Host: t.host.String(), Port: t.port, Layer: -1, Reason: "the TLS connection inside does not name its host"})
	case sniffHTTP2:
		c.refuse(Refusal{Host: t.host.String(), Port: t.port, Layer: -1, Reason: "HTTP/2 without TLS cannot be checked"})
	default:
		c.join(up)
	}
}

func (c *client) tunnelTLS(t target, up *bufferedConn) {
	name, hello, err := readHello(c.r)
	var refusal *Refusal
	switch {
	case err != nil:
		refusal = c.refuse(Refusal{Host: t.host.String(), Port: t.port, Layer: -1, Reason: "the TLS connection inside cannot be parsed"})
	default:
		refusal = c.checkHello(t, name)
	}
	if refusal != nil {
		_, _ = c.Write(alertAccessDenied)
		c.drainAfterError()
		return
	}
	c.clearReadDeadline()
	if _, err := up.Write(hello); err == nil {
		c.join(up)
	}
}

// clientSpeaksFirst waits for the first byte of either side, and reports whether the client sent
// it. In protocols in which the server speaks first (ssh, mail), the client does not name a host.
func (c *client) clientSpeaksFirst(up *bufferedConn) bool {
	c.clearReadDeadline()
	idle := c.closeWhenIdle(up)
	defer idle.Stop()
	type word struct{ client bool }
	words := make(chan word, 2)
	var work sync.WaitGroup
	listen := func(e *bufferedConn, w word) {
		work.Go(func() {
			_, _ = e.r.Peek(1)
			words <- w
		})
	}
	listen(c.bufferedConn, word{true})
	listen(up, word{false})
	first := <-words
	silent := up
	if !first.client {
		silent = c.bufferedConn
	}
	_ = silent.SetReadDeadline(time.Unix(1, 0))
	work.Wait()
	silent.clearReadDeadline()
	return first.client || c.r.Buffered() > 0
}

// sniffed is the protocol in a tunnel, as determined from its first line.
type sniffed int

const (
	sniffOther sniffed = iota
	sniffHTTP
	sniffHTTP2
	sniffSSL2
)

// maxLine is the maximum length of a first line that can be a request.
const maxLine = 8 << 10

// sniff examines the first line of a tunnel without consuming it. It needs the whole line, or a byte
// that cannot occur in a request line.
func sniff(r *bufio.Reader) (sniffed, error) {
	for n := 1; n <= maxLine; {
		if _, err := r.Peek(n); err != nil {
			if errors.Is(err, io.EOF) {
				return sniffOther, nil
			}
			return sniffOther, err
		}
		b, _ := r.Peek(r.Buffered())
		line := bytes.TrimLeft(b, "\r\n")
		if what, sure := sniffLine(line); sure {
			return what, nil
		}
		n = len(b) + 1
	}
	return sniffHTTP, nil
}

func sniffLine(line []byte) (what sniffed, sure bool) {
	if len(line) > 0 && line[0] >= 0x80 {
		// Some servers still accept a ClientHello in SSL 2 format, which has no server name.
		if len(line) < 4 {
			return sniffOther, false
		}
		if line[2] == 1 && line[3] == 3 {
			return sniffSSL2, true
		}
	}
	for i, c := range line {
		switch {
		case c == '\n':
			if bytes.HasPrefix(line, []byte("PRI * HTTP/2")) {
				return sniffHTTP2, true
			}
			if bytes.Contains(bytes.ToUpper(line[:i]), []byte(" HTTP/")) {
				return sniffHTTP, true
			}
			return sniffOther, true
		case c < ' ' && c != '\t' && c != '\r' || c == 0x7f:
			return sniffOther, true
		}
	}
	return sniffOther, false
}

// drainTimeout and maxDrain limit how long a client may keep sending ignored data, so that it receives
// the response before the connection is reset.
const (
	drainTimeout = time.Second
	maxDrain     = 1 << 20
)

func (c *client) drainAfterError() {
	if closeWrite(c.Conn) == nil {
		c.readWithin(drainTimeout)
		_, _ = io.CopyN(io.Discard, c.r, maxDrain)
	}
}
