package sandbox

import "testing"

func TestCheckHost(t *testing.T) {
	const some = `{"network":{"allowedDomains":["api.example.com","*.x.org","192.0.2.7","2001:db8::1"]}}`
	const local = `{"network":{"allowedDomains":["api.example.com"],"allowLocalBinding":true}}`
	const all = `{"network":{"allowedDomains":["*"]}}`
	for _, tt := range []struct {
		settings, host, setting string // "" allows
	}{
		{some, "evil.example", fieldDomains},
		{some, "example.com", fieldDomains},
		{some, "x.api.example.com", fieldDomains},
		{some, "api.example.com.evil.org", fieldDomains},
		{some, "notx.org", fieldDomains},
		{some, "x.org", fieldDomains}, // the star is for what is below
		{some, "192.0.2.8", fieldDomains},
		{some, "", fieldDomains},
		{some, "http://", fieldDomains},
		{some, "http://api.example.com@evil.org/", fieldDomains},
		{some, "http://evil.org#api.example.com", fieldDomains},
		{some, "http://evil.org\\@api.example.com", fieldDomains},
		{some, "http://[::1", fieldDomains},
		{some, "api.example.com evil.org", fieldDomains},
		{some, "..", fieldDomains},
		{all, "0x7f000001", fieldDomains},
		{all, "2130706433", fieldDomains},
		{all, "127.1", fieldDomains},
		{all, "0177.0.0.1", fieldDomains},
		{all, "localhost", fieldLocal},
		{all, "LOCALHOST.", fieldLocal},
		{all, "a.localhost:80", fieldLocal},
		{all, "127.0.0.1", fieldLocal},
		{all, "http://127.9.9.9:8080/x", fieldLocal},
		{all, "[::1]:80", fieldLocal},
		{all, "::ffff:127.0.0.1", fieldLocal},
		{all, "0.0.0.0", fieldLocal},
		{all, "[::]", fieldLocal},
		{`{"network":{}}`, "a.org", fieldDomains}, // no host at all
		{local, "evil.example", fieldDomains},
		{local, "localhost:3000", ""},
		{local, "http://[::1]:3000/", ""},
		{some, "api.example.com", ""},
		{some, "API.Example.COM.", ""},
		{some, "api.example.com:443", ""},
		{some, "https://u:p@api.example.com/x?y#z", ""},
		{some, "a.x.org", ""},
		{some, "a.b.x.org", ""},
		{some, "192.0.2.7:8443", ""},
		{some, "192.0.2.7:22", fieldDomains}, // without a port an entry opens 80, 443 and what is not reserved
		{some, "[2001:db8:0::1]:443", ""},
		{all, "anything.example", ""},
		{all, "single", ""},
		{`{}`, "localhost", ""},
	} {
		c := checker(t, tt.settings, nil)
		err := c.CheckHost(tt.host)
		if d := denial(t, err); d.Setting != tt.setting {
			t.Errorf("%s %q: got %v", tt.settings, tt.host, err)
		}
	}
}

func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		arg      string
		connects bool
		want     string
	}{
		{"https://a.org/x", false, "https://a.org/x"},
		{"--url=https://a.org", false, "https://a.org"},
		{"git+ssh://a.org/x", false, "git+ssh://a.org/x"},
		{"file:///etc/x", false, ""},
		{"a.org", false, ""},
		{"a.org", true, "a.org"},
		{"a.org/x/y", true, "a.org"},
		{"u@a.org:x", true, "a.org"},
		{"u@single", true, "single"},
		{"host:dir/x", true, "host"},
		{"localhost", true, "localhost"},
		{"-s", true, ""},
		{"POST", true, ""},
		{"Accept: x", true, ""},
		{"./out.json", true, ""},
		{"/out.json", true, ""},
		{"~/.ssh/id", true, ""},
		{"", true, ""},
	} {
		got, ok := target(tt.arg, tt.connects)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: got %q, %v", tt.arg, got, ok)
		}
	}
}
