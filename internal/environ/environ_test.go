package environ

import (
	"slices"
	"testing"
)

func TestForSandbox(t *testing.T) {
	got := ForSandbox([]string{
		"PATH=/bin", "HOME=/h", "ANTHROPIC_API_KEY=k", "AWS_SECRET_ACCESS_KEY=k", "LC_ALL=C", "LC=x", "TERM=xterm", "LD_PRELOAD=/x",
		"BASH_ENV=/x", "TMPDIR=/t", "TZ=UTC", "GIT_DIR=/x", "=C:=x", "nonsense", "SSH_AUTH_SOCK=/x",
	})
	if want := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "TERM=xterm", "TMPDIR=/t", "TZ=UTC"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Of tools commands know where they are, which version is wanted and which registry is asked, and no password.
func TestForSandboxTools(t *testing.T) {
	want := []string{
		"JAVA_HOME=/opt/jdk", "RUSTUP_HOME=/opt/rust", "GEM_PATH=/a:/b:", "SSL_CERT_FILE=/etc/ca.pem", "GOPROXY=https://go.example,direct", "RUSTUP_TOOLCHAIN=nightly",
	}
	not := []string{
		"GOROOT=relative", "GEM_PATH=/a:b", "PYENV_ROOT=", "GOPROXY=https://ann:secret@go.example", "PIP_INDEX_URL=https://token@pypi.example/simple",
		"NPM_TOKEN=k", "CARGO_REGISTRY_TOKEN=k", "npm_config__authToken=k", "GOFLAGS=-toolexec=/x", "NODE_OPTIONS=--require=/x", "RUSTC_WRAPPER=/x", "PYTHONPATH=/x",
	}
	if got := ForSandbox(slices.Concat(want, not)); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestDangerousVariables(t *testing.T) {
	for name, want := range map[string]bool{
		"PATH": true, "LD_PRELOAD": true, "GIT_SSH": true, "BASH_ENV": true, "MY_PAGER": true, "CARGO_HOME": true,
		"FOO": false, "NODE_ENV": false, "CI": false, "PATHS": false, "LD": true, "LDX": false, "": false,
	} {
		if got := Dangerous(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
