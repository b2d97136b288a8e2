package egress

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func parseURL(t testing.TB, raw string) *url.URL {
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestParseHost(t *testing.T) {
	label, name := strings.Repeat("a", 63), strings.Repeat("abcdefgh.", 28)
	for _, tt := range []struct{ text, want string }{ // "" is refused
		{"allowed.test", "allowed.test"},
		{"ALLOWED.Test.", "allowed.test"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"a-b.c-1.x", "a-b.c-1.x"},
		{"1.2.3.4.example", "1.2.3.4.example"},
		{"3com.com", "3com.com"},
		{"single", "single"},
		{label + ".x", label + ".x"},
		{name + "a", name + "a"},

		{"127.0.0.1", "127.0.0.1"},
		{"127.0.0.1.", "127.0.0.1"},
		{"2130706433", "127.0.0.1"},
		{"0x7f000001", "127.0.0.1"},
		{"0X7F.1", "127.0.0.1"},
		{"0177.0.0.1", "127.0.0.1"},
		{"017700000001", "127.0.0.1"},
		{"127.1", "127.0.0.1"},
		{"127.0.1", "127.0.0.1"},
		{"127.65535", "127.0.255.255"},
		{"0", "0.0.0.0"},
		{"0x", "0.0.0.0"},
		{"4294967295", "255.255.255.255"},
		{"::1", "::1"},
		{"0:0:0:0:0:0:0:1", "::1"},
		{"::ffff:127.0.0.1", "127.0.0.1"},
		{"::FFFF:7F00:1", "127.0.0.1"},
		{"64:ff9b::7f00:1", "64:ff9b::7f00:1"},
		{"2002:7f00:1::", "2002:7f00:1::"},

		{"", ""},
		{".", ""},
		{"..", ""},
		{"a..b", ""},
		{".a", ""},
		{"a.test..", ""},
		{"-a.test", ""},
		{"a-.test", ""},
		{"a_b.test", ""},
		{"a" + label + ".x", ""},
		{name + "ab", ""},
		{"evil.test\x00.allowed.test", ""},
		{"allowed.test\r\nHost: evil", ""},
		{"allowed.test\n", ""},
		{"allowed test", ""},
		{"allowed.test%00", ""},
		{"%61llowed.test", ""},
		{"[::1]", ""},
		{"[allowed.test]", ""},
		{"user@allowed.test", ""},
		{"allowed.test/x", ""},
		{"allowed.test\\x", ""},
		{"allowed.test#", ""},
		{"bücher.example", ""},
		{"ａllowed.test", ""}, // fullwidth
		{"allowed。test", ""},
		{"127.0.0.1１", ""},
		{"*.test", ""},
		{"fe80::1%eth0", ""},
		{"fe80::1%25eth0", ""},
		{"::ffff:127.0.0.1%1", ""},
		{"1:2", ""},
		{":::", ""},
		{"256.1.1.1", ""},
		{"1.2.3.4.5", ""},
		{"1.2.3.256", ""},
		{"4294967296", ""},
		{"08.1.1.1", ""},
		{"0x7g.1", ""},
		{"1.0x100000000", ""},
		{"99999999999999999999999", ""},
		{"example.123", ""},
	} {
		h, err := ParseHost(tt.text)
		if got := h.String(); err == nil && got != tt.want || err != nil && tt.want != "" {
			t.Errorf("ParseHost(%q) = %q, %v; want %q", tt.text, got, err, tt.want)
		}
	}
}

func TestSplitAuthority(t *testing.T) {
	for _, tt := range []struct {
		text     string
		standard int
		want     string
	}{
		{"allowed.test:443", 0, "allowed.test:443"},
		{"allowed.test", 80, "allowed.test:80"},
		{"[::1]:80", 0, "[::1]:80"},
		{"[::ffff:127.0.0.1]", 80, "127.0.0.1:80"},
		{"127.1:22", 0, "127.0.0.1:22"},
		{"allowed.test", 0, ""},
		{"allowed.test:", 80, ""},
		{"allowed.test:0", 80, ""},
		{"allowed.test:65536", 80, ""},
		{"allowed.test:+80", 80, ""},
		{"allowed.test:0x50", 80, ""},
		{"allowed.test:80:80", 80, ""},
		{"allowed.test:000080", 80, ""},
		{"allowed.test: 80", 80, ""},
		{"::1", 80, ""},
		{"::1:80", 0, ""},
		{"[::1", 80, ""},
		{"[::1]80", 80, ""},
		{"[::1]x:80", 80, ""},
		{"[allowed.test]:80", 80, ""},
		{"[127.0.0.1]:80", 80, ""},
		{"[fe80::1%25lo]:80", 80, ""},
		{"u:p@allowed.test:80", 0, ""},
		{":80", 0, ""},
		{"", 80, ""},
	} {
		h, port, err := splitAuthority(tt.text, tt.standard)
		if got := (target{h, port}).String(); err == nil && got != tt.want || err != nil && tt.want != "" {
			t.Errorf("splitAuthority(%q, %d) = %s, %v; want %q", tt.text, tt.standard, got, err, tt.want)
		}
	}
}

func TestIsPublic(t *testing.T) {
	for _, public := range []string{"93.184.216.34", "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"} {
		if !isPublic(netip.MustParseAddr(public)) {
			t.Errorf("%s is public", public)
		}
	}
	for _, private := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.192", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "203.0.113.9", "224.0.0.1", "239.1.1.1",
		"240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1",
		"2001:10::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "fe80::1%lo",
	} {
		if isPublic(netip.MustParseAddr(private)) {
			t.Errorf("%s is not public", private)
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"allowed.test.", "127.1", "::ffff:127.0.0.1", "0x7f.1", "a\x00.b", "[::1]", "bücher", "1.2.3.4.5", "fe80::1%lo"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHost(text)
		if err != nil {
			return
		}
		again, err := ParseHost(h.String())
		if err != nil || again != h {
			t.Errorf("%q is %v, which is %v, %v", text, h, again, err)
		}
		if h.IsAddr() == (h.Name != "") || h.IsAddr() && (h.Addr.Is4In6() || h.Addr.Zone() != "") {
			t.Errorf("%q is %#v", text, h)
		}
		if strings.Trim(h.Name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || len(h.Name) > 253 || strings.Contains(h.Name, "..") {
			t.Errorf("%q has the name %q", text, h.Name)
		}
		if _, err := netip.ParseAddr(h.Name); err == nil {
			t.Errorf("%q is an address that was taken for a name", text)
		}
	})
}
