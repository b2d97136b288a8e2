package egress

import (
	"bytes"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// socksRequest encodes a request for a host, as a name or as an address.
func socksRequest(command byte, host string, port int) string {
	b := []byte{5, command, 0}
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		b = append(append(b, atypIPv4), a.AsSlice()...)
	} else if err == nil {
		b = append(append(b, atypIPv6), a.AsSlice()...)
	} else {
		b = append(append(b, atypName, byte(len(host))), host...)
	}
	return string(append(b, byte(port>>8), byte(port)))
}

// socks sends a greeting and a request for a host; it returns the code of the answer.
func (r *runningProxy) socks(t testing.TB, request string) (*peer, byte) {
	t.Helper()
	p := r.connect(t).send("\x05\x02\x02\x00")
	var answer [10]byte
	if _, err := io.ReadFull(p, answer[:2]); err != nil || answer[0] != 5 || answer[1] != 0 {
		t.Fatalf("got %x, %v", answer[:2], err)
	}
	p.send(request)
	if _, err := io.ReadFull(p, answer[:]); err != nil || answer[0] != 5 {
		t.Fatalf("got %x, %v", answer, err)
	}
	return p, answer[1]
}

func TestSOCKS(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	n.name("private.test", "10.0.0.1")
	n.name("deaf.test", evilIP)
	for _, tt := range []struct {
		name, request string
		want          byte
	}{
		{"allowed", socksRequest(1, "allowed.test", 80), socksOK},
		{"in capitals", socksRequest(1, "ALLOWED.TEST.", 80), socksOK},
		{"an address that is listed", socksRequest(1, evilIP, 80), socksOK},
		{"it as IPv6", socksRequest(1, "::ffff:"+evilIP, 80), socksOK},
		{"it as a text", "\x05\x01\x00\x03\x0d" + evilIP + "\x00\x50", socksOK},
		{"another", socksRequest(1, "evil.test", 80), socksRefused},
		{"another address", socksRequest(1, "127.0.0.1", 80), socksRefused},
		{"an IPv6 address", socksRequest(1, "::1", 80), socksRefused},
		{"loopback in NAT64", socksRequest(1, "64:ff9b::7f00:1", 80), socksRefused},
		{"loopback in disguise", socksRequest(1, "0x7f.1", 80), socksRefused},
		{"NUL", socksRequest(1, "evil.test\x00.allowed.test", 80), socksRefused},
		{"NUL behind", socksRequest(1, "allowed.test\x00", 80), socksRefused},
		{"newline", socksRequest(1, "allowed.test\r\n", 80), socksRefused},
		{"brackets", "\x05\x01\x00\x03\x05[::1]\x00\x50", socksRefused},
		{"a zone", "\x05\x01\x00\x03\x0afe80::1%lo\x00\x50", socksRefused},
		{"empty", socksRequest(1, "", 80), socksRefused},
		{"port 0", socksRequest(1, "allowed.test", 0), socksRefused},
		{"ssh without its port", socksRequest(1, "allowed.test", 22), socksRefused},
		{"a private address", socksRequest(1, "private.test", 80), socksRefused},
		{"absent", socksRequest(1, "absent.test", 80), socksUnreachable},
		{"nobody listens", socksRequest(1, "deaf.test", 8080), socksUnreachable},
		{"BIND", socksRequest(2, "allowed.test", 80), socksNoCommand},
		{"UDP ASSOCIATE", socksRequest(3, "0.0.0.0", 0), socksNoCommand},
		{"Tor's RESOLVE", socksRequest(0xf0, "allowed.test", 0), socksNoCommand},
		{"an unknown kind of address", "\x05\x01\x00\x05\x01\x01\x00\x50", socksNoAddress},
		{"a reserved byte", "\x05\x01\x01\x01\x01\x01\x01\x01\x00\x50", socksFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := n.proxy(nil, allow("allowed.test", evilIP, "private.test", "absent.test", "deaf.test"))
			p, code := r.socks(t, tt.request)
			if code != tt.want {
				t.Fatalf("got %d, want %d: %s", code, tt.want, r.reason())
			}
			if refused := len(r.Refusals()) == 1; refused != (code == socksRefused) {
				t.Errorf("recorded %+v", r.Refusals())
			}
			if code != socksOK {
				return
			}
			if resp, _ := p.send("GET / HTTP/1.0\r\n\r\n").answer("GET"); resp.StatusCode != http.StatusOK {
				t.Errorf("got %s", resp.Status)
			}
		})
	}
}

// A SOCKS tunnel is checked like a CONNECT tunnel.
func TestSOCKSTunnel(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	p, _ := r.socks(t, socksRequest(1, "allowed.test", 443))
	if _, err := handshake(p, "evil.test"); err == nil {
		t.Error("another name passed")
	}
	p, _ = r.socks(t, socksRequest(1, "allowed.test", 443))
	if _, err := handshake(p, "allowed.test"); err != nil {
		t.Error(err)
	}
	p, _ = r.socks(t, socksRequest(1, "allowed.test", 80))
	if resp, _ := p.send("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n").answer("GET"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("got %s", resp.Status)
	}
}

func TestOtherGreetings(t *testing.T) {
	n := newFakeNetwork(t)
	r := n.proxy(nil, allow("*"))
	for greeting, want := range map[string]string{
		"\x05\x01\x02":                              "\x05\xff", // passwords only
		"\x05\x00":                                  "\x05\xff",
		"\x04\x01\x00\x50\x01\x02\x03\x04\x00":      "\x00\x5b\x00\x00\x00\x00\x00\x00",
		"\x04\x01\x00\x50\x00\x00\x00\x01\x00a\x00": "\x00\x5b\x00\x00\x00\x00\x00\x00", // SOCKS4a
		"\x16\x03\x01\x00\x05":                      string(alertAccessDenied),
	} {
		if got := r.connect(t).send(greeting).rest(); got != want {
			t.Errorf("%x: got %x, want %x", greeting, got, want)
		}
	}
}

func FuzzReadSOCKS(f *testing.F) {
	f.Add([]byte(socksRequest(1, "allowed.test", 80)))
	f.Add([]byte(socksRequest(1, "a\x00b", 80)))
	f.Add([]byte(socksRequest(3, "::1", 80)))
	f.Add([]byte("\x05\x01\x00\x03\x05[::1]\x00\x50"))
	f.Fuzz(func(t *testing.T, in []byte) {
		to, code, err := readSOCKS(bytes.NewReader(in))
		if (err == nil) != (code == socksOK) {
			t.Fatalf("code %d with %v", code, err)
		}
		if err != nil {
			return
		}
		if in[1] != 1 || to.port == 0 || to.host.IsAddr() == (to.host.Name != "") {
			t.Errorf("%x is %v", in, to)
		}
		if strings.Trim(to.host.Name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
			t.Errorf("%x is for %q", in, to.host.Name)
		}
	})
}
