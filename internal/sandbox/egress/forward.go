package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"
)

// forward sends a request to the server and the response to the client. It reports whether the
// client's connection can be used for another request.
func (c *client) forward(req *http.Request, t target) bool {
	websocket := wantsWebSocket(req.Header)
	last := req.Close || req.ProtoMinor == 0
	c.prepare(req, t, websocket)
	up, fresh, dialErr := c.connectFor(t)
	if dialErr != nil {
		c.answerDialError(t, dialErr)
		return false
	}
	sent := c.send(req, up)
	resp, err := c.receive(req, up) //nolint:bodyclose // the body is read to its end, or its connection is closed
	if err != nil && !fresh && req.Body == http.NoBody && isIdempotent(req.Method) {
		c.dropUpstream()
		if up, dialErr = c.dial(t, true); dialErr != nil {
			c.answerDialError(t, dialErr)
			return false
		}
		c.up, c.upstreamTarget = up, t
		sent = c.send(req, up)
		resp, err = c.receive(req, up) //nolint:bodyclose // as above
	}
	answered(req)
	if err != nil {
		c.dropUpstream()
		c.finish(sent)
		c.answer(http.StatusBadGateway, "", fmt.Sprintf("%s did not answer: %v\n", t, err))
		return false
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		c.switchProtocols(resp, up, websocket)
		return false
	}
	keepUp, keepClient := c.reply(req, resp, up, last)
	if !keepUp {
		c.dropUpstream()
	}
	if !c.finish(sent) || !keepClient {
		c.dropUpstream()
		c.drainAfterError()
		return false
	}
	return true
}

// prepare changes a request into the form that the server receives.
func (c *client) prepare(req *http.Request, t target, websocket bool) {
	trailers := hasToken(req.Header["Te"], "trailers")
	dropHop(req.Header)
	if trailers {
		req.Header.Set("TE", "trailers")
	}
	if websocket {
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "websocket")
	}
	if _, exists := req.Header["User-Agent"]; !exists {
		req.Header["User-Agent"] = []string{""} // an empty value, so that net/http does not add one
	}
	if _, exists := req.Header["Expect"]; exists && req.Body != http.NoBody {
		req.Body = &continueReader{ReadCloser: req.Body, w: c}
	}
	req.Header.Del("Expect")
	authority := t.String()
	if t.port == 80 {
		authority = authority[:len(authority)-len(":80")]
	}
	u := *req.URL
	u.Scheme, u.Host, u.User, u.Opaque, u.Fragment = "http", authority, nil, "", ""
	req.URL = &u
	req.Host, req.RequestURI, req.Close = authority, "", false
}

// continueReader asks the client to send its body as soon as the body is read, unless there is a
// response already.
type continueReader struct {
	io.ReadCloser
	w    io.Writer
	sent sync.Once
}

func (e *continueReader) Read(b []byte) (int, error) {
	e.sent.Do(func() { _, _ = io.WriteString(e.w, "HTTP/1.1 100 Continue\r\n\r\n") })
	return e.ReadCloser.Read(b)
}

// answered ensures that no interim response is sent once the final one has begun.
func answered(req *http.Request) {
	if e, ok := req.Body.(*continueReader); ok {
		e.sent.Do(func() {})
	}
}

func isIdempotent(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete, http.MethodTrace:
		return true
	}
	return false
}

// connectFor returns a connection to a target. If the last request had the same target, it returns
// the connection of that request.
func (c *client) connectFor(t target) (up *bufferedConn, fresh bool, dialErr *dialError) {
	if c.up != nil && c.upstreamTarget == t {
		return c.up, false, nil
	}
	c.dropUpstream()
	if up, dialErr = c.dial(t, true); dialErr != nil {
		return nil, true, dialErr
	}
	c.up, c.upstreamTarget = up, t
	return up, true, nil
}

func (c *client) dropUpstream() {
	if c.up != nil {
		c.up.Close()
		c.up = nil
	}
}

// send writes a request. The response may arrive before the whole request is written.
func (c *client) send(req *http.Request, up *bufferedConn) <-chan error {
	done := make(chan error, 1)
	write := func() {
		w := bufio.NewWriter(up)
		err := req.Write
		if up.absolute {
			err = req.WriteProxy
		}
		done <- errors.Join(err(w), w.Flush())
	}
	if req.Body == http.NoBody || req.Body == nil {
		write()
	} else {
		c.start(write)
	}
	return done
}

// finish waits until the request is written. If the client is still sending a request that has
// already been answered, finish stops it after a delay.
func (c *client) finish(sent <-chan error) bool {
	wait := time.NewTimer(drainTimeout)
	defer wait.Stop()
	select {
	case err := <-sent:
		return err == nil
	case <-wait.C:
	}
	c.dropUpstream()
	_ = c.SetReadDeadline(time.Unix(1, 0))
	<-sent //nolint:errcheck // it was stopped
	c.clearReadDeadline()
	return false
}

// maxInterim is the maximum number of interim responses.
const maxInterim = 16

// receive reads the header of the final response, and sends interim responses to the client.
func (c *client) receive(req *http.Request, up *bufferedConn) (*http.Response, error) {
	for range maxInterim {
		if _, err := peekHead(up.r); err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(up.r, req)
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols:
			return resp, nil
		case resp.StatusCode != http.StatusContinue && req.ProtoMinor > 0:
			if err := c.writeHead(resp); err != nil {
				return nil, err
			}
		}
	}
	return nil, errors.New("it sends only interim responses")
}

func (c *client) writeHead(resp *http.Response, lines ...string) error {
	dropHop(resp.Header)
	w := bufio.NewWriter(c)
	fmt.Fprintf(w, "HTTP/1.1 %s\r\n", resp.Status)
	_ = resp.Header.Write(w)
	for _, line := range lines {
		_, _ = w.WriteString(line + "\r\n")
	}
	_, _ = w.WriteString("\r\n")
	return w.Flush()
}

// switchProtocols turns the connection into a WebSocket tunnel.
func (c *client) switchProtocols(resp *http.Response, up *bufferedConn, asked bool) {
	if !asked || !wantsWebSocket(resp.Header) {
		c.answer(http.StatusBadGateway, "", "the server switched to a protocol that was not requested\n")
		return
	}
	if c.writeHead(resp, "Connection: Upgrade", "Upgrade: websocket") == nil {
		c.join(up)
	}
}

// reply sends a response to the client. It reports which connections can be reused.
func (c *client) reply(req *http.Request, resp *http.Response, up *bufferedConn, last bool) (keepUp, keepClient bool) {
	lines := []string{}
	if last {
		lines = append(lines, "Connection: close")
	}
	bodiless := req.Method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
	chunked := resp.ContentLength < 0 && len(resp.TransferEncoding) > 0
	switch {
	case bodiless:
		return !resp.Close, c.writeHead(resp, lines...) == nil && !last
	case resp.ContentLength >= 0:
		resp.Header.Set("Content-Length", fmt.Sprint(resp.ContentLength))
		ok := c.writeHead(resp, lines...) == nil && c.copyN(c.Conn, up, resp.ContentLength) == nil
		return ok && !resp.Close, ok && !last
	case chunked && req.ProtoMinor > 0:
		ok := c.writeHead(resp, append(lines, "Transfer-Encoding: chunked")...) == nil && c.copyChunked(resp) == nil
		return ok && !resp.Close, ok && !last
	}
	if !last {
		lines = append(lines, "Connection: close")
	}
	if c.writeHead(resp, lines...) == nil {
		_ = c.p.blocks.stream(c.Conn, resp.Body, func() {}) // the client sees only the end of the connection
	}
	return false, false
}

// copyChunked copies a chunked body, each chunk as soon as it arrives, and the trailer.
func (c *client) copyChunked(resp *http.Response) error {
	w := bufio.NewWriterSize(c, bufferSize+16)
	chunks := flusher{httputil.NewChunkedWriter(w), w}
	if err := c.p.blocks.stream(chunks, resp.Body, func() {}); err != nil {
		return err
	}
	if err := chunks.Close(); err != nil {
		return err
	}
	dropHop(resp.Trailer)
	_ = resp.Trailer.Write(w)
	_, _ = w.WriteString("\r\n")
	return w.Flush()
}

// flusher sends each chunk immediately.
type flusher struct {
	io.WriteCloser
	w *bufio.Writer
}

func (f flusher) Write(b []byte) (int, error) {
	n, err := f.WriteCloser.Write(b)
	return n, errors.Join(err, f.w.Flush())
}
