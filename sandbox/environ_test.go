package sandbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/sandbox/kernel"
)

func TestEnviron(t *testing.T) {
	got := Environ([]string{
		"PATH=/bin", "HOME=/h", "ANTHROPIC_API_KEY=k", "AWS_SECRET_ACCESS_KEY=k", "LC_ALL=C", "LC=x", "TERM=xterm", "LD_PRELOAD=/x",
		"BASH_ENV=/x", "TMPDIR=/t", "TZ=UTC", "GIT_DIR=/x", "=C:=x", "nonsense", "SSH_AUTH_SOCK=/x",
	})
	if want := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "TERM=xterm", "TMPDIR=/t", "TZ=UTC"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Every address of the proxy in the environment is the one that the kernel listens on.
func TestProxyEnviron(t *testing.T) {
	env := proxyEnviron(kernel.ProxyAddr)
	names := map[string]bool{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if names[name] {
			t.Errorf("%s is there twice", name)
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
