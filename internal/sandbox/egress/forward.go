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

// forward passes a request on and the answer back. It says whether the client's
// connection can take another request.
func (c *client) forward(req *http.Request, t target) bool {
	websocket := wantsWebSocket(req.Header)
	last := req.Close || req.ProtoMinor == 0
	c.prepare(req, t, websocket)
	up, fresh, wrong := c.connectFor(t)
	if wrong != nil {
		c.answerDial(t, wrong)
		return false
	}
	sent := c.send(req, up)
	resp, err := c.receive(req, up) //nolint:bodyclose // it is read to its end or its connection is closed
	if err != nil && !fresh && req.Body == http.NoBody && isIdempotent(req.Method) {
		c.dropUpstream()
		if up, wrong = c.dial(t, true); wrong != nil {
			c.answerDial(t, wrong)
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

// prepare makes a request what the server is to see of it.
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
	if _, there := req.Header["User-Agent"]; !there {
		req.Header["User-Agent"] = []string{""} // so that none is made up
	}
	if _, there := req.Header["Expect"]; there && req.Body != http.NoBody {
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

// continueReader tells the client to send its body when somebody reads it before there
// is an answer.
type continueReader struct {
	io.ReadCloser
	w    io.Writer
	told sync.Once
}

func (e *continueReader) Read(b []byte) (int, error) {
	e.told.Do(func() { _, _ = io.WriteString(e.w, "HTTP/1.1 100 Continue\r\n\r\n") })
	return e.ReadCloser.Read(b)
}

// answered keeps the client from being told in the middle of an answer.
func answered(req *http.Request) {
	if e, ok := req.Body.(*continueReader); ok {
		e.told.Do(func() {})
	}
}

func isIdempotent(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete, http.MethodTrace:
		return true
	}
	return false
}

// connectFor returns a connection to a target: the last request's if it was to
// the same one.
func (c *client) connectFor(t target) (up *bufferedConn, fresh bool, wrong *dialError) {
	if c.up != nil && c.upstreamTarget == t {
		return c.up, false, nil
	}
	c.dropUpstream()
	if up, wrong = c.dial(t, true); wrong != nil {
		return nil, true, wrong
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

// send writes a request while its answer may already come.
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

// finish waits until the request is written. When the client goes on sending what
// was answered already, it is stopped after a while.
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
	c.noDeadline()
	return false
}

// maxInterim bounds how many answers may come before the answer.
const maxInterim = 16

// receive reads the head of the answer. Interim ones are passed on.
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
	return nil, errors.New("it sends only interim answers")
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

// switchProtocols hands the connection over to WebSocket.
func (c *client) switchProtocols(resp *http.Response, up *bufferedConn, asked bool) {
	if !asked || !wantsWebSocket(resp.Header) {
		c.answer(http.StatusBadGateway, "", "the server changed to a protocol that nobody asked for\n")
		return
	}
	if c.writeHead(resp, "Connection: Upgrade", "Upgrade: websocket") == nil {
		c.join(up)
	}
}

// reply passes an answer back. It says which connections can be used again.
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
		_ = c.p.blocks.stream(c.Conn, resp.Body, func() {}) // its end is all that the client learns
	}
	return false, false
}

// copyChunked copies a body in chunks, each as soon as it is there, and the trailer.
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

// flusher sends each chunk at once.
type flusher struct {
	io.WriteCloser
	w *bufio.Writer
}

func (f flusher) Write(b []byte) (int, error) {
	n, err := f.WriteCloser.Write(b)
	return n, errors.Join(err, f.w.Flush())
}
