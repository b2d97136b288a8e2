package egress

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// handshake does a TLS handshake over a connection, for a name.
func handshake(c net.Conn, name string) (*tls.Conn, error) {
	s := tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	return s, s.Handshake()
}

func TestTunnelTLS(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	for _, tt := range []struct {
		name, to, sni string
		allow         []string
		want          string // the reason of a refusal
	}{
		{"the same", "allowed.test:443", "allowed.test", []string{"allowed.test"}, ""},
		{"in capitals", "ALLOWED.test.:443", "Allowed.Test", []string{"allowed.test"}, ""},
		{"another", "allowed.test:443", "evil.test", []string{"allowed.test"}, "the TLS connection inside is for evil.test"},
		{"another that is allowed", "allowed.test:443", "evil.test", []string{"*"}, "the TLS connection inside is for evil.test"},
		{"below it", "allowed.test:443", "x.allowed.test", []string{"allowed.test", "*.allowed.test"}, "the TLS connection inside is for x.allowed.test"},
		{"none", "allowed.test:443", "", []string{"allowed.test"}, "the TLS connection inside does not name its host"},
		{"no host", "allowed.test:443", "a_b.test", []string{"allowed.test"}, `the TLS connection inside is for "a_b.test", which is not a host`},
		{"an address, none", allowedIP + ":443", "", []string{allowedIP}, ""},
		{"an address, an allowed name", allowedIP + ":443", "allowed.test", []string{allowedIP, "allowed.test"}, ""},
		{"an address, another name", allowedIP + ":443", "evil.test", []string{allowedIP}, "no entry names it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := n.proxy(nil, allow(tt.allow...))
			s, err := handshake(r.tunnel(t, tt.to), tt.sni)
			if tt.want == "" {
				if err != nil || len(r.Refusals()) != 0 {
					t.Errorf("got %v, %v", err, r.Refusals())
				}
				return
			}
			if err == nil || err.Error() != "remote error: tls: access denied" {
				t.Errorf("got %v", err)
			}
			if _, err := s.Write([]byte("x")); err == nil {
				t.Error("the tunnel is open")
			}
			if got := r.reason(); !strings.HasSuffix(got, ": "+tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// slowWriter sends data in small pieces, and splits TLS records.
type slowWriter struct{ net.Conn }

func (c slowWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), 40)
		if _, err := c.Conn.Write(rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

func TestHelloInPieces(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	if _, err := handshake(slowWriter{r.tunnel(t, "allowed.test:443")}, "allowed.test"); err != nil {
		t.Error(err)
	}
	if _, err := handshake(slowWriter{r.tunnel(t, "allowed.test:443")}, "evil.test"); err == nil {
		t.Error("another name passed")
	}
}

// Records before a hello that some servers skip do not hide the hello.
func TestHelloBehindOtherRecords(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	hello := string(clientHello(t, "evil.test"))
	for name, begun := range map[string]string{
		"a warning":     "\x15\x03\x01\x00\x02\x01\x5a" + hello,
		"change cipher": "\x14\x03\x01\x00\x01\x01" + hello,
		"heartbeat":     "\x18\x03\x01\x00\x03\x01\x00\x00" + hello,
		"empty record":  "\x16\x03\x01\x00\x00" + hello,
		"SSL 2":         "\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10" + strings.Repeat("x", 37),
	} {
		before := r.More() + len(r.Refusals())
		if got := r.tunnel(t, "allowed.test:443").send(begun).rest(); strings.Trim(got, string(alertAccessDenied)) != "" {
			t.Errorf("%s: the server answered %q", name, got)
		}
		if before == 0 && len(r.Refusals()) == 0 {
			t.Errorf("%s: not recorded", name)
		}
	}
}

// clientHello returns the first message of a client.
func clientHello(t testing.TB, name string) []byte {
	var b bytes.Buffer
	c := tls.Client(&writeOnly{w: &b}, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if c.Handshake() == nil || b.Len() == 0 {
		t.Fatal("no hello")
	}
	return b.Bytes()
}

type writeOnly struct {
	net.Conn
	w io.Writer
}

func (c *writeOnly) Write(b []byte) (int, error)     { return c.w.Write(b) }
func (c *writeOnly) Read([]byte) (int, error)        { return 0, io.EOF }
func (c *writeOnly) Close() error                    { return nil }
func (c *writeOnly) SetDeadline(time.Time) error     { return nil }
func (c *writeOnly) SetReadDeadline(time.Time) error { return nil }

func TestReadHello(t *testing.T) {
	hello := clientHello(t, "allowed.test")
	split := splitRecord(hello, 7)
	for name, tt := range map[string]struct {
		in   []byte
		want string
		bad  bool
	}{
		"whole":       {hello, "allowed.test", false},
		"two records": {split, "allowed.test", false},
		"more behind": {append(bytes.Clone(hello), "more"...), "allowed.test", false},
		"cut":         {hello[:len(hello)-1], "", true},
		"empty":       {nil, "", true},
		"not a hello": {[]byte{0x16, 3, 1, 0, 4, 2, 0, 0, 0}, "", true},
		"large":       {[]byte{0x16, 3, 1, 0xff, 0xff, 1}, "", true},
		"an alert":    {[]byte{0x15, 3, 1, 0, 2, 1, 0}, "", true},
	} {
		got, read, err := readHello(bytes.NewReader(tt.in))
		if (err != nil) != tt.bad || got != tt.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if !bytes.HasPrefix(tt.in, read) || !tt.bad && len(read) < len(hello) {
			t.Errorf("%s: %d bytes of %d were passed on", name, len(read), len(tt.in))
		}
	}
}

// splitRecord splits a TLS record into two.
func splitRecord(hello []byte, at int) []byte {
	head, body := hello[:3], hello[5:]
	out := append(bytes.Clone(head), byte(at>>8), byte(at))
	out = append(append(out, body[:at]...), head...)
	rest := body[at:]
	out = append(out, byte(len(rest)>>8), byte(len(rest)))
	return append(out, rest...)
}

func FuzzReadHello(f *testing.F) {
	hello := clientHello(f, "allowed.test")
	f.Add(hello)
	f.Add(splitRecord(hello, 9))
	f.Fuzz(func(t *testing.T, in []byte) {
		_, read, err := readHello(bytes.NewReader(in))
		if !bytes.HasPrefix(in, read) {
			t.Errorf("what was read is not what came")
		}
		if err == nil && len(read) < 6 {
			t.Errorf("%x is a hello", read)
		}
	})
}

// HTTP in a tunnel is checked by its Host, request by request.
func TestTunnelHTTP(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test", "*.allowed.test"))
	p := r.tunnel(t, "allowed.test:80")
	for _, request := range []string{
		"GET /x HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"GET /y HTTP/1.1\r\nHost: Allowed.test.:80\r\n\r\n",
		"GET http://allowed.test/z HTTP/1.1\r\nHost: evil.test\r\n\r\n",
	} {
		resp, body := p.send(request).answer("GET")
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, "host=allowed.test") {
			t.Errorf("%q: %s %q", request, resp.Status, body)
		}
	}
	if resp, _ := p.send("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n").answer("GET"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("got %s", resp.Status)
	}
	for request, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n":                                              403,
		"\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n":                                      400,
		"GET / http/1.1\r\nHost: evil.test\r\n\r\n":                                              400,
		"GET / HTTP/1.1\nHost: evil.test\n\n":                                                    400,
		"G\u00cbT / HTTP/1.1\r\nHost: evil.test\r\n\r\n":                                         400,
		"GET / HTTP/1.1\r\nHost: x.allowed.test\r\n\r\n":                                         403,
		"GET / HTTP/1.1\r\nHost: allowed.test:81\r\n\r\n":                                        403,
		"GET http://evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n":                           403,
		"CONNECT evil.test:443 HTTP/1.1\r\nHost: allowed.test\r\n\r\n":                           400,
		"CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test\r\n\r\n":                        400,
		"GET /" + strings.Repeat("x", maxLine) + " HTTP/1.1\r\nHost: evil.test\r\n\r\n":          403,
		"GET / HTTP/1.0\r\n\r\n":                                                                 200,
		"GET /" + strings.Repeat("x", maxLine) + " HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n":    200,
		"GET /" + strings.Repeat("x", bufferSize) + " HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n": 431,
	} {
		resp, body := r.tunnel(t, "allowed.test:80").send(request).answer("GET")
		if resp.StatusCode != want {
			t.Errorf("%.60q: %s %q", request, resp.Status, body)
		}
	}
	p = r.tunnel(t, "allowed.test:80").send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	if rest := p.rest(); rest != "" {
		t.Errorf("HTTP/2 without TLS was answered: %q", rest)
	}
}

// serveRaw answers each connection at an address with f.
func (n *fakeNetwork) serveRaw(address string, f func(net.Conn)) {
	l, to := n.listen()
	n.route(address, to)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				f(conn)
			}()
		}
	}()
}

func TestTunnelOfOtherProtocols(t *testing.T) {
	n := newFakeNetwork(t)
	n.name("allowed.test", allowedIP)
	n.serveRaw(allowedIP+":22", func(c net.Conn) { // the server speaks first
		io.WriteString(c, "SSH-2.0-server\r\n")
		b := make([]byte, 16)
		k, _ := c.Read(b)
		c.Write(bytes.ToUpper(b[:k]))
	})
	n.serveRaw(allowedIP+":5432", func(c net.Conn) { // the client speaks, and waits
		b := make([]byte, 4)
		io.ReadFull(c, b)
		c.Write(b)
	})
	n.serveRaw(allowedIP+":7", func(c net.Conn) { // all is read before the answer
		b, _ := io.ReadAll(c)
		c.Write(b)
	})
	r := n.proxy(nil, allow("allowed.test:22", "allowed.test:7", "allowed.test"))

	p := r.tunnel(t, "allowed.test:22")
	if line, _ := p.r.ReadString('\n'); line != "SSH-2.0-server\r\n" {
		t.Errorf("got %q", line)
	}
	if got := p.send("client").rest(); got != "CLIENT" {
		t.Errorf("got %q", got)
	}
	if got := r.tunnel(t, "allowed.test:5432").send("\x00\x00\x00\x08").rest(); got != "\x00\x00\x00\x08" {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{"one line\n", "no line", "", strings.Repeat("line\n", 100_000)} {
		p := r.tunnel(t, "allowed.test:7").send(text)
		p.Conn.(*net.TCPConn).CloseWrite()
		if got := p.rest(); got != text {
			t.Errorf("%d bytes came back of %d", len(got), len(text))
		}
	}
	if list := r.Refusals(); len(list) != 0 {
		t.Errorf("refused %v", list)
	}
}

// A client that does not reveal its protocol is disconnected, whatever it started with.
func TestTunnelTimesOut(t *testing.T) { synctest.Test(t, tunnelTimesOut) }

func tunnelTimesOut(t *testing.T) {
	n := newPipeNetwork(t)
	n.name("allowed.test", allowedIP)
	n.serveRaw(allowedIP+":443", func(c net.Conn) { _, _ = io.Copy(c, c) })
	r := n.proxy(&Options{Limits: Limits{HeaderTime: 50 * time.Millisecond}}, allow("allowed.test"))
	for _, begun := range []string{"GET / HTT", "\x16\x03\x01"} {
		p := r.tunnel(t, "allowed.test:443").send(begun)
		if rest := p.rest(); strings.Trim(rest, string(alertAccessDenied)) != "" {
			t.Errorf("%q: %q", begun, rest)
		}
	}
	p := r.connect(t).send("GET http://allowed.test/ HTTP/1.1\r\n")
	if rest := p.rest(); rest != "" {
		t.Errorf("got %q", rest)
	}
}
