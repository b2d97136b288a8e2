package egress

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// The user may allow the private address of a name once it is known, unless the address is this machine's or
// a cloud service's.
func TestAskAboutAPrivateAddress(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	n.name("registry.test", "10.0.0.1")
	n.name("refused.test", "10.0.0.2")
	n.name("metadata.test", "169.254.169.254")
	n.name("mapped.test", "::ffff:127.0.0.1")
	n.name("loop.test", "127.0.0.1")
	n.name("mixed.test", "10.0.0.1", allowedIP)
	var asked []string
	ask := func(_ context.Context, host string, port int, address string) (bool, error) {
		asked = append(asked, fmt.Sprint(host, " ", port, " ", address))
		return host != "refused.test", nil
	}
	r := n.proxy(&Options{Ask: ask}, Layer{Ask: true, Allow: []string{"*.test"}})
	for _, host := range []string{"registry.test", "registry.test", "refused.test", "metadata.test", "mapped.test", "loop.test", "mixed.test"} {
		resp, body := r.connect(t).send("GET http://" + host + "/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
		if opens := host == "registry.test" || host == "mixed.test"; (resp.StatusCode != 403) != opens {
			t.Errorf("%s: %d %q", host, resp.StatusCode, body)
		}
	}
	if want := []string{"registry.test 80 10.0.0.1", "refused.test 80 10.0.0.2"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	asked = nil
	strict := n.proxy(&Options{Ask: ask}, Layer{Ask: true, Allow: []string{"*.test"}}, Layer{Allow: []string{"*.test"}})
	resp, _ := strict.connect(t).send("GET http://registry.test/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
	if resp.StatusCode != 403 || len(asked) > 0 {
		t.Errorf("a layer that does not ask: %d, asked %q", resp.StatusCode, asked)
	}
}

func TestPrivateAddresses(t *testing.T) {
	n := newFakeNetwork(t)
	plain, _ := n.web(http.HandlerFunc(echo))
	local := plain.Listener.Addr().(*net.TCPAddr).Port
	n.name("private.test", "10.0.0.1")
	n.name("metadata.test", "169.254.169.254")
	n.name("mapped.test", "::ffff:127.0.0.1")
	n.name("nat.test", "64:ff9b::7f00:1")
	n.name("loop.test", "127.0.0.1")
	n.name("mixed.test", "10.0.0.1", allowedIP)
	n.name("denied.test", evilIP)
	get := func(r *runningProxy, host string) (int, string) {
		resp, body := r.connect(t).send("GET http://" + host + "/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
		return resp.StatusCode, body
	}
	r := n.proxy(nil, Layer{Allow: []string{"*"}, Deny: []string{evilIP}})
	for _, host := range []string{"private.test", "metadata.test", "mapped.test", "nat.test", "loop.test"} {
		if code, body := get(r, host); code != 403 || !strings.Contains(body, host+":80: it resolves to the private address") {
			t.Errorf("%s: %d %q", host, code, body)
		}
	}
	if code, body := get(r, "denied.test"); code != 403 || !strings.Contains(body, SettingDenied) {
		t.Errorf("%d %q", code, body)
	}
	if _, dials := n.seen(); len(dials) != 0 {
		t.Errorf("connected to %v", dials)
	}
	if code, body := get(r, "mixed.test"); code != 200 {
		t.Errorf("%d %q", code, body)
	}
	if _, dials := n.seen(); !slices.Equal(dials, []string{allowedIP + ":80"}) {
		t.Errorf("connected to %v", dials)
	}

	here := fmt.Sprintf("127.0.0.1:%d", local)
	for _, tt := range []struct {
		allow, host string
		want        int
	}{
		{"localhost:" + fmt.Sprint(local), fmt.Sprintf("localhost:%d", local), 200},
		{"127.0.0.1", fmt.Sprintf("127.1:%d", local), 200},
		{here, here, 200},
		{here, fmt.Sprintf("[::ffff:127.0.0.1]:%d", local), 200},
		{here, fmt.Sprintf("localhost:%d", local), 403},
		{here, "127.0.0.1:1", 403},
		{"*", here, 403},
		{"*", fmt.Sprintf("localhost:%d", local), 403},
		{"*", fmt.Sprintf("a.localhost:%d", local), 403},
	} {
		if code, body := get(n.proxy(nil, allow(tt.allow)), tt.host); code != tt.want {
			t.Errorf("%s with %q: %d %s", tt.host, tt.allow, code, body)
		}
	}
}

// If a name has a different address at the second lookup, the proxy connects to the address that was checked.
func TestRebinding(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	r := n.proxy(nil, allow("allowed.test"))
	for i, want := range []int{200, 403, 200} {
		if i == 1 {
			n.name("allowed.test", "127.0.0.1")
		} else {
			n.name("allowed.test", allowedIP)
		}
		resp, _ := r.connect(t).send("GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
		if resp.StatusCode != want {
			t.Errorf("%d: got %s", i, resp.Status)
		}
	}
	lookups, dials := n.seen()
	if len(lookups) != 3 || !slices.Equal(dials, []string{allowedIP + ":80", allowedIP + ":80"}) {
		t.Errorf("looked up %v, connected to %v", lookups, dials)
	}
}

func TestRace(t *testing.T) {
	l := listen(t)
	hanging := netip.MustParseAddr("192.0.2.1")
	failing := netip.MustParseAddr("192.0.2.2")
	answering := netip.MustParseAddr("192.0.2.3")
	rules, _ := Compile()
	p, err := New(rules, &Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		switch address {
		case "192.0.2.1:80":
			<-ctx.Done()
			return nil, ctx.Err()
		case "192.0.2.2:80":
			return nil, io.ErrClosedPipe
		}
		return (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, addrs := range [][]netip.Addr{{answering}, {failing, answering}, {hanging, answering}, {hanging, failing, answering}, {answering, answering}} {
		conn, err := p.race(t.Context(), addrs, 80)
		if err != nil {
			t.Errorf("%v: %v", addrs, err)
			continue
		}
		conn.Close()
	}
	if _, err := p.race(t.Context(), []netip.Addr{failing, failing}, 80); err == nil {
		t.Error("no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.race(ctx, []netip.Addr{hanging, hanging}, 80); err == nil {
		t.Error("no error")
	}
}

func TestSystemResolver(t *testing.T) {
	addrs, err := lookup(t.Context(), "localhost")
	if err != nil || len(addrs) == 0 || !addrs[0].Unmap().IsLoopback() {
		t.Errorf("got %v, %v", addrs, err)
	}
}

// Allowed connections go through the user's own proxy, by name.
func TestUpstream(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	own := n.proxy(nil, allow("allowed.test", evilIP)) // supports both
	port := int(netip.MustParseAddrPort(own.addr).Port())
	const closed = 1 // has no listener
	for _, tt := range []struct {
		name string
		o    Options
		http bool // HTTP arrives if both fields are nil, otherwise SOCKS does
	}{
		{"HTTP", Options{HTTPUpstream: port}, true},
		{"SOCKS", Options{SOCKSUpstream: port}, true},
		{"each its own", Options{HTTPUpstream: port, SOCKSUpstream: closed}, true},
		{"each its own", Options{HTTPUpstream: closed, SOCKSUpstream: port}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inside := newFakeNetwork(t) // does not know the name
			r := inside.proxy(&tt.o, allow("allowed.test", "elsewhere.test", evilIP))
			if tt.http {
				resp, body := r.connect(t).send("GET http://allowed.test/x HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
				if resp.StatusCode != http.StatusOK || !strings.HasPrefix(body, "GET /x host=allowed.test") {
					t.Errorf("got %s %q", resp.Status, body)
				}
				if _, err := handshake(r.tunnel(t, "allowed.test:443"), "allowed.test"); err != nil {
					t.Error(err)
				}
				if _, err := handshake(r.tunnel(t, evilIP+":443"), ""); err != nil {
					t.Error(err)
				}
				if _, err := handshake(r.tunnel(t, "allowed.test:443"), "evil.test"); err == nil {
					t.Error("another name passed")
				}
				resp, body = r.connect(t).send("CONNECT elsewhere.test:443 HTTP/1.1\r\nHost: a\r\n\r\n").answer("CONNECT")
				if resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, "your proxy") {
					t.Errorf("got %s %q", resp.Status, body)
				}
			}
			p, code := r.socks(t, socksRequest(1, "allowed.test", 443))
			if tt.o.SOCKSUpstream == closed {
				if code != socksNoListener {
					t.Errorf("got %d", code)
				}
				return
			}
			if code != socksOK {
				t.Fatalf("got %d", code)
			}
			if _, err := handshake(p, "allowed.test"); err != nil {
				t.Error(err)
			}
			resp, _ := r.connect(t).send("GET http://evil.test/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("got %s", resp.Status)
			}
			if lookups, _ := inside.seen(); len(lookups) != 0 {
				t.Errorf("looked up %v", lookups)
			}
		})
	}
	if _, err := New(&Rules{}, &Options{HTTPUpstream: 70000}); err == nil {
		t.Error("port 70000 was taken")
	}
	if _, err := New(nil, nil); err == nil {
		t.Error("no rules were taken")
	}
}
