package egress

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// One approval request covers a name and the private address to which it resolves; another address needs
// another request.
func TestAskNameWithPrivateAddress(t *testing.T) {
	n := newFakeNetwork(t)
	n.web(http.HandlerFunc(echo))
	n.name("registry.test", "10.0.0.1")
	n.name("many.test", "10.0.0.9", "10.0.0.1")
	n.name("refused.test", "10.0.0.2")
	n.name("own.test", "127.0.0.1")
	n.name("cloud.test", "169.254.169.254")
	n.name("npm.known.org", "10.0.0.1")
	n.name("npm.other.org", "10.0.0.1")
	var asked []string
	o := &Options{KnownHosts: func() []string { return []string{"npm.known.org"} }, Ask: func(_ context.Context, host string, _ int, address string) (bool, error) {
		asked = append(asked, fmt.Sprint(host, " ", address))
		return host != "refused.test", nil
	}}
	r := n.proxy(o, Layer{Ask: true})
	get := func(host string, opens bool, want ...string) {
		t.Helper()
		asked = nil
		resp, body := r.connect(t).send("GET http://" + host + "/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
		if (resp.StatusCode != 403) != opens || !slices.Equal(asked, want) {
			t.Errorf("%s: %d %q, asked %q", host, resp.StatusCode, body, asked)
		}
	}
	get("registry.test", true, "registry.test 10.0.0.1")
	get("registry.test", true)
	get("many.test", true, "many.test 10.0.0.1")
	get("refused.test", false, "refused.test 10.0.0.2")
	get("own.test", false, "own.test ")
	get("cloud.test", false, "cloud.test ")
	get("npm.known.org", true, "npm.known.org 10.0.0.1")
	get("npm.other.org", true, "npm.other.org ", "npm.other.org 10.0.0.1")

	n.name("registry.test", "10.0.0.2") // rebound
	get("registry.test", true, "registry.test 10.0.0.2")
	n.name("registry.test", "127.0.0.1")
	get("registry.test", false)

	list := r.Refusals()
	i := slices.IndexFunc(list, func(f Refusal) bool { return f.Host == "refused.test" })
	if f := list[i]; f.Address != "10.0.0.2" || !slices.Equal(f.Allow(), []string{"refused.test", "10.0.0.2:80"}) {
		t.Errorf("reported %+v", f)
	}
}

// Names that a command chooses are not looked up before the user has allowed them.
func TestNoLookupBeforeApproval(t *testing.T) {
	n := newFakeNetwork(t)
	o := &Options{Ask: func(context.Context, string, int, string) (bool, error) { return false, nil }}
	r := n.proxy(o, Layer{Ask: true})
	for _, host := range []string{"secret.evil.org", "secret.arpa", "registry", "npm.corp", "npm.home.arpa"} {
		r.connect(t).send("GET http://" + host + "/ HTTP/1.1\r\nHost: a\r\n\r\n").answer("GET")
	}
	looked, _ := n.seen()
	if want := []string{"registry", "npm.corp", "npm.home.arpa"}; !slices.Equal(looked, want) {
		t.Errorf("looked up %q, want %q", looked, want)
	}
}

func TestSearchDomains(t *testing.T) {
	got := searchDomains("# search no.org\nnameserver 10.0.0.1\nsearch Corp.Example.com. com eu.example.com\ndomain lan\n")
	if want := []string{"corp.example.com", "eu.example.com"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
