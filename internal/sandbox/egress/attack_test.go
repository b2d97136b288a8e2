package egress

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// onlyAllowed fails if the proxy connected to anything but the allowed host.
func (n *fakeNetwork) onlyAllowed(what string) {
	n.t.Helper()
	_, dials := n.seen()
	for _, d := range dials {
		if !strings.HasPrefix(d, allowedIP+":") {
			n.t.Errorf("%s: connected to %s", what, d)
		}
	}
}

// finish ends the sending side, and reads everything that arrives.
func (p *peer) finish() string {
	_ = p.Conn.(*net.TCPConn).CloseWrite()
	return p.rest()
}

// If every name is allowed, no spelling of an address and no other host in a request leads to an address.
func TestAttackByRequest(t *testing.T) {
	get := func(url, host string) string { return "GET " + url + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n" }
	for _, request := range []string{
		get("http://169.254.169.254/latest/meta-data/", "allowed.test"),
		get("http://allowed.test@169.254.169.254/", "allowed.test"),
		get("http://allowed.test:80@169.254.169.254/", "allowed.test"),
		get("http://169.254.169.254#@allowed.test/", "allowed.test"),
		get("http://169.254.169.254\\@allowed.test/", "allowed.test"),
		get("http://169.254.169.254%2f@allowed.test/", "allowed.test"),
		get("http://2852039166/", "allowed.test"),
		get("http://0xa9fea9fe/", "allowed.test"),
		get("http://0251.0376.0251.0376/", "allowed.test"),
		get("http://169.254.43518/", "allowed.test"),
		get("http://[::ffff:a9fe:a9fe]/", "allowed.test"),
		get("http://[64:ff9b::169.254.169.254]/", "allowed.test"),
		get("http://[fe80::1%25lo]/", "allowed.test"),
		get("http://[fd00:ec2::254]/", "allowed.test"),
		get("http://①②⑦.0.0.1/", "allowed.test"),
		get("http://0/", "allowed.test"),
		get("http://127.1:22/", "allowed.test"),
		get("http://localhost/", "allowed.test"),
		get("http://LOCALHOST./", "allowed.test"),
		get("http://x.localhost/", "allowed.test"),
		get("ftp://169.254.169.254/", "allowed.test"),
		get("//169.254.169.254/", "169.254.169.254"),
		get("/", "169.254.169.254"),
		"GET http://169.254.169.254/ HTTP/1.0\r\n\r\n",
		"GET http://allowed.test/\thttp://127.0.0.1/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n",
		"CONNECT allowed.test:80@127.0.0.1:80 HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"CONNECT 127.0.0.1 HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"CONNECT [::1]:80 HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"CONNECT [::]:80 HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"CONNECT 0.0.0.0:80 HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"\x05\x01\x00\x05\x01\x00\x01\xa9\xfe\xa9\xfe\x00\x50",
		"\x05\x01\x00\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xa9\xfe\xa9\xfe\x00\x50",
		"\x05\x01\x00\x05\x01\x00\x03\x0f169.254.169.254\x00\x50",
		"\x05\x01\x00\x05\x01\x00\x03\x09127.0.0.1\x00\x50",
		"\x05\x01\x00\x05\x01\x00\x03\x16127.0.0.1\x00.allowed.test\x00\x50",
		"\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50",
		"\x04\x01\x00\x50\x7f\x00\x00\x01\x00",
		"\x04\x01\x00\x50\x00\x00\x00\x01\x00localhost\x00",
	} {
		n := newFakeNetwork(t)
		n.web(http.HandlerFunc(echo))
		r := n.proxy(nil, allow("*"))
		if got := r.connect(t).send(request).finish(); strings.Contains(got, " 200 ") || strings.Contains(got, "\x05\x00\x00") {
			t.Errorf("%q: %q", request, got)
		}
		if _, dials := n.seen(); len(dials) != 0 {
			t.Errorf("%q: connected to %s", request, dials)
		}
	}
}

// Data after an allowed request on the same connection is checked as well, however it is hidden.
func TestAttackBehindAllowedRequest(t *testing.T) {
	evil := "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"
	post := "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n"
	for name, request := range map[string]string{
		"pipelined":          "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n" + evil,
		"CONNECT":            "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\nCONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		"behind a body":      post + "Content-Length: 1\r\n\r\nx" + evil,
		"behind chunks":      post + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n" + evil,
		"two lengths":        post + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n" + evil,
		"length and chunks":  post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + evil,
		"a signed length":    post + "Content-Length: +0\r\n\r\n" + evil,
		"an unknown upgrade": "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + evil,
		"Host taken away":    "GET http://allowed.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: Host\r\n\r\n" + evil,
	} {
		n := newFakeNetwork(t)
		n.web(http.HandlerFunc(echo))
		r := n.proxy(nil, allow("allowed.test"))
		if got := r.connect(t).send(request).finish(); strings.Contains(got, "host=evil.test") {
			t.Errorf("%s: %q", name, got)
		}
		n.onlyAllowed(name)
	}
}

// An allowed name that resolves to an internal address is refused, and so is one that changes its address.
func TestAttackByAddress(t *testing.T) {
	for _, a := range []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "255.255.255.255",
		"::1", "::", "::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "fd00:ec2::254", "fe80::1", "ff02::1",
	} {
		n := newFakeNetwork(t)
		n.name("rebind.test", a)
		r := n.proxy(nil, allow("*", "rebind.test"))
		if got := r.connect(t).send("CONNECT rebind.test:80 HTTP/1.1\r\n\r\n").finish(); !strings.Contains(got, "private address") {
			t.Errorf("%s: %q", a, got)
		}
		n.onlyAllowed(a)
	}
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	n.name("rebind.test", "127.0.0.1", allowedIP, "::1")
	r := n.proxy(nil, allow("rebind.test"))
	fetch(t, r.client(t), "GET", "http://rebind.test/")
	n.name("rebind.test", "127.0.0.1")
	if resp, _ := fetch(t, r.client(t), "GET", "http://rebind.test/"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("after it changed: %s", resp.Status)
	}
	n.onlyAllowed("changed")
}

// The proxy follows no redirect: the client does, and is checked again.
func TestAttackByRedirect(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.RedirectHandler("http://169.254.169.254/", http.StatusFound))
	r := n.proxy(nil, allow("allowed.test"))
	if resp, _ := fetch(t, r.client(t), "GET", "http://allowed.test/"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("got %s", resp.Status)
	}
	n.onlyAllowed("redirect")
}

// echConfigs returns the ECH configuration of a server: its outer name and a key.
func echConfigs(t *testing.T, outer string) []byte {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sized := func(b []byte) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...) }
	body := append([]byte{7, 0, 0x20}, sized(key.PublicKey().Bytes())...) // X25519
	body = append(body, sized([]byte{0, 1, 0, 1})...)                     // HKDF-SHA256, AES-128-GCM
	body = append(append(body, 32, byte(len(outer))), outer...)
	body = append(body, 0, 0)
	return sized(append([]byte{0xfe, 0x0d}, sized(body)...))
}

// For a hello with ECH the outer name is checked: it must be the tunnel's host. Only the server with the key
// can read the inner one.
func TestHelloWithECH(t *testing.T) {
	hello := func(outer, inner string) []byte {
		var b bytes.Buffer
		c := tls.Client(&writeOnly{w: &b}, &tls.Config{
			ServerName: inner, MinVersion: tls.VersionTLS13, EncryptedClientHelloConfigList: echConfigs(t, outer),
		})
		if c.HandshakeContext(context.Background()) == nil || b.Len() == 0 {
			t.Fatal("no hello")
		}
		if bytes.Contains(b.Bytes(), []byte(inner)) {
			t.Fatal("the inner name can be read")
		}
		return b.Bytes()
	}
	n := newFakeNetwork(t)
	n.name("allowed.test", allowedIP)
	arrived := make(chan int, 1)
	n.serveRaw(allowedIP+":443", func(c net.Conn) {
		b, _ := io.ReadAll(c)
		arrived <- len(b)
	})
	r := n.proxy(nil, allow("allowed.test", "front.test"))
	if got := r.tunnel(t, "allowed.test:443").send(string(hello("front.test", "allowed-inner.test"))).rest(); got != string(alertAccessDenied) {
		t.Errorf("another outer name: %q", got)
	}
	if k := <-arrived; k != 0 {
		t.Errorf("%d bytes of another outer name arrived", k)
	}
	if got := r.reason(); !strings.HasSuffix(got, "the TLS connection inside is for front.test") {
		t.Error(got)
	}
	outer := hello("allowed.test", "secret.test")
	r.tunnel(t, "allowed.test:443").send(string(outer)).finish()
	if k := <-arrived; k != len(outer) {
		t.Errorf("%d bytes of %d arrived", k, len(outer))
	}
}

// A tunnel without data ends; one that is used does not.
func TestTunnelIdle(t *testing.T) { synctest.Test(t, tunnelIdle) }

func tunnelIdle(t *testing.T) {
	n := newPipeNetwork(t)
	n.name("allowed.test", allowedIP)
	n.serveRaw(allowedIP+":8000", func(c net.Conn) { _, _ = io.Copy(c, c) })
	const limit = 800 * time.Millisecond
	r := n.proxy(&Options{Limits: Limits{TunnelTime: limit}}, allow("allowed.test"))
	p := r.tunnel(t, "allowed.test:8000")
	start := time.Now()
	b := make([]byte, 2)
	for pace := time.NewTicker(limit / 10); time.Since(start) < 2*limit; <-pace.C {
		if _, err := io.ReadFull(p.send("\x00x"), b); err != nil {
			t.Fatalf("after %v: %v", time.Since(start), err)
		}
	}
	if rest := p.rest(); rest != "" {
		t.Errorf("got %q", rest)
	}
	silent := r.tunnel(t, "allowed.test:8000")
	if rest := silent.rest(); rest != "" || time.Since(start) > 15*time.Second {
		t.Errorf("%q after %v", rest, time.Since(start))
	}
}

// Addresses of this machine that look public are refused.
func TestAttackByOwnAddress(t *testing.T) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && isPublic(p.Addr()) {
			t.Errorf("%s is taken for a public address", a)
		}
	}
}
