package sandbox

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// Every proxy address in the environment is an address on which the kernel package listens.
func TestProxyEnviron(t *testing.T) {
	env := proxyEnviron(kernel.ProxyAddr, localNames(nil))
	names := map[string]bool{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if names[name] {
			t.Errorf("%s occurs twice", name)
		}
		names[name] = true
		if strings.Contains(value, "://") && !strings.HasSuffix(value, "://"+kernel.ProxyAddr) {
			t.Errorf("%s", entry)
		}
	}
	for _, name := range []string{"HTTP_PROXY", "https_proxy", "ALL_PROXY", "no_proxy", "GIT_CONFIG_COUNT", "npm_config_https_proxy", "NODE_USE_ENV_PROXY"} {
		if !names[name] {
			t.Errorf("no %s", name)
		}
	}
}

// A listed name of this machine goes to the proxy; the others stay inside the sandbox.
func TestListedLocalhostGoesToProxy(t *testing.T) {
	layer := func(allow ...string) egress.Layer { return egress.Layer{Allow: allow} }
	for _, tt := range []struct {
		layers  []egress.Layer
		want    string
		nonJava string
	}{
		{[]egress.Layer{layer("a.org")}, "localhost,127.0.0.1,::1", "localhost|127.*|[::1]"},
		{nil, "localhost,127.0.0.1,::1", "localhost|127.*|[::1]"},
		{[]egress.Layer{layer("*")}, "localhost,127.0.0.1,::1", "localhost|127.*|[::1]"},
		{[]egress.Layer{layer("a.org", "localhost:4873")}, "127.0.0.1,::1", "127.*|[::1]"},
		{[]egress.Layer{layer("LOCALHOST.")}, "127.0.0.1,::1", "127.*|[::1]"},
		{[]egress.Layer{layer("127.0.0.0/8")}, "localhost,::1", "localhost|[::1]"},
		{[]egress.Layer{layer("localhost", "127.0.0.1", "[::1]:80")}, "", ""},
		{[]egress.Layer{layer("localhost"), layer("a.org")}, "localhost,127.0.0.1,::1", "localhost|127.*|[::1]"},
		{[]egress.Layer{layer("localhost"), layer("localhost:80")}, "127.0.0.1,::1", "127.*|[::1]"},
	} {
		env := proxyEnviron(kernel.ProxyAddr, localNames(tt.layers))
		for _, want := range []string{"NO_PROXY=" + tt.want, "no_proxy=" + tt.want, "npm_config_noproxy=" + tt.want} {
			if !slices.Contains(env, want) {
				t.Errorf("%v: no %s", tt.layers, want)
			}
		}
		if i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, "MAVEN_OPTS=") }); !strings.HasSuffix(env[i], "nonProxyHosts="+tt.nonJava) {
			t.Errorf("%v: %s", tt.layers, env[i])
		}
	}
}

// A command finds its proxy at its own address, and keeps the rest of its variables.
func TestOwnProxy(t *testing.T) {
	root := plant(t, "ws/", "home/")
	box, err := Open(nil, &OpenOptions{
		Folders: []string{root + "/ws"}, Home: root + "/home",
		Ask: func(context.Context, string, int, string) (bool, error) { return false, nil },
	})
	if err != nil {
		testneed.Need(t, "the kernel sandbox cannot be opened here, holdfast doctor says why: %v", err)
	}
	defer box.Close()
	env := box.Environ([]string{"PATH=/bin"})
	for i := range env {
		if variableName(env[i]) == "MAVEN_OPTS" {
			env[i] += " -Dmaven.repo.local=/m2"
		}
	}
	env = append(env, "OTHER="+kernel.ProxyAddr)
	var before netip.Addr
	for range 2 {
		addr, own := box.ownProxy(env)
		at := addr.String() + ":3128"
		for _, want := range []string{
			"HTTP_PROXY=http://" + at, "ALL_PROXY=socks5h://" + at, "GIT_CONFIG_VALUE_0=http://" + at, "OTHER=" + kernel.ProxyAddr,
			"MAVEN_OPTS=-Dhttp.proxyHost=" + addr.String() + " -Dhttp.proxyPort=3128 -Dhttps.proxyHost=" + addr.String() +
				" -Dhttps.proxyPort=3128 -Dhttp.nonProxyHosts=localhost|127.*|[::1] -Dmaven.repo.local=/m2",
		} {
			if !slices.Contains(own, want) {
				t.Errorf("%s is not in %q", want, own)
			}
		}
		if addr == before || !addr.IsLoopback() {
			t.Errorf("%s, after %s", addr, before)
		}
		before = addr
	}
}
