package egress

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// corpusLayer is the one of the corpus's proxy cases.
var corpusLayer = Layer{Allow: []string{"allowed.test:443", "*.wild.test:443"}, Deny: []string{"denied.wild.test"}}

func TestEscapes(t *testing.T) {
	var cases []corpus.Case
	for _, c := range corpus.Load(t, "escapes.json") {
		if c.Category == "proxy" {
			cases = append(cases, c)
		}
	}
	run := func(f func(*testing.T, *fakeNetwork, *runningProxy)) func(*testing.T, corpus.Case) {
		return func(t *testing.T, c corpus.Case) {
			var how string // the refusal, in words
			if c.Decode(t, c.Expect(), &how); how == "" || how == "allowed" || how == "success" {
				t.Fatalf("it is not stopped: %q", how)
			}
			n := newFakeNetwork(t)
			n.web(http.HandlerFunc(echo))
			f(t, n, n.proxy(nil, corpusLayer))
		}
	}
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){
		"N22": run(escapeToOther), "N25": run(escapeEncoded), "N27": run(escapeNUL), "N28": run(escapeCRLF), "N32": run(escapeHost),
		"N33": run(escapeFronting), "N36": run(escapeLookup), "N37": run(escapeWildcard), "N40": run(escapeCommands), "N42": run(escapeEmpty),
	}, map[string]string{
		"N41": "the listener lies in the other sandbox's network namespace: the suite of package sandbox has it",
		"N45": "a filter of system calls stops it: the suite of package sandbox has it",
	})
}

func connectCode(t *testing.T, r *runningProxy, to string) (int, string) {
	resp, body := r.connect(t).send("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n").answer("CONNECT")
	return resp.StatusCode, body
}

// reachedNothing fails if anything was looked up or connected to.
func reachedNothing(t *testing.T, n *fakeNetwork) {
	t.Helper()
	if lookups, dials := n.seen(); len(lookups)+len(dials) != 0 {
		t.Errorf("looked up %v, connected to %v", lookups, dials)
	}
}

func escapeToOther(t *testing.T, n *fakeNetwork, r *runningProxy) {
	if code, body := connectCode(t, r, "evil.test:443"); code != 403 {
		t.Errorf("got %d %q", code, body)
	}
	reachedNothing(t, n)
	list := r.Refusals()
	if len(list) != 1 || list[0].Host != "evil.test" || list[0].Port != 443 || r.ID != "command-7" {
		t.Errorf("recorded %+v", list)
	}
	if !strings.Contains(r.log.String(), `"command":"command-7","host":"evil.test","port":443`) {
		t.Errorf("logged %s", r.log)
	}
	if code, _ := connectCode(t, r, "allowed.test:443"); code != 200 {
		t.Errorf("the allowed host: %d", code)
	}
}

func escapeEncoded(t *testing.T, n *fakeNetwork, r *runningProxy) {
	for _, host := range []string{
		"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "0x7f.0.0.1", "127.0.1", "017700000001",
		"[::ffff:7f00:1]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "0", "0.0.0.0", "[2002:7f00:1::]", "[::127.0.0.1]", "127.0.0.1.", "169.254.169.254",
		"2852039166", "[fd00:ec2::254]", "localhost", "LOCALHOST.", "a.localhost",
	} {
		if code, body := connectCode(t, r, host+":443"); code != 403 {
			t.Errorf("%s: %d %q", host, code, body)
		}
	}
	for _, host := range []string{"64:ff9b::7f00:1", "[fe80::1%25lo]", "①②⑦.0.0.1", "127。0。0。1"} {
		if code, body := connectCode(t, r, host+":443"); code != 400 {
			t.Errorf("%s: %d %q", host, code, body)
		}
	}
	reachedNothing(t, n)
}

func escapeNUL(t *testing.T, n *fakeNetwork, r *runningProxy) {
	for _, host := range []string{"evil.test\x00.allowed.test", "evil.test\x00allowed.test", "allowed.test\x00", "evil.test\n.allowed.test", "evil.test%00.wild.test", "evil_x.wild.test"} {
		if _, code := r.socks(t, socksRequest(1, host, 443)); code != socksRefused {
			t.Errorf("%q: %d", host, code)
		}
	}
	reachedNothing(t, n)
}

func escapeCRLF(t *testing.T, n *fakeNetwork, r *runningProxy) {
	for _, to := range []string{"allowed.test\r\nHost: evil", "allowed.test\r\n\r\nGET / HTTP/1.1", "allowed.test\n", "allowed.test%0d%0aHost:evil", "allowed.test:443\tx"} {
		if code, body := connectCode(t, r, to+":443"); code != 400 {
			t.Errorf("%q: %d %q", to, code, body)
		}
	}
	reachedNothing(t, n)
}

func escapeHost(t *testing.T, n *fakeNetwork, _ *runningProxy) {
	r := n.proxy(nil, allow("allowed.test:80"))
	resp, body := r.connect(t).send("GET http://allowed.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n").answer("GET")
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, "host=allowed.test ") {
		t.Errorf("got %s %q", resp.Status, body)
	}
	if lookups, dials := n.seen(); !slices.Equal(lookups, []string{"allowed.test"}) || !slices.Equal(dials, []string{allowedIP + ":80"}) {
		t.Errorf("looked up %v, connected to %v", lookups, dials)
	}
}

func escapeFronting(t *testing.T, _ *fakeNetwork, r *runningProxy) {
	if _, err := handshake(r.tunnel(t, "allowed.test:443"), "evil.test"); err == nil {
		t.Error("TLS for another host passed")
	}
	if got := r.reason(); got != "allowed.test:443: the TLS connection inside is for evil.test" {
		t.Error(got)
	}
	if _, err := handshake(r.tunnel(t, "allowed.test:443"), "allowed.test"); err != nil {
		t.Error(err)
	}
}

func escapeLookup(t *testing.T, n *fakeNetwork, r *runningProxy) {
	if code, body := connectCode(t, r, "secret.evil.test:443"); code != 403 {
		t.Errorf("got %d %q", code, body)
	}
	if _, code := r.socks(t, socksRequest(1, "secret.evil.test", 443)); code != socksRefused {
		t.Errorf("got %d", code)
	}
	reachedNothing(t, n)
}

func escapeWildcard(t *testing.T, n *fakeNetwork, r *runningProxy) {
	n.name("secret.wild.test", allowedIP)
	n.name("denied.wild.test", allowedIP)
	for to, want := range map[string]int{
		"secret.wild.test:443":                      200,
		"denied.wild.test:443":                      403,
		"wild.test:443":                             403,
		"secret.wild.test:80":                       403,
		strings.Repeat("x", 64) + ".wild.test:443":  400,
		strings.Repeat("x.", 125) + "wild.test:443": 400,
	} {
		if code, body := connectCode(t, r, to); code != want {
			t.Errorf("%s: %d %q", to, code, body)
		}
	}
	if lookups, _ := n.seen(); !slices.Equal(lookups, []string{"secret.wild.test"}) {
		t.Errorf("looked up %v", lookups)
	}
	if !strings.Contains(r.log.String(), `"host":"secret.wild.test","entry":"*.wild.test:443"`) {
		t.Errorf("logged %s", r.log)
	}
}

func escapeCommands(t *testing.T, n *fakeNetwork, r *runningProxy) {
	for _, command := range []byte{2, 3} {
		if _, code := r.socks(t, socksRequest(command, "allowed.test", 443)); code != socksNoCommand {
			t.Errorf("command %d: %d", command, code)
		}
	}
	reachedNothing(t, n)
}

func escapeEmpty(t *testing.T, n *fakeNetwork, _ *runningProxy) {
	for _, layers := range [][]Layer{{{}}, {allow()}, {{Allow: []string{"*"}}, {}}, nil} {
		r := n.proxy(nil, layers...)
		if code, _ := connectCode(t, r, "allowed.test:443"); code != 403 {
			t.Errorf("%v: got %d", layers, code)
		}
		resp, _ := r.connect(t).send("GET http://allowed.test/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%v: got %s", layers, resp.Status)
		}
		if _, code := r.socks(t, socksRequest(1, "allowed.test", 443)); code != socksRefused {
			t.Errorf("%v: got %d", layers, code)
		}
	}
	reachedNothing(t, n)
}

// The hosts of the Open Agent SDK's network cases, as the proxy checks them.
func TestSDKNetworkCases(t *testing.T) {
	named := map[string]string{}
	for _, c := range corpus.Area(t, "open-agent-sdk.json", "sandbox_network") {
		if strings.HasPrefix(c.Name, "field ") {
			named[c.ID] = "loading settings is package sandbox's"
		}
	}
	connects := func(t *testing.T, c corpus.Case) {
		var settings struct {
			Network struct {
				AllowedDomains    []string
				AllowLocalBinding bool
			}
		}
		var in struct{ What string }
		var want string
		c.Decode(t, c.Settings(), &settings)
		c.Decode(t, c.Input(), &in)
		if c.Decode(t, c.Expect(), &want); want != "deny" {
			t.Fatalf("what is %s?", want)
		}
		url, redirects := "", false
		switch {
		case strings.Contains(in.What, "redirect"):
			url, redirects = "http://api.example.com/", true
		case strings.Contains(in.What, "localhost"):
			url = "http://localhost/"
		case strings.Contains(in.What, "outside"):
			url = "http://evil.test/"
		default:
			t.Fatalf("what is %s?", in.What)
		}
		n := newFakeNetwork(t)
		n.web(http.RedirectHandler("http://evil.test/", http.StatusFound))
		n.name("api.example.com", allowedIP)
		r := n.proxy(nil, Layer{Allow: settings.Network.AllowedDomains})
		resp, _ := fetch(t, r.client(t), "GET", url)
		if resp.StatusCode != http.StatusForbidden || resp.Header.Get(RefusedHeader) == "" {
			t.Errorf("got %v", resp)
		}
		if _, dials := n.seen(); redirects != (len(dials) == 1) {
			t.Errorf("connected to %v", dials)
		}
	}
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "sandbox_network"), map[string]func(*testing.T, corpus.Case){"sandbox_network": connects}, named)
}
