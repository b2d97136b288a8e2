package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestCheckEntry(t *testing.T) {
	for _, right := range []string{
		"*", "*:443", "api.example.com", "API.Example.com.", "api.example.com:22", "*.example.com", "*.example.com:443", "localhost", "localhost:4873",
		"127.0.0.1", "127.0.0.1:4873", "10.0.0.0/8", "10.0.0.0/8:443", "::1", "[::1]", "[::1]:80", "fd00::/8", "[fd00::/8]:443", "::ffff:10.0.0.1",
		"xn--bcher-kva.example", "single", "0.0.0.0/0",
	} {
		if what, hint := CheckEntry(right); what != "" || hint != "" {
			t.Errorf("%q: %s, %s", right, what, hint)
		}
	}
	for _, tt := range []struct{ text, what, hint string }{
		{"", "is empty", "remove it"},
		{"https://a.org", "more than a host", "api.example.com"},
		{"a.org/x", "not a range", "api.example.com"},
		{"u@a.org", "more than a host", ""},
		{"a.org ", "more than a host", ""},
		{"a.*.org", "a * in the wrong place", `"*.example.com"`},
		{"**", "a * in the wrong place", ""},
		{"*a.org", "a * in the wrong place", ""},
		{"*.*.org", "a * in the wrong place", ""},
		{"*.", "not a host", ""},
		{"*.10.0.0.1", "before an address", "10.0.0.0/8"},
		{"a.org:0", "not a port", "1 to 65535"},
		{"a.org:x", "not a port", ""},
		{"a.org:", "not a port", ""},
		{"a.org:70000", "not a port", ""},
		{"[::1", "bracket", ""},
		{"[::1]x", "bracket", ""},
		{"bücher.example", "not a host", "punycode"},
		{"a_b.org", "not a host", ""},
		{"127.1", "another spelling", "127.0.0.1"},
		{"2130706433", "another spelling", "127.0.0.1"},
		{"0x7f.1:80", "another spelling", "127.0.0.1"},
		{"10.0.0.1/8", "host bits set", "10.0.0.0/8"},
		{"10.0.0.0/33", "not a range", ""},
		{"::ffff:10.0.0.0/104", "written as IPv6", "10.0.0.0/8"},
		{"fe80::1%lo", "not a host", ""},
		{"..", "not a host", ""},
		{"a.org\x00", "not a host", ""},
	} {
		what, hint := CheckEntry(tt.text)
		if what == "" || hint == "" || !strings.Contains(what, tt.what) || !strings.Contains(hint, tt.hint) {
			t.Errorf("%q: %q, %q; want %q, %q", tt.text, what, hint, tt.what, tt.hint)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		entry, host string
		port        int
		want        bool
	}{
		{"api.example.com", "api.example.com", 443, true},
		{"api.example.com", "API.example.COM.", 80, true},
		{"api.example.com", "x.api.example.com", 443, false},
		{"api.example.com", "example.com", 443, false},
		{"api.example.com", "api.example.com.evil.org", 443, false},
		{"api.example.com", "api.example.com", 4873, true},
		{"api.example.com", "api.example.com", 22, false},
		{"api.example.com", "api.example.com", 0, true},
		{"api.example.com:22", "api.example.com", 22, true},
		{"api.example.com:22", "api.example.com", 443, false},
		{"api.example.com:22", "api.example.com", 0, true},
		{"*.x.org", "a.x.org", 443, true},
		{"*.x.org", "a.b.x.org", 443, true},
		{"*.x.org", "x.org", 443, false},
		{"*.x.org", "notx.org", 443, false},
		{"*.x.org:8443", "a.x.org", 443, false},
		{"*", "anything.example", 443, true},
		{"*", "anything.example", 25, false},
		{"*", "93.184.216.34", 443, false},
		{"*", "2130706433", 443, false},
		{"93.184.216.34", "93.184.216.34", 443, true},
		{"127.0.0.1", "127.1", 443, true},
		{"127.0.0.1", "::ffff:127.0.0.1", 443, true},
		{"127.0.0.1", "[::ffff:7f00:1]", 443, true},
		{"10.0.0.0/8", "10.200.1.1", 443, true},
		{"10.0.0.0/8", "11.0.0.1", 443, false},
		{"10.0.0.0/8", "64:ff9b::a00:1", 443, false},
		{"[::1]:80", "::1", 80, true},
		{"localhost", "localhost", 80, true},
		{"localhost", "127.0.0.1", 80, false},
		{"bad entry", "bad entry", 80, false},
		{"x.org", "x.org\x00", 80, false},
	} {
		if got := Match(tt.entry, tt.host, tt.port); got != tt.want {
			t.Errorf("Match(%q, %q, %d) = %v", tt.entry, tt.host, tt.port, got)
		}
	}
}

func TestDecide(t *testing.T) {
	asking := Layer{Ask: true, Allow: []string{"known.test"}}
	for _, tt := range []struct {
		name   string
		layers []Layer
		host   string
		port   int
		want   effect
		layer  int
		text   string
	}{
		{"no layer", nil, "a.test", 443, refused, -1, "no entry names it"},
		{"empty list", []Layer{{}}, "a.test", 443, refused, 0, `add "a.test"`},
		{"listed", []Layer{allow("a.test")}, "a.test", 443, allowed, 0, ""},
		{"not listed in the second", []Layer{allow("a.test"), allow("b.test")}, "a.test", 443, refused, 1, "no entry"},
		{"in both", []Layer{allow("*"), allow("*.test")}, "a.test", 443, allowed, 0, ""},
		{"denied", []Layer{{Allow: []string{"*"}, Deny: []string{"a.test"}}}, "a.test", 443, refused, 0, `denied by "a.test"`},
		{"denied elsewhere", []Layer{allow("a.test"), {Allow: []string{"*"}, Deny: []string{"*.test"}}}, "a.test", 443, refused, 1, `denied by "*.test"`},
		{"denied at this port", []Layer{{Allow: []string{"*"}, Deny: []string{"a.test:80"}}}, "a.test", 80, refused, 0, "denied"},
		{"denied at another port", []Layer{{Allow: []string{"*"}, Deny: []string{"a.test:80"}}}, "a.test", 443, allowed, 0, ""},
		{"a name under *", []Layer{{Allow: []string{"a.test"}, Deny: []string{"*"}}}, "a.test", 443, refused, 0, "denied"},
		{"an address under *", []Layer{{Allow: []string{"1.1.1.1"}, Deny: []string{"*"}}}, "1.1.1.1", 443, refused, 0, "denied"},
		{"ssh needs its port", []Layer{allow("github.com")}, "github.com", 22, refused, 0, `add "github.com:22"`},
		{"ssh with its port", []Layer{allow("github.com:22")}, "github.com", 22, allowed, 0, ""},
		{"ssh unnamed", []Layer{allow("a.test")}, "github.com", 22, refused, 0, `add "github.com:22"`},
		{"localhost is not under *", []Layer{allow("*")}, "localhost", 80, refused, 0, `add "localhost:80"`},
		{"nor below it", []Layer{allow("*.localhost")}, "a.localhost", 80, refused, 0, ""},
		{"localhost", []Layer{allow("localhost:80")}, "localhost", 80, allowed, 0, ""},
		{"asks", []Layer{asking}, "a.test", 443, asks, 0, "no entry"},
		{"asks in one layer", []Layer{allow("a.test"), asking}, "a.test", 443, asks, 1, "no entry"},
		{"asks, refused elsewhere", []Layer{asking, allow("b.test")}, "a.test", 443, refused, 1, "no entry"},
		{"asks, denied elsewhere", []Layer{asking, {Allow: []string{"*"}, Deny: []string{"a.test"}}}, "a.test", 443, refused, 1, "denied"},
		{"does not ask about what is known", []Layer{asking}, "known.test", 443, allowed, 0, ""},
		{"asks about a public address", []Layer{asking}, "1.1.1.1", 443, asks, 0, ""},
		{"never about a private one", []Layer{asking}, "10.0.0.1", 443, refused, 0, `add "10.0.0.1"`},
		{"never about one in disguise", []Layer{asking}, "2130706433", 443, refused, 0, ""},
		{"never about localhost", []Layer{asking}, "localhost", 443, refused, 0, "this machine"},
		{"an address in a denied range", []Layer{{Allow: []string{"10.0.0.0/8"}, Deny: []string{"10.1.0.0/16"}}}, "10.1.2.3", 80, refused, 0, "denied"},
		{"NAT64 of a denied range", []Layer{{Allow: []string{"64:ff9b::/96"}, Deny: []string{"10.0.0.0/8"}}}, "64:ff9b::a00:1", 80, refused, 0, "denied"},
		{"loopback where localhost is denied", []Layer{{Allow: []string{"127.0.0.1"}, Deny: []string{"localhost"}}}, "127.0.0.1", 80, refused, 0, "denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules, err := Compile(tt.layers...)
			if err != nil {
				t.Fatal(err)
			}
			h, err := ParseHost(tt.host)
			if err != nil {
				t.Fatal(err)
			}
			got := rules.decide(h, tt.port)
			if got.effect != tt.want || got.effect != allowed && (got.why.Layer != tt.layer || !strings.Contains(got.why.Text(), tt.text)) {
				t.Errorf("got %d, layer %d: %s", got.effect, got.why.Layer, got.why.Text())
			}
			if got.effect != allowed && got.why.Hint == "" {
				t.Error("no hint")
			}
		})
	}
}

func TestDecideReturnsWildcard(t *testing.T) {
	for _, tt := range []struct {
		layers []Layer
		want   string
	}{
		{[]Layer{allow("*.wild.test")}, "*.wild.test"},
		{[]Layer{allow("*"), allow("*.wild.test")}, "*.wild.test"},
		{[]Layer{allow("*.wild.test", "a.wild.test")}, ""},
		{[]Layer{allow("*.wild.test"), allow("a.wild.test")}, ""},
		{[]Layer{allow("*")}, ""},
	} {
		rules, _ := Compile(tt.layers...)
		if got := rules.decide(Host{Name: "a.wild.test"}, 443); got.effect != allowed || got.wildcard != tt.want {
			t.Errorf("%v: %+v", tt.layers, got)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	for _, tt := range []struct {
		name, host, addr string
		layers           []Layer
		port             int
		want             string // "" is allowed
	}{
		{"public", "a.test", allowedIP, []Layer{allow("a.test")}, 443, ""},
		{"private", "a.test", "10.1.2.3", []Layer{allow("a.test")}, 443, `the private address 10.1.2.3 (network.allowedDomains)
hint: to allow this address, also add "10.1.2.3:443" to network.allowedDomains`},
		{"under *", "a.test", "127.0.0.1", []Layer{allow("*")}, 443, "private"},
		{"metadata", "a.test", "169.254.169.254", []Layer{allow("*")}, 80, "private"},
		{"its address is listed", "a.test", "10.1.2.3", []Layer{allow("a.test", "10.0.0.0/8")}, 443, ""},
		{"with another port", "a.test", "10.1.2.3", []Layer{allow("a.test", "10.1.2.3:80")}, 443, "private"},
		{"listed in one layer only", "a.test", "10.1.2.3", []Layer{allow("a.test", "10.0.0.0/8"), allow("a.test")}, 443, "private"},
		{"an address itself", "10.1.2.3", "10.1.2.3", []Layer{allow("10.1.2.3")}, 443, ""},
		{"localhost", "localhost", "127.0.0.1", []Layer{allow("localhost:80")}, 80, ""},
		{"localhost elsewhere", "localhost", "10.0.0.1", []Layer{allow("localhost:80")}, 80, "private"},
		{"another name that is loopback", "a.test", "127.0.0.1", []Layer{allow("localhost", "a.test")}, 80, "private"},
		{"denied range", "a.test", allowedIP, []Layer{{Allow: []string{"*"}, Deny: []string{"93.184.0.0/16"}}}, 80, "is denied by"},
		{"denied in NAT64", "a.test", "64:ff9b::a00:1", []Layer{{Allow: []string{"a.test", "::/0"}, Deny: []string{"10.0.0.0/8"}}}, 80, "is denied by"},
		{"denied in 6to4", "a.test", "2002:a00:1::", []Layer{{Allow: []string{"a.test", "::/0"}, Deny: []string{"10.0.0.0/8"}}}, 80, "is denied by"},
		{"denied in Teredo", "a.test", "2001::f5ff:fffe", []Layer{{Allow: []string{"a.test", "::/0"}, Deny: []string{"10.0.0.0/8"}}}, 80, "is denied by"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules, err := Compile(tt.layers...)
			if err != nil {
				t.Fatal(err)
			}
			h, _ := ParseHost(tt.host)
			f := rules.checkAddress(h, tt.port, netip.MustParseAddr(tt.addr))
			if (f == nil) != (tt.want == "") || f != nil && !strings.Contains(f.Text(), tt.want) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

func TestCompileNamesTheEntry(t *testing.T) {
	_, err := Compile(allow("a.test"), Layer{Deny: []string{"b.test", "https://c.test"}})
	var e *EntryError
	if !errors.As(err, &e) || e.Layer != 1 || e.Setting != SettingDenied || e.Index != 1 || e.Hint() == "" {
		t.Fatalf("got %#v", err)
	}
	if got := err.Error(); got != `network.deniedDomains[1]: "https://c.test" is more than a host` {
		t.Error(got)
	}
}

func TestOwnAddressIsNotPublic(t *testing.T) {
	if isOwn(netip.MustParseAddr(allowedIP)) || !isOwn(netip.MustParseAddr("127.0.0.1")) {
		t.Error("the addresses of this machine are not known")
	}
}
