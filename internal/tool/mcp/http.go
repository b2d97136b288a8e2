package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
)

// Limits for HTTP responses of a server.
const (
	maxBody     = maxMessage
	maxEvent    = maxMessage
	deleteTime  = time.Second // for telling a server that a session is over
	maxRedirect = 3
)

// httpTransport is the HTTP transport of a server.
func (c *Client) httpTransport(s *Server) (sdk.Transport, error) {
	u, err := s.address()
	if err != nil {
		return nil, err
	}
	client := c.httpClient(s, u)
	if s.kind() == SSE {
		return &sdk.SSEClientTransport{Endpoint: u.String(), HTTPClient: client, MaxEventSize: maxEvent}, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: u.String(), HTTPClient: client, MaxEventSize: maxEvent, MaxRetries: 2}, nil
}

func hasHeader(headers map[string]string, name string) bool {
	for have := range headers {
		if strings.EqualFold(have, name) {
			return true
		}
	}
	return false
}

// httpClient returns the client for requests to a server. It sends requests only to the origin of
// the server, because the requests contain credentials.
func (c *Client) httpClient(s *Server, u *url.URL) *http.Client {
	next := c.transport()
	if !hasHeader(s.Headers, "Authorization") {
		next = &oauthTransport{next: next, store: c.tokens(s.URL), client: c.oauthClient(u)}
	}
	return &http.Client{
		Transport: &headerTransport{next: next, at: u, headers: s.Headers},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch {
			case !sameOrigin(req.URL, u):
				return fmt.Errorf("the server redirects to another address, %s, which is not allowed", req.URL.Host)
			case len(via) > maxRedirect:
				return errors.New("too many redirects")
			}
			return nil
		},
	}
}

// headerTransport adds the headers to requests to one server.
type headerTransport struct {
	next    http.RoundTripper
	at      *url.URL
	headers map[string]string
}

func (t *headerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !sameOrigin(req.URL, t.at) {
		return nil, fmt.Errorf("the request goes to another address, %s, which is not allowed", req.URL.Host)
	}
	ctx, cancel := req.Context(), context.CancelFunc(func() {})
	if req.Method == http.MethodDelete {
		ctx, cancel = context.WithTimeout(ctx, deleteTime)
	}
	req = req.Clone(ctx)
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	call, _ := ctx.Value(runningCallKey{}).(*runningCall)
	if call != nil {
		call.sent.Store(true)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if call != nil && resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "" {
		call.forgotten.Store(true)
	}
	limit := int64(maxBody)
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		limit = -1 // each event is limited
	}
	resp.Body = &limitedBody{in: resp.Body, left: limit, close: cancel}
	return resp, nil
}

// sameOrigin reports whether two URLs have the same origin.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// limitedBody is a body that returns an error if it is too long.
type limitedBody struct {
	in    io.ReadCloser
	left  int64 // negative means unlimited
	close context.CancelFunc
}

func (b *limitedBody) Read(p []byte) (int, error) {
	switch {
	case b.left < 0:
		return b.in.Read(p)
	case b.left == 0:
		var one [1]byte
		if n, err := b.in.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("the response is larger than %d MiB", maxBody>>20)
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (b *limitedBody) Close() error {
	defer b.close()
	return b.in.Close()
}

// transport returns the transport for connections, through the egress proxy if there is one.
func (c *Client) transport() http.RoundTripper {
	c.httpOnce.Do(func() {
		t := &http.Transport{
			DialContext: dial, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, TLSClientConfig: c.o.TLS,
		}
		if c.o.Egress != nil {
			inside := listen.NewPipe()
			t.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "egress.invalid:80"})
			t.DialContext = inside.Dial
			t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error { return refusal(resp) }
			c.goroutines.Go(func() {
				_ = c.o.Egress.Serve(c.ctx, inside, &egress.Session{ID: "MCP servers"})
			})
		}
		c.http = t
	})
	if c.o.Egress != nil {
		return proxyErrorTransport{c.http}
	}
	return c.http
}

// proxyErrorTransport returns an error if a response is from the egress proxy instead of the
// server.
type proxyErrorTransport struct{ next http.RoundTripper }

func (e proxyErrorTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := e.next.RoundTrip(req)
	if err != nil || req.URL.Scheme != "http" {
		return resp, err
	}
	if err := refusal(resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// refusal returns the proxy's error if it refused a request or could not connect, or nil.
func refusal(resp *http.Response) error {
	switch {
	case resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusBadGateway && resp.StatusCode != http.StatusGatewayTimeout,
		!resp.Close || resp.ContentLength < 0 || resp.ContentLength > maxRefusal:
		return nil
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil || !bytes.HasPrefix(text, []byte("the sandbox ")) {
		return nil // it is the server's own response
	}
	return errors.New(strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; "))
}

// maxRefusal is the maximum length of the proxy's message.
const maxRefusal = 4 << 10

// dial connects; localhost always means this machine's loopback, whatever a resolver answers.
func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: 20 * time.Second}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || !strings.EqualFold(host, "localhost") {
		return d.DialContext(ctx, network, addr)
	}
	conn, err := d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		if six, err6 := d.DialContext(ctx, network, net.JoinHostPort("::1", port)); err6 == nil {
			return six, nil
		}
	}
	return conn, err
}
