package sandbox

import (
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

func TestCheckHost(t *testing.T) {
	const some = `{"network":{"allowedDomains":["api.example.com","*.x.org","192.0.2.7","2001:db8::1"]}}`
	const local = `{"network":{"allowedDomains":["api.example.com"],"allowLocalBinding":true}}`
	const all = `{"network":{"allowedDomains":["*"]}}`
	const denied = `{"network":{"allowedDomains":["*"],"allowLocalBinding":true,"deniedDomains":["bad.example.com","*.evil.org","git.org:22","localhost:9999"]}}`
	const listed = `{"network":{"allowedDomains":["localhost:4873","127.0.0.1","10.0.0.0/8","git.org:22","*.localhost"]}}`
	for _, tt := range []struct {
		settings, host, setting string // "" allows
	}{
		{some, "evil.example", fieldDomains},
		{some, "example.com", fieldDomains},
		{some, "x.api.example.com", fieldDomains},
		{some, "api.example.com.evil.org", fieldDomains},
		{some, "notx.org", fieldDomains},
		{some, "x.org", fieldDomains}, // the star covers subdomains
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
		{`{"network":{}}`, "a.org", fieldDomains}, // not a host
		{denied, "bad.example.com", fieldDeniedDomains},
		{denied, "https://x.bad.example.com/", ""}, // the entry is for one host
		{denied, "a.evil.org:8443", fieldDeniedDomains},
		{denied, "evil.org", ""},
		{denied, "ssh://git.org/x", fieldDeniedDomains},
		{denied, "git.org", fieldDeniedDomains}, // the port may match
		{denied, "https://git.org/x", ""},
		{denied, "http://localhost:9999", fieldDeniedDomains},
		{denied, "10.1.2.3", fieldDomains}, // a star covers no address
		{listed, "http://localhost:4873/x", ""},
		{listed, "http://localhost:4874/x", fieldLocal},
		{listed, "127.0.0.1", ""},
		{listed, "127.0.0.2", fieldLocal},
		{listed, "10.9.8.7:5000", ""},
		{listed, "11.9.8.7:5000", fieldDomains},
		{listed, "ssh://git.org/x", ""},
		{listed, "ssh://git.org:23/x", fieldDomains},
		{listed, "https://a.git.org:99999/", fieldDomains},
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
		{some, "192.0.2.7:22", fieldDomains}, // without a port an entry allows 80, 443 and unreserved ports
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

// If the settings set ask, a host that no list names needs approval, unless the command is confined: then the
// connection itself does.
func TestAsk(t *testing.T) {
	c := checker(t, `{"network":{"allowedDomains":["a.org"],"deniedDomains":["bad.org"],"ask":true},"deniedPaths":["/s"]}`, nil)
	only := checker(t, `{"network":{"allowedDomains":["a.org"],"ask":true,"allowManagedDomainsOnly":true}}`, nil)
	for _, tt := range []struct {
		op        policy.Operation
		resource  string
		confined  bool
		want, not policy.Effect // with ask, and with lists only
	}{
		{policy.OpConnect, "https://a.org/", false, "", ""},
		{policy.OpConnect, "https://b.org/", false, policy.Ask, policy.Deny},
		{policy.OpConnect, "https://b.org/", true, "", policy.Deny},
		{policy.OpConnect, "https://bad.org/", true, policy.Deny, policy.Deny},
		{policy.OpConnect, "localhost", false, policy.Deny, policy.Deny},
		{policy.OpConnect, "127.1", false, policy.Deny, policy.Deny},
		{policy.OpCommand, "curl https://a.org", false, "", ""},
		{policy.OpCommand, "curl https://b.org", false, policy.Ask, policy.Deny},
		{policy.OpCommand, "curl https://b.org", true, "", policy.Deny},
		{policy.OpCommand, "curl $X", false, policy.Ask, policy.Deny},
		{policy.OpCommand, "curl https://b.org https://bad.org", false, policy.Deny, policy.Deny},
		{policy.OpCommand, "curl $X https://bad.org", true, policy.Deny, policy.Deny},
		{policy.OpCommand, "curl https://b.org; cat /s/x", true, policy.Deny, policy.Deny},
		{policy.OpCommand, "curl https://b.org; curl https://bad.org", true, policy.Deny, policy.Deny},
		{policy.OpCommand, "curl https://b.org; $X", true, policy.Deny, policy.Deny},
	} {
		r := policy.Request{Tool: "T", Operation: tt.op, Resource: tt.resource, Cwd: "/w", Confined: tt.confined}
		if v := c.Evaluate(r); v.Effect != tt.want || (v.Effect == policy.NoOpinion) != (v.Reason == "") {
			t.Errorf("%s confined %v: got %+v", tt.resource, tt.confined, v)
		}
		if v := only.Evaluate(r); v.Effect != tt.not {
			t.Errorf("%s with lists only: got %+v", tt.resource, v)
		}
	}
	if d := denial(t, c.CheckHost("b.org")); d.Hint() == "" {
		t.Errorf("got %+v", d)
	}
}

// In the kernel sandbox localhost is private to the command: it is allowed unless a layer sets
// allowLocalBinding to false. Otherwise, and for connections of this process, it is this machine's.
func TestCommandLocalhost(t *testing.T) {
	for _, tt := range []struct {
		settings, line string
		confined       bool
		setting        string
	}{
		{`{"network":{}}`, "curl http://localhost:8080/x", true, ""},
		{`{"network":{}}`, "curl localhost:8080", true, ""},
		{`{"network":{}}`, "curl -s 127.0.0.1:8080 && curl '[::1]:8080/x' && curl 'http://[::1]:8080'", true, ""},
		{`{"network":{}}`, "cat </dev/tcp/127.0.0.1/80", true, ""},
		{`{"network":{}}`, "curl http://localhost:8080/x", false, fieldLocal},
		{`{"network":{}}`, "curl '[::1]:8080/x'", false, fieldLocal},
		{`{"network":{"allowLocalBinding":true}}`, "curl http://localhost:8080/x", false, ""},
		{`{"network":{"allowLocalBinding":false}}`, "curl http://localhost:8080/x", true, fieldLocal},
		{`{"network":{"allowLocalBinding":false}}`, "curl http://localhost:8080/x", false, fieldLocal},
		{`{"network":{"deniedDomains":["localhost"]}}`, "curl http://localhost:8080/x", true, fieldDeniedDomains},
		{`{"network":{"ask":false}}`, "curl localhost:8080 evil.example", true, fieldDomains},
		{`{"network":{"ask":false}}`, "curl http://localhost.evil.example", true, fieldDomains},
		{`{"network":{"ask":false}}`, "curl http://10.0.0.1", true, fieldDomains},
		{`{"network":{"ask":false}}`, "curl http://127.1", true, fieldDomains},
		{`{"network":{"ask":false}}`, "scp x [evil]:/y", true, fieldDomains},
	} {
		c := checker(t, tt.settings, nil)
		if d := c.checkCommand(tt.line, "/w", tt.confined); (d == nil) != (tt.setting == "") || d != nil && d.Setting != tt.setting {
			t.Errorf("%s %s, confined %v: got %+v", tt.settings, tt.line, tt.confined, d)
		}
		r := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: tt.line, Cwd: "/w", Confined: tt.confined}
		if v := c.Evaluate(r); (v.Effect == policy.Deny) != (tt.setting != "") {
			t.Errorf("%s %s, confined %v: got %+v", tt.settings, tt.line, tt.confined, v)
		}
		if err := c.CheckConfined(tt.line, "/w"); tt.confined && hasKernelSandbox && (err == nil) != (tt.setting == "") {
			t.Errorf("%s %s: got %v", tt.settings, tt.line, err)
		}
	}
	c := checker(t, `{"network":{}}`, nil)
	// If an approver is available, the connection is checked, and not the line.
	r := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "curl evil.example", Cwd: "/w", Confined: true}
	if v := c.Evaluate(r); v.Effect != policy.NoOpinion {
		t.Errorf("a host that the person is asked about: got %+v", v)
	}
	if v := c.Evaluate(policy.Request{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "localhost:80", Confined: true}); v.Effect != policy.Deny {
		t.Errorf("a connection of ours: got %+v", v)
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
