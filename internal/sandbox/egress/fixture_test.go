package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pipe "github.com/holdfast-dev/holdfast/internal/listen"
)

// fakeNetwork contains what the proxy of a test can reach: names with addresses, and addresses that lead to
// listeners of the test.
type fakeNetwork struct {
	t testing.TB

	mu      sync.Mutex
	names   map[string][]netip.Addr
	routes  map[string]string     // "93.184.216.34:80" → "127.0.0.1:40000"
	pipes   map[string]*pipe.Pipe // by address, instead of sockets; nil: sockets are used
	lookups []string
	dials   []string
}

func newFakeNetwork(t testing.TB) *fakeNetwork {
	return &fakeNetwork{t: t, names: map[string][]netip.Addr{}, routes: map[string]string{}}
}

// newPipeNetwork is a network without sockets, for synctest.
func newPipeNetwork(t testing.TB) *fakeNetwork {
	n := newFakeNetwork(t)
	n.pipes = map[string]*pipe.Pipe{}
	return n
}

// listen returns a listener of the test, and its address for open.
func (n *fakeNetwork) listen() (net.Listener, string) {
	if n.pipes == nil {
		l := listen(n.t)
		return l, l.Addr().String()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l, address := pipe.NewPipe(), fmt.Sprint("pipe ", len(n.pipes))
	n.t.Cleanup(func() { l.Close() })
	n.pipes[address] = l
	return l, address
}

func (n *fakeNetwork) open(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.pipes[address]
	n.mu.Unlock()
	if l != nil {
		return l.Dial(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// The addresses of test hosts are public ones; nothing is ever sent to them.
const (
	allowedIP = "93.184.216.34"
	evilIP    = "93.184.216.66"
)

func (n *fakeNetwork) name(host string, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[host] = nil
	for _, a := range addrs {
		n.names[host] = append(n.names[host], netip.MustParseAddr(a))
	}
}

func (n *fakeNetwork) route(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.routes[from] = to
}

func (n *fakeNetwork) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookups = append(n.lookups, host)
	addrs, ok := n.names[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return slices.Clone(addrs), nil
}

func (n *fakeNetwork) dial(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dials = append(n.dials, address)
	to, ok := n.routes[address]
	n.mu.Unlock()
	if !ok {
		if strings.HasPrefix(address, "127.0.0.1:") {
			to = address
		} else {
			return nil, fmt.Errorf("no route to %s", address)
		}
	}
	return n.open(ctx, network, to)
}

func (n *fakeNetwork) seen() (lookups, dials []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lookups), slices.Clone(n.dials)
}

// web starts servers for allowed.test and evil.test, with HTTP and TLS.
func (n *fakeNetwork) web(h http.Handler) (*httptest.Server, *httptest.Server) {
	plain, secure := httptest.NewServer(h), httptest.NewUnstartedServer(h)
	secure.EnableHTTP2 = true
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	n.t.Cleanup(plain.Close)
	n.t.Cleanup(secure.Close)
	n.name("allowed.test", allowedIP)
	n.name("evil.test", evilIP)
	for _, ip := range []string{allowedIP, evilIP} {
		n.route(ip+":80", plain.Listener.Addr().String())
		n.route(ip+":443", secure.Listener.Addr().String())
	}
	return plain, secure
}

// runningProxy is a proxy that serves one session.
type runningProxy struct {
	*Session
	n    *fakeNetwork
	addr string
	log  *logBuffer
	stop func() // waits for Serve
}

func (n *fakeNetwork) proxy(o *Options, layers ...Layer) *runningProxy {
	n.t.Helper()
	rules, err := Compile(layers...)
	if err != nil {
		n.t.Fatal(err)
	}
	opts := Options{}
	if o != nil {
		opts = *o
	}
	r := &runningProxy{Session: &Session{ID: "command-7"}, n: n, log: &logBuffer{}}
	opts.Resolve, opts.Dial = n.resolve, n.dial
	opts.Log = slog.New(slog.NewJSONHandler(r.log, nil))
	p, err := New(rules, &opts)
	if err != nil {
		n.t.Fatal(err)
	}
	l, addr := n.listen()
	r.addr = addr
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, l, r.Session) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				n.t.Errorf("Serve: %v", err)
			}
		case <-time.After(20 * time.Second):
			n.t.Error("Serve does not end")
		}
	})
	n.t.Cleanup(r.stop)
	return r
}

func allow(entries ...string) Layer { return Layer{Allow: entries} }

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// peer is a raw connection to the proxy.
type peer struct {
	net.Conn
	r *bufio.Reader
	t testing.TB
}

func (r *runningProxy) connect(t testing.TB) *peer {
	t.Helper()
	c, err := r.n.open(t.Context(), "tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return &peer{Conn: c, r: bufio.NewReader(c), t: t}
}

func (p *peer) Read(b []byte) (int, error) { return p.r.Read(b) }

func (p *peer) send(text string) *peer {
	p.t.Helper()
	if _, err := io.WriteString(p.Conn, text); err != nil {
		p.t.Fatal(err)
	}
	return p
}

// answerHead is a response without its body.
type answerHead struct {
	StatusCode int
	Status     string
	Header     http.Header
	Trailer    http.Header
	Length     int64
	Close      bool
}

func headOf(r *http.Response) answerHead {
	return answerHead{r.StatusCode, r.Status, r.Header, r.Trailer, r.ContentLength, r.Close}
}

// fetch sends a request with an HTTP client.
func fetch(t testing.TB, c *http.Client, method, url string) (answerHead, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return headOf(resp), string(body)
}

// answer reads the response to a request with a method.
func (p *peer) answer(method string) (answerHead, string) {
	p.t.Helper()
	resp, err := http.ReadResponse(p.r, &http.Request{Method: method})
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var body []byte
	if method != http.MethodConnect || resp.StatusCode != http.StatusOK {
		if body, err = io.ReadAll(resp.Body); err != nil {
			p.t.Fatal(err)
		}
	}
	return headOf(resp), string(body)
}

// tunnel opens a tunnel with CONNECT.
func (r *runningProxy) tunnel(t testing.TB, to string) *peer {
	t.Helper()
	p := r.connect(t)
	resp, body := p.send("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n").answer(http.MethodConnect)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT %s: %s: %s", to, resp.Status, body)
	}
	return p
}

// client returns an HTTP client that uses the proxy.
func (r *runningProxy) client(t testing.TB) *http.Client {
	tr := &http.Transport{
		Proxy:           http.ProxyURL(parseURL(t, "http://"+r.addr)),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

// rest reads until the other side closes.
func (p *peer) rest() string {
	b, _ := io.ReadAll(p.r)
	return string(b)
}

// reason returns the reason of the only refusal, or why there is not exactly one.
func (r *runningProxy) reason() string {
	list := r.Refusals()
	if len(list) != 1 {
		return fmt.Sprintf("%d refusals", len(list))
	}
	return list[0].Target() + ": " + list[0].Reason
}
